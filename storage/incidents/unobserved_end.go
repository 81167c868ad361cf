// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// isObserved is the condition that a check that is known to be unobserved, alias u, with the
// row of the check, alias c, or without one, is not unobserved any more.
func isObserved(now time.Time) string {
	return `(c.id IS NULL OR NOT c.enabled OR EXISTS (SELECT FROM check_regions AS r
		WHERE r.check_id = c.id AND r.active AND NOT ` + loops.Unobserved(pg.SQLTime(now)) + `))`
}

// isOver is the condition that no rule notifies the channel of a row, alias o, any more that the
// check, alias c, is not probed.
func isOver(now time.Time) string {
	return `NOT EXISTS (SELECT FROM (` + rulesNotifying(loops.Unobserved(pg.SQLTime(now))) + `) AS n WHERE o.channel_id = ANY(n.channel_ids))`
}

// ObservedAgain returns up to limit checks of these shards that are known to be unobserved and
// are not any more, because they have a result, or need none, and those that have a channel that
// must get the end.
func (s *Store) ObservedAgain(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error) {
	var rows []checkOfOrg
	err := s.db.NewRaw(`SELECT check_id, org_id FROM (
			SELECT u.check_id, u.org_id, u.created_at FROM unobserved_checks AS u LEFT JOIN checks AS c ON c.id = u.check_id
			WHERE ?0 AND `+isObserved(now)+`
			UNION ALL
			SELECT o.check_id, o.org_id, o.created_at FROM unobserved_channels AS o LEFT JOIN checks AS c ON c.id = o.check_id
			WHERE ?1 AND `+isOver(now)+`
		) AS ended GROUP BY check_id, org_id ORDER BY min(created_at), check_id LIMIT ?2`,
		loops.InShards("u.check_id", shards), loops.InShards("o.check_id", shards), limit).Scan(ctx, &rows)
	return checksOf(rows), pg.Wrap("find checks that are observed again", err)
}

// EndUnobserved forgets that a check was not probed, and which channels were notified of it, and
// publishes the events with their deliveries, in one transaction. It changes nothing when this was
// done, or when the lease is of an older fence. It returns the deliveries that are to be sent.
func (s *Store) EndUnobserved(
	ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, publicURL string,
) ([]vigil.PendingDelivery, error) {
	var pending []vigil.PendingDelivery
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		now := s.db.Instant()
		// Rules and regions of a check change under this lock.
		if _, err := tx.NewRaw("SELECT FROM checks WHERE id = ? FOR NO KEY UPDATE", checkID).Exec(ctx); err != nil {
			return fmt.Errorf("lock the check: %w", err)
		}
		ends, err := s.checkObserved(ctx, tx, lease, checkID, now)
		if err != nil {
			return err
		}
		if ends, err = s.channelsObserved(ctx, tx, lease, checkID, now, ends); err != nil {
			return err
		}
		for i := range ends {
			ends[i].about.PublicURL = publicURL
			if err := lockOpenings(ctx, tx, ends[i].about.ID); err != nil {
				return err
			}
		}
		for i := range ends {
			if err := s.publishUnobserved(ctx, tx, &ends[i].about, ends[i].to); err != nil {
				return err
			}
			if len(ends[i].to) == 0 {
				continue
			}
			list, err := pendingDeliveries(ctx, tx, ends[i].about.Check.Name, ends[i].about.ID)
			if err != nil {
				return err
			}
			pending = append(pending, list...)
		}
		return nil
	})
	return pending, pg.Wrap("record an observed check", err)
}

// unobservedEnd is the end of a time without results, and the channels that get it.
type unobservedEnd struct {
	about events.UnobservedContent
	to    []vigil.Recipient
}

// endedRow says why a time without results ended.
type endedRow struct {
	Known   bool `bun:"known"`   // the check exists
	Enabled bool `bun:"enabled"` // it is enabled
	Result  bool `bun:"result"`  // one of the regions has a result
	Removed bool `bun:"removed"` // one of the regions was removed
	// Unasked: no enabled rule notifies the channel. Still: all regions are without results, and a
	// rule was changed since the channel was notified.
	Unasked bool `bun:"unasked"`
	Still   bool `bun:"still"`
}

// whyEnded are the columns of endedRow for the row g, with the row of the check, alias c, or
// without one.
const whyEnded = `c.id IS NOT NULL AS known, coalesce(c.enabled, false) AS enabled,
	EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = g.check_id AND r.region = ANY(g.regions) AND r.last_slot > g.since) AS result,
	EXISTS (SELECT FROM unnest(g.regions) AS was (region) WHERE NOT EXISTS (
		SELECT FROM check_regions AS r WHERE r.check_id = g.check_id AND r.region = was.region AND r.active)) AS removed`

func (r *endedRow) end() events.UnobservedEnd {
	switch {
	case !r.Known:
		return events.UnobservedDeleted
	case !r.Enabled:
		return events.UnobservedDisabled
	case r.Unasked:
		return events.UnobservedRuleChanged
	case r.Result:
		return events.ObservedAgain
	case r.Removed:
		return events.UnobservedRegionRemoved
	case r.Still:
		return events.UnobservedRuleChanged
	}
	return events.UnobservedChanged
}

