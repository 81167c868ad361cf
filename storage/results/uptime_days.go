// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// UptimeDays sums the results of a check of the organization for each of the last days
// (UTC), newest first; today is the first. The numbers are those of Uptime, without
// response times and without results in maintenance. An unknown check is a CodeNotFound error.
func (s *Store) UptimeDays(ctx context.Context, orgID, checkID uuid.UUID, days int) ([]overview.UptimeDay, error) {
	now := s.db.Instant()
	today := DayOf(now)
	list := make([]overview.UptimeDay, days)
	for i := range list {
		list[i].Day = StartOf(today - int64(i))
	}
	err := s.uptimeDays(ctx, orgID, loops.Window{Check: checkID, From: StartOf(today - int64(days) + 1), To: now}, list)
	return list, pg.Wrap("sum uptime by day", err)
}

// uptimeDays adds to the days of a window, which are in list, newest first.
func (s *Store) uptimeDays(ctx context.Context, orgID uuid.UUID, w loops.Window, list []overview.UptimeDay) error {
	tx, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer end()
	loops, gaps, err := readMissed(ctx, tx, orgID, w)
	if err != nil {
		return err
	}
	for i := range list {
		from := list[i].Day
		to := from.Add(day)
		for j := range loops {
			list[i].Missed += loops[j].MissedBetween(from, to, w.To)
		}
		for _, g := range gaps {
			list[i].Missed += g.gap.CountBetween(from, timing.Earlier(to, w.To))
		}
	}
	found, err := tx.Query(ctx, `
		SELECT floor(extract(epoch FROM hour) / 86400)::bigint, sum(total)::bigint, sum(successes)::bigint, sum(excluded)::bigint
		FROM result_rollups WHERE check_id = $1 AND hour >= $2 AND hour < $3 GROUP BY 1`, w.Check, w.From, w.To)
	if err != nil {
		return fmt.Errorf("sum rollups: %w", err)
	}
	var n, total, successes, excluded int64
	_, err = pgx.ForEachRow(found, []any{&n, &total, &successes, &excluded}, func() error {
		one := &list[DayOf(w.To)-n]
		one.Total, one.Successful, one.Failed, one.Excluded = total, successes, total-successes, excluded
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum rollups: %w", err)
	}
	return nil
}
