// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// checkFallbacks returns a CodeInvalid error when a channel falls back to one that is not the
// organization's, or to itself over others. The channels are written already. Those that are
// named are locked against their deletion, and changes of fallbacks go one after the other, so
// that two of them together make no circle.
func (e *Edits) checkFallbacks(ctx context.Context, changes *project.Changes) error {
	var changed []*vigil.Channel
	var named []uuid.UUID
	for _, edit := range changes.Channels {
		if edit.After == nil || edit.After.Fallback == uuid.Nil || edit.Before != nil && edit.Before.Fallback == edit.After.Fallback {
			continue
		}
		changed, named = append(changed, edit.After), append(named, edit.After.Fallback)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := pg.LockName(ctx, e.tx, "fallbacks/"+e.orgID.String()); err != nil {
		return fmt.Errorf("lock the fallbacks: %w", err)
	}
	var own []uuid.UUID
	err := e.tx.NewRaw("SELECT id FROM channels WHERE org_id = ? AND id = ANY(?) ORDER BY id FOR KEY SHARE", e.orgID, pgdialect.Array(named)).
		Scan(ctx, &own)
	if err != nil {
		return fmt.Errorf("read the fallbacks: %w", err)
	}
	known := make(map[uuid.UUID]bool, len(own))
	for _, id := range own {
		known[id] = true
	}
	for _, channel := range changed {
		if !known[channel.Fallback] {
			return vigil.Invalid(channelhealth.MemberFallback, "is not a channel of this organization")
		}
		var circle bool
		err := e.tx.NewRaw(`WITH RECURSIVE chain (id) AS (
				SELECT fallback_channel_id FROM channels WHERE id = ?0
				UNION
				SELECT c.fallback_channel_id FROM chain JOIN channels AS c ON c.id = chain.id WHERE c.fallback_channel_id IS NOT NULL
			) SELECT EXISTS (SELECT FROM chain WHERE id = ?0)`, channel.ID).Scan(ctx, &circle)
		if err != nil {
			return fmt.Errorf("follow the fallbacks: %w", err)
		}
		if circle {
			return channelhealth.FallbackCircle()
		}
	}
	return nil
}

// channelsFallingBack returns the names of the channels that fall back to a channel.
func channelsFallingBack(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) ([]string, error) {
	var names []string
	err := tx.NewRaw("SELECT name FROM channels WHERE org_id = ? AND fallback_channel_id = ? ORDER BY name, id", orgID, id).Scan(ctx, &names)
	return names, pg.Wrap("find the channels that fall back to a channel", err)
}

// dropFromChannels takes a channel out of those that fall back to it.
func (s *Store) dropFromChannels(ctx context.Context, orgID, id uuid.UUID) error {
	// Without the audit entry of ctx: it belongs to the deletion of the channel.
	return s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`UPDATE channels SET fallback_channel_id = NULL, version = version + 1, updated_at = ? WHERE id IN (
				SELECT id FROM channels WHERE org_id = ? AND fallback_channel_id = ? ORDER BY id FOR NO KEY UPDATE)`,
			s.db.Instant(), orgID, id).Exec(ctx)
		return pg.Wrap("take a channel out of those that fall back to it", err)
	})
}

// fallenBackTo names the channels that keep one from being deleted.
func fallenBackTo(names []string) error {
	shown, more := listed(names)
	err := vigil.Errorf(vigil.CodeConflict,
		"Channels fall back to this channel: %s%s. Change them first, or delete with ?force=true, which leaves them without a fallback.",
		strings.Join(shown, ", "), more)
	err.Details, err.Cause = map[string]any{"channels": names}, errUsed
	return err
}

// listed returns the first names of a list, and says how many more there are.
func listed(names []string) (shown []string, more string) {
	const most = 5
	if len(names) <= most {
		return names, ""
	}
	return names[:most], fmt.Sprintf(" and %d more", len(names)-most)
}