// checkObserved ends the time in which a check had no result from any region, if it is over.
func (s *Store) checkObserved(
	ctx context.Context, tx bun.Tx, lease fleet.SweepLease, checkID uuid.UUID, now time.Time,
) ([]unobservedEnd, error) {
	var rows []struct {
		unobservedRow `bun:",extend"`
		endedRow
	}
	err := tx.NewRaw(`WITH gone AS (
			DELETE FROM unobserved_checks AS d USING unobserved_checks AS u LEFT JOIN checks AS c ON c.id = u.check_id
			WHERE d.check_id = u.check_id AND u.check_id = ?0 AND ?1 AND `+isObserved(now)+` RETURNING d.*
		)
		SELECT g.*, `+whyEnded+` FROM gone AS g LEFT JOIN checks AS c ON c.id = g.check_id`, checkID, loops.Fenced(lease)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, pg.Wrap("delete", err)
	}
	row := &rows[0]
	about, err := s.aboutEnd(ctx, tx, row.check(), row.Described, now)
	if err != nil {
		return nil, err
	}
	about.End, about.Check.Enabled = row.end(), row.Enabled
	var subscribed []vigil.Recipient
	if err := json.Unmarshal(row.Audience, &subscribed); err != nil {
		return nil, fmt.Errorf("read the subscribed channels: %w", err)
	}
	return []unobservedEnd{{about: about, to: vigil.RecoveryRecipients(subscribed, nil)}}, nil
}

// aboutEnd fills in what an event says of the end.
func (s *Store) aboutEnd(
	ctx context.Context, tx bun.Tx, about vigil.UnobservedCheck, text json.RawMessage, now time.Time,
) (events.UnobservedContent, error) {
	var described describedCheck
	if err := json.Unmarshal(text, &described); err != nil {
		return events.UnobservedContent{}, fmt.Errorf("read the description of the check: %w", err)
	}
	var org accounts.OrgRow
	if err := tx.NewSelect().Model(&org).Where("o.id = ?", about.OrgID).Scan(ctx); err != nil {
		return events.UnobservedContent{}, pg.Found("organization", err)
	}
	return events.UnobservedContent{
		UnobservedCheck: about, Check: described.check(about.CheckID, about.OrgID), OrganizationName: org.Organization().Name, Time: now,
		Rules: described.Rules,
	}, nil
}

// channelsObserved adds to the end of the check, if there is one, the channels that get it, and
// the ends of other channels. A channel that was deleted gets none.
func (s *Store) channelsObserved(
	ctx context.Context, tx bun.Tx, lease fleet.SweepLease, checkID uuid.UUID, now time.Time, ends []unobservedEnd,
) ([]unobservedEnd, error) {
	var rows []struct {
		notifiedRow `bun:",extend"`
		endedRow

		Channel bool `bun:"channel"` // it exists
	}
	err := tx.NewRaw(`SELECT g.*, `+whyEnded+`,
			EXISTS (SELECT FROM channels AS ch WHERE ch.id = g.channel_id) AS channel,
			NOT EXISTS (SELECT FROM alert_rules AS ar WHERE ar.check_id = g.check_id AND ar.enabled AND ar.unobserved = 'notify'
				AND g.channel_id = ANY(ar.channel_ids)) AS unasked,
			(NOT EXISTS (SELECT FROM unnest(g.regions) AS was (region) WHERE NOT EXISTS (
					SELECT FROM check_regions AS r WHERE r.check_id = g.check_id AND r.region = was.region AND `+loops.Unobserved(pg.SQLTime(now))+`))
				AND EXISTS (SELECT FROM alert_rules AS ar WHERE ar.check_id = g.check_id AND ar.updated_at > g.created_at)) AS still
		FROM (SELECT o.* FROM unobserved_channels AS o LEFT JOIN checks AS c ON c.id = o.check_id
				WHERE o.check_id = ?0 AND ?1 AND `+isOver(now)+` ORDER BY o.channel_id FOR UPDATE OF o) AS g
			LEFT JOIN checks AS c ON c.id = g.check_id`, checkID, loops.Fenced(lease)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return ends, pg.Wrap("find the channels", err)
	}
	channels := make([]uuid.UUID, len(rows))
	for i := range rows {
		row := &rows[i]
		channels[i] = row.ChannelID
		if !row.Channel {
			continue
		}
		var recipient vigil.Recipient
		if err := json.Unmarshal(row.Recipient, &recipient); err != nil {
			return nil, fmt.Errorf("read a recipient: %w", err)
		}
		end := row.end()
		at := slices.IndexFunc(ends, func(e unobservedEnd) bool { return e.about.ID == row.ID && e.about.End == end })
		if at < 0 {
			check := vigil.UnobservedCheck{ID: row.ID, OrgID: row.OrgID, CheckID: checkID, Since: row.Since.UTC(), Regions: row.Regions}
			about, err := s.aboutEnd(ctx, tx, check, row.Described, now)
			if err != nil {
				return nil, err
			}
			about.End, about.Check.Enabled, about.Partly, about.Notified = end, row.Enabled, row.Partly, []uuid.UUID{}
			at, ends = len(ends), append(ends, unobservedEnd{about: about})
		}
		if ends[at].to = append(ends[at].to, recipient); ends[at].about.Notified != nil {
			ends[at].about.Notified = append(ends[at].about.Notified, row.ChannelID)
		}
	}
	_, err = tx.NewRaw("DELETE FROM unobserved_channels WHERE check_id = ? AND channel_id = ANY(?)", checkID, pgdialect.Array(channels)).
		Exec(ctx)
	return ends, pg.Wrap("forget who was notified", err)
}

// lockOpenings keeps the deliveries of a beginning from ending before the commit.
func lockOpenings(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
	_, err := tx.NewRaw("SELECT FROM deliveries WHERE incident_id = ? AND event_type = ? AND status = 'pending' ORDER BY id FOR UPDATE",
		id, string(vigil.EventUnobserved)).Exec(ctx)
	return pg.Wrap("lock the deliveries of the beginning", err)
}
