// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// drillTrace is how old the trace of a drill's workflow in its row may become. It is far less than
// drillSilence, after which the workflow counts as lost.
const drillTrace = 5 * time.Second

// FollowDrill reads how far a drill is, keeps the instants that rows show only for a while, and
// returns what comes next. A look that finds nothing new writes nothing, unless the trace that the
// workflow leaves is 5 s old: a drill is looked at four times a second.
func (s *Store) FollowDrill(ctx context.Context, id uuid.UUID) (drills.Step, error) {
	var row drillRow
	err := s.db.NewSelect().Model(&row).Where("dr.id = ?", id).Scan(ctx)
	if err != nil {
		return "", pg.Wrap("follow a drill", pg.Found("drill", err))
	}
	look, err := s.lookAtDrill(ctx, s.db, &row)
	if err == nil && look.writes {
		err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			locked, _, err := lockDrill(ctx, tx, id)
			if err != nil {
				return err
			}
			if look, err = s.lookAtDrill(ctx, tx, &locked); err != nil || !look.writes {
				return err
			}
			return storeDrill(ctx, tx, &locked, "seen", "progress_at")
		})
	}
	return look.step, pg.Wrap("follow a drill", err)
}

// drillLook is what a look at a drill has found.
type drillLook struct {
	step   drills.Step
	writes bool // the row has changed, and is to be stored
}

// lookAtDrill sets what the row is to say now.
func (s *Store) lookAtDrill(ctx context.Context, db bun.IDB, row *drillRow) (drillLook, error) {
	drill, err := row.drill()
	if err != nil {
		return drillLook{}, err
	}
	if drill.State == drills.Closed || drill.State == drills.Asked && drill.CanceledAt != nil {
		return drillLook{step: drills.Close}, nil
	}
	facts, changed, err := s.drillFacts(ctx, db, row)
	if err != nil {
		return drillLook{}, err
	}
	now := s.db.Instant()
	look := drillLook{step: drill.NextStep(&facts, now)}
	if look.writes = changed || look.step != drills.Wait || now.Sub(row.ProgressAt) >= drillTrace; !look.writes {
		return look, nil
	}
	row.ProgressAt = now
	if row.Seen, err = json.Marshal(facts.Regions); err != nil {
		return look, fmt.Errorf("encode what was seen: %w", err)
	}
	return look, nil
}

// drillFacts reads what rows say of a drill, and whether they show more of its regions than was seen
// before. It is empty before the drill is staged.
func (s *Store) drillFacts(ctx context.Context, db bun.IDB, row *drillRow) (facts drills.Facts, changed bool, err error) {
	if row.StagedAt == nil {
		return facts, false, nil
	}
	if err := json.Unmarshal(row.Seen, &facts.Regions); err != nil {
		return facts, false, fmt.Errorf("decode what was seen: %w", err)
	}
	before := facts.Regions
	var incident struct {
		ID         *uuid.UUID `bun:"id"`
		CreatedAt  time.Time  `bun:"created_at"`
		ResolvedAt *time.Time `bun:"resolved_at"`
	}
	err = db.NewRaw("SELECT id, created_at, resolved_at FROM incidents WHERE check_id = ? ORDER BY created_at LIMIT 1", row.ID).
		Scan(ctx, &incident)
	if err != nil && !pg.IsNoRow(err) {
		return facts, false, fmt.Errorf("read the incident: %w", err)
	}
	if incident.ID != nil {
		facts.OpenedAt, facts.ResolvedAt = incident.CreatedAt.UTC(), pg.ZeroIfNil(incident.ResolvedAt).UTC()
		if facts.Messages, err = readDrillMessages(ctx, db, *incident.ID); err != nil {
			return facts, false, err
		}
	}
	err = s.readDrillRegions(ctx, db, row, &facts)
	return facts, !slices.Equal(before, facts.Regions), err
}

