// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// lateRest is for how long no late result of a loop must have come before those that did are looked through.
	lateRest = "interval '15 s'"
	// lateWarm is the fewest results from which a state is made, and lateSilence after how many intervals
	// without a result a region has no vote.
	lateWarm    = 100
	lateSilence = 3
)

// lateSpan is what late results have filled of a check.
type lateSpan struct {
	CheckID          uuid.UUID
	FromSlot, ToSlot time.Time
	ChangedAt        time.Time
	DeadlineMS       int64
}

// ReviewLateResults looks for incidents that would have been in the late results of up to limit checks of these
// shards, by a replay as a backtest makes it, and returns how many checks there were. What overlaps with an
// incident that was, was observed. It may be repeated, and by two processes at once.
func (s *Store) ReviewLateResults(ctx context.Context, shards []int, limit int) (int, error) {
	var rows []lateSpan
	err := s.db.NewRaw(`SELECT s.check_id, min(s.from_slot) AS from_slot, max(s.to_slot) AS to_slot, max(s.changed_at) AS changed_at,
			coalesce(max(r.deadline_ms), 0) AS deadline_ms
		FROM late_spans AS s LEFT JOIN check_regions AS r ON r.check_id = s.check_id AND r.region = s.region
		WHERE s.changed_at < clock_timestamp() - `+lateRest+` AND ?
		GROUP BY s.check_id ORDER BY max(s.changed_at) LIMIT ?`, loops.InShards("s.check_id", shards), limit).Scan(ctx, &rows)
	if err != nil {
		return 0, pg.Wrap("read the late results", err)
	}
	errs := make([]error, len(rows))
	for i := range rows {
		errs[i] = s.reviewLate(ctx, &rows[i])
	}
	return len(rows), pg.Wrap("look through late results", errors.Join(errs...))
}

func (s *Store) reviewLate(ctx context.Context, span *lateSpan) error {
	def, err := s.Definition(ctx, span.CheckID)
	found := []location.LateIncident{}
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound: // it was deleted
	case err != nil:
		return err
	default:
		if found, err = s.lateIncidents(ctx, &def, span); err != nil {
			return err
		}
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for _, one := range found {
			_, err := tx.NewRaw(`INSERT INTO late_incidents (check_id, rule_id, rule_name, started_at, ended_at, regions)
				VALUES (?check, ?rule, ?name, ?started, ?ended, ?regions)
				ON CONFLICT (check_id, rule_id, started_at) DO UPDATE SET ended_at = excluded.ended_at, regions = excluded.regions`,
				pg.Named{
					"check": span.CheckID, "rule": one.RuleID, "name": one.RuleName, "started": pg.Micro(one.StartedAt), "ended": one.EndedAt,
					"regions": pgdialect.Array(one.Regions),
				}).Exec(ctx)
			if err != nil {
				return fmt.Errorf("store an incident that would have been: %w", err)
			}
		}
		_, err := tx.NewRaw("DELETE FROM late_spans WHERE check_id = ? AND changed_at <= ?", span.CheckID, span.ChangedAt).Exec(ctx)
		return err
	})
}

// lateIncidents replays the results of a check, and returns the incidents that begin in late ones and were not.
func (s *Store) lateIncidents(ctx context.Context, def *vigil.Definition, span *lateSpan) ([]location.LateIncident, error) {
	check, to := &def.Check, s.db.Now()
	spans, err := s.PastMaintenance(ctx, check.OrgID, check.ID, span.FromSlot, to)
	if err != nil {
		return nil, err
	}
	recorded, _, err := s.RecordedIncidents(ctx, check.OrgID, check.ID, span.FromSlot, to, backtest.MaxIncidents)
	if err != nil {
		return nil, err
	}
	found := []location.LateIncident{}
	for _, rule := range def.Rules {
		if !rule.Enabled {
			continue
		}
		rules := []vigil.Rule{rule}
		reports, _, err := backtest.Run(backtest.Input{
			Rules: rules, Regions: check.Regions, Silence: lateSilence*check.Interval + pg.FromMilliseconds(span.DeadlineMS),
			Maintenance: spans, From: span.FromSlot, To: to,
		}, s.ReplayResults(ctx, check.ID, check.Regions, span.FromSlot, to, max(lateWarm, vigil.RebuildResults(rules, check.Interval))))
		if vigil.ErrorCode(err) == vigil.CodeInvalid { // there are too many results
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, location.LateIncidents(&rule, reports[0].Incidents, recorded, span.ToSlot)...)
	}
	return found, nil
}

// LateIncidents returns the newest incidents of a check of the organization that would have been, the newest first.
func (s *Store) LateIncidents(ctx context.Context, orgID, checkID uuid.UUID, limit int) ([]location.LateIncident, error) {
	var rows []struct {
		RuleID    uuid.UUID
		RuleName  string
		StartedAt time.Time
		EndedAt   *time.Time
		Regions   []string `bun:"regions,array"`
		FoundAt   time.Time
	}
	err := s.db.NewRaw(`SELECT l.rule_id, l.rule_name, l.started_at, l.ended_at, l.regions, l.found_at
		FROM late_incidents AS l JOIN checks AS c ON c.id = l.check_id
		WHERE l.check_id = ? AND c.org_id = ? ORDER BY l.started_at DESC, l.rule_id LIMIT ?`, checkID, orgID, limit).Scan(ctx, &rows)
	list := make([]location.LateIncident, len(rows))
	for i, row := range rows {
		list[i] = location.LateIncident{
			RuleID: row.RuleID, RuleName: row.RuleName, StartedAt: row.StartedAt.UTC(), EndedAt: row.EndedAt, Regions: row.Regions,
			FoundAt: row.FoundAt.UTC(),
		}
	}
	return list, pg.Wrap("read the incidents that would have been", err)
}
