// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// silentLocation is the condition that a loop (r) is in a location that is silent, as an event has
// said, or in a public region whose agents are. Its votes do not count, also before the loop is
// overdue.
const silentLocation = `EXISTS (SELECT FROM locations AS place
	WHERE place.key = r.region AND (place.org_id = r.org_id OR place.org_id IS NULL) AND place.silent_since IS NOT NULL)`

// locationSilence is a location that became silent, or ceased to be.
type locationSilence struct {
	ID          uuid.UUID
	OrgID       *uuid.UUID // nil: a public region
	Key, Name   string
	SeenAt      time.Time
	SilentSince *time.Time // nil: it became silent
}

// PublishSilentLocations publishes which locations have had no agent for agentlink.SilentAfter, and which
// have one again, for up to limit of them, and returns how many there were. Since is when the platform
// began to look: before that no agent could report. It publishes nothing when the lease is of an older fence.
// Of a public region it is only recorded: who has checks there is notified as for any region.
func (s *Store) PublishSilentLocations(ctx context.Context, lease fleet.SweepLease, since time.Time, limit int) (int, error) {
	rows, err := pg.Rows[locationSilence](ctx, s.db, `SELECT id, org_id, key, name, seen_at, silent_since FROM locations
		WHERE seen_at IS NOT NULL AND CASE WHEN silent_since IS NULL
			THEN greatest(seen_at, @since) < clock_timestamp() - @after_ms * interval '1 millisecond'
			ELSE seen_at > silent_since END
		ORDER BY seen_at LIMIT @limit`,
		pg.Named{"since": pg.Micro(since), "after_ms": pg.Milliseconds(agentlink.SilentAfter), "limit": limit})
	if err != nil {
		return 0, pg.Wrap("read the silent locations", err)
	}
	errs := make([]error, len(rows))
	for i := range rows {
		errs[i] = s.publishSilence(ctx, lease, &rows[i])
	}
	return len(rows), pg.Wrap("publish that a location is silent", errors.Join(errs...))
}

// publishSilence publishes an event once: the mark and the event are one transaction.
func (s *Store) publishSilence(ctx context.Context, lease fleet.SweepLease, row *locationSilence) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var mark *time.Time
		if row.SilentSince == nil {
			mark = &row.SeenAt
		}
		res, err := tx.NewRaw(`UPDATE locations SET silent_since = ?mark
			WHERE id = ?id AND silent_since IS NOT DISTINCT FROM ?before AND (?mark IS NULL OR seen_at = ?mark) AND ?fenced`,
			pg.Named{"mark": mark, "id": row.ID, "before": row.SilentSince, "fenced": loops.Fenced(lease)}).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 || row.OrgID == nil {
			return err
		}
		about := row.end()
		if mark != nil {
			about = row.begin()
		}
		return s.PublishSystem(ctx, tx, about)
	})
}

func (l *locationSilence) begin() events.SystemContent {
	about := l.about(vigil.EventLocationSilent, l.SeenAt, nil)
	about.Title = l.Name + ": no agent reports"
	about.Body = fmt.Sprintf(
		"The last report came at %s. The agents go on probing when only their line is cut, and send their results when it is "+
			"back; until then the votes of %s do not count.",
		l.SeenAt.UTC().Format(time.RFC3339),
		l.Key,
	)
	return about
}

func (l *locationSilence) end() events.SystemContent {
	since := pg.ZeroIfNil(l.SilentSince)
	about := l.about(vigil.EventLocationBack, since, &l.SeenAt)
	about.Title = l.Name + ": an agent reports again"
	about.Body = fmt.Sprintf("None did for %s.", max(0, l.SeenAt.Sub(since)).Round(time.Second))
	return about
}

func (l *locationSilence) about(kind vigil.EventType, since time.Time, back *time.Time) events.SystemContent {
	var org uuid.UUID
	if l.OrgID != nil {
		org = *l.OrgID
	}
	at := since.Add(agentlink.SilentAfter)
	if back != nil {
		at = *back
	}
	return events.SystemContent{
		Type: kind, OrgID: org, SubjectID: uuid.NewSHA1(l.ID, []byte(since.UTC().Format(time.RFC3339Nano))), Time: at, Since: since,
		Severity: vigil.Warning,
		Data: map[string]any{
			"location":     map[string]any{"id": l.ID, "key": l.Key, "name": l.Name},
			"silent_since": since.UTC(), "back_at": back,
		},
		Variables: map[string]string{"region": l.Key},
	}
}