// readDrillRegions adds what rows show now of each region to what was seen before.
func (s *Store) readDrillRegions(ctx context.Context, db bun.IDB, row *drillRow, facts *drills.Facts) error {
	var rows []struct {
		Region  string     `bun:"region"`
		Applied *time.Time `bun:"applied_at"`
		Voted   *time.Time `bun:"voted"`
		Firing  bool       `bun:"firing"`
	}
	err := db.NewRaw(`SELECT r.region, r.applied_at, v.swept_at AS voted, coalesce(v.firing <> '{}', false) AS firing
		FROM check_regions AS r LEFT JOIN region_votes AS v ON v.check_id = r.check_id AND v.region = r.region
		WHERE r.check_id = ? ORDER BY r.region`, row.ID).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read the regions: %w", err)
	}
	firsts, err := s.results.FirstFailures(ctx, db, row.ID, row.StagedAt.Add(-time.Minute))
	if err != nil {
		return err
	}
	seen := make(map[string]drills.Region, len(facts.Regions))
	for _, r := range facts.Regions {
		seen[r.Region] = r
	}
	facts.Regions = make([]drills.Region, len(rows))
	for i, now := range rows {
		r := seen[now.Region]
		r.Region = now.Region
		keep(&r.LoopStarted, now.Applied)
		if first, has := firsts[r.Region]; has {
			keep(&r.Slot, &first.Slot)
			keep(&r.Probed, &first.Time)
		}
		switch {
		case now.Voted != nil && now.Firing:
			keep(&r.Voted, now.Voted)
		case now.Voted != nil && row.HealedAt != nil:
			// The vote that fired was replaced before it was seen: it opened the incident.
			if r.Voted.IsZero() && !facts.OpenedAt.IsZero() {
				r.Voted = facts.OpenedAt
			}
			keep(&r.Withdrawn, now.Voted)
		}
		facts.Regions[i] = r
	}
	return nil
}

// keep sets an instant when it is seen for the first time.
func keep(into *time.Time, seen *time.Time) {
	if into.IsZero() && seen != nil {
		*into = seen.UTC()
	}
}

func readDrillMessages(ctx context.Context, db bun.IDB, incident uuid.UUID) ([]drills.MessageFacts, error) {
	var rows []struct {
		ChannelID   uuid.UUID  `bun:"channel_id"`
		ChannelName string     `bun:"channel_name"`
		ChannelType string     `bun:"channel_type"`
		FallbackFor uuid.UUID  `bun:"fallback_for"`
		EventType   string     `bun:"event_type"`
		Status      string     `bun:"status"`
		Attempts    int        `bun:"attempts"`
		First       *time.Time `bun:"first"`
		DeliveredAt *time.Time `bun:"delivered_at"`
		StatusCode  *int       `bun:"status_code"`
		Error       string     `bun:"error"`
	}
	err := db.NewRaw(`SELECT d.channel_id, d.channel_name, d.channel_type,
			coalesce(d.fallback_for->>'channel_id', ?1)::uuid AS fallback_for, d.event_type, d.status, d.attempts,
			made.first, made.delivered_at, last.status_code, coalesce(last.error, '') AS error
		FROM deliveries AS d
		CROSS JOIN LATERAL (SELECT min(a.started_at) AS first,
			max(a.finished_at) FILTER (WHERE a.error_code = '' AND d.status = 'delivered') AS delivered_at
			FROM attempts AS a WHERE a.delivery_id = d.id) AS made
		LEFT JOIN LATERAL (SELECT a.status_code, a.error FROM attempts AS a
			WHERE a.delivery_id = d.id AND a.finished_at IS NOT NULL ORDER BY a.number DESC LIMIT 1) AS last ON true
		WHERE d.incident_id = ?0 ORDER BY d.created_at, d.id`, incident, uuid.Nil.String()).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read the deliveries: %w", err)
	}
	messages := make([]drills.MessageFacts, len(rows))
	for i, row := range rows {
		messages[i] = drills.MessageFacts{
			ChannelID: row.ChannelID, ChannelName: row.ChannelName, ChannelType: vigil.ChannelType(row.ChannelType),
			FallbackFor: row.FallbackFor, Ends: vigil.EventType(row.EventType).Ends(),
			Message: drills.Message{
				Status: vigil.DeliveryStatus(row.Status), Attempts: row.Attempts, StatusCode: row.StatusCode, Error: vigil.NilIfZero(row.Error),
				FirstAttemptAt: utc(row.First), DeliveredAt: utc(row.DeliveredAt),
			},
		}
	}
	return messages, nil
}
