// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Loops are loops as columns of a statement, each with the time from which on its results are wanted.
type Loops struct {
	Checks, Regions []string
	Since           []time.Time
}

// first is the earliest of the times; it leaves few partitions to plan for.
func (l *Loops) first() time.Time { return slices.MinFunc(l.Since, time.Time.Compare) }

// VisitNewest visits the newest results of loops, up to a limit of each, whose slots are before a time. n is the number of the
// loop, from 0.
func (s *Store) VisitNewest(
	ctx context.Context, of Loops, to time.Time, limit int, visit func(n int, slot time.Time, success, excluded bool, ms float64),
) error {
	return s.visit(ctx, of, `
		SELECT k.n, r.slot, r.success, r.response_time_ms, r.excluded <> 0
		FROM unnest(@checks::text[], @regions::text[], @since::timestamptz[]) WITH ORDINALITY AS k (check_id, region, since, n)
		CROSS JOIN LATERAL (
			SELECT r.slot, r.success, r.response_time_ms, r.excluded FROM results AS r
			WHERE r.check_id = k.check_id::uuid AND r.region = k.region AND r.slot >= k.since AND r.slot >= @first AND r.slot < @to
			ORDER BY r.slot DESC LIMIT @limit
		) AS r`, pg.Named{"to": to, "limit": limit}, func(found pgx.Rows, one *sync.Mutex) error {
		var n int64
		var slot time.Time
		var success, excluded bool
		var ms float64
		_, err := pgx.ForEachRow(found, []any{&n, &slot, &success, &ms, &excluded}, func() error {
			one.Lock()
			defer one.Unlock()
			visit(int(n-1), slot, success, excluded, ms)
			return nil
		})
		return err
	})
}

// VisitHours visits the rollups of loops, with the results in maintenance among their successes and totals. n is the number of the
// loop, from 0.
func (s *Store) VisitHours(ctx context.Context, of Loops, visit func(n int, hour time.Time, sum *Rollup)) error {
	return s.visit(ctx, of, `
		SELECT k.n, u.hour, u.total + u.excluded, u.successes + u.excluded_successes, u.sum_ms, u.buckets, u.counts
		FROM unnest(@checks::text[], @regions::text[], @since::timestamptz[]) WITH ORDINALITY AS k (check_id, region, since, n)
		JOIN result_rollups AS u ON u.check_id = k.check_id::uuid AND u.region = k.region AND u.hour >= k.since
		WHERE u.hour >= @first`, pg.Named{}, func(found pgx.Rows, one *sync.Mutex) error {
		var n int64
		var hour time.Time
		var sum Rollup
		var buckets []int16
		var counts []int32
		_, err := pgx.ForEachRow(found, []any{&n, &hour, &sum.Total, &sum.Successes, &sum.SumMS, &buckets, &counts}, func() error {
			one.Lock()
			defer one.Unlock()
			sum.Times = HistogramOf(buckets, counts)
			visit(int(n-1), hour, &sum)
			return nil
		})
		return err
	})
}

// VisitTotals visits how many results loops have, and how many of them are successes, by whole hours and without those in
// maintenance. n is the number of the loop, from 0.
func (s *Store) VisitTotals(ctx context.Context, of Loops, visit func(n int, total, successes int64)) error {
	return s.visit(ctx, of, `
		SELECT k.n, coalesce(sum(u.total), 0)::bigint, coalesce(sum(u.successes), 0)::bigint
		FROM unnest(@checks::text[], @regions::text[], @since::timestamptz[]) WITH ORDINALITY AS k (check_id, region, since, n)
		JOIN result_rollups AS u ON u.check_id = k.check_id::uuid AND u.region = k.region AND u.hour >= k.since
		WHERE u.hour >= @first GROUP BY 1`, pg.Named{}, func(found pgx.Rows, one *sync.Mutex) error {
		var n, total, successes int64
		_, err := pgx.ForEachRow(found, []any{&n, &total, &successes}, func() error {
			one.Lock()
			defer one.Unlock()
			visit(int(n-1), total, successes)
			return nil
		})
		return err
	})
}

// visit runs a statement about loops on each database that may have their results. It is prepared, since its rows are thousands,
// which come in binary then.
func (s *Store) visit(ctx context.Context, of Loops, query string, args pg.Named, scan func(found pgx.Rows, one *sync.Mutex) error) error {
	if len(of.Checks) == 0 {
		return nil
	}
	args["checks"], args["regions"], args["since"], args["first"] = of.Checks, of.Regions, of.Since, of.first()
	from := s.homes.all
	if len(from) > 1 {
		from = s.homes.with(slices.Compact(slices.Sorted(slices.Values(of.Regions)))...)
	}
	var one sync.Mutex
	_, err := readAll(ctx, from, func(ctx context.Context, h *home) (none struct{}, err error) {
		found, err := h.Pool.Query(ctx, query, h.Prepared(), args)
		if err != nil {
			return none, err
		}
		return none, scan(found, &one)
	})
	return err
}

// statusDayChecks is how many checks are summed by day in one statement.
const statusDayChecks = 20

// StatusDays counts the results of checks on each day (UTC) from the first to before the
// second time, both at midnight. A check and day without a result is not in it.
func (s *Store) StatusDays(
	ctx context.Context, checks []uuid.UUID, from, to time.Time,
) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
	days := make(map[uuid.UUID]map[time.Time]overview.DayCount, len(checks))
	for part := range slices.Chunk(checks, statusDayChecks) {
		found, err := readAll(ctx, s.homes.all, func(ctx context.Context, h *home) ([]checkDay, error) { return h.days(ctx, part, from, to) })
		if err != nil {
			return nil, pg.Wrap("sum results by day", err)
		}
		for _, one := range joinDays(slices.Concat(found...)) {
			if days[one.check] == nil {
				days[one.check] = make(map[time.Time]overview.DayCount)
			}
			days[one.check][StartOf(one.day)] = one.DayCount
		}
	}
	return days, nil
}

// checkDay is a day of a check: the hours of it that have a result are bits.
type checkDay struct {
	overview.DayCount

	check uuid.UUID
	day   int64
	hours int32
}

// joinDays adds up what several databases have of the same days.
func joinDays(list []checkDay) map[dayKey]*checkDay {
	days := make(map[dayKey]*checkDay, len(list))
	for _, one := range list {
		key := dayKey{one.check, one.day}
		sum := days[key]
		if sum == nil {
			sum = &checkDay{check: one.check, day: one.day}
			days[key] = sum
		}
		sum.hours |= one.hours
		sum.Total, sum.Failed, sum.SumMS = sum.Total+one.Total, sum.Failed+one.Failed, sum.SumMS+one.SumMS
		sum.Hours = int64(bits.OnesCount32(uint32(sum.hours))) //nolint:gosec // 24 bits
	}
	return days
}

type dayKey struct {
	check uuid.UUID
	day   int64
}

func (h *home) days(ctx context.Context, checks []uuid.UUID, from, to time.Time) (days []checkDay, err error) {
	found, err := h.Pool.Query(ctx, `
		SELECT check_id, floor(extract(epoch FROM hour) / 86400)::bigint, sum(total)::bigint, sum(total - successes)::bigint,
			bit_or(CASE WHEN total > 0 THEN 1 << extract(hour FROM hour AT TIME ZONE 'UTC')::int ELSE 0 END), sum(sum_ms)
		FROM result_rollups WHERE check_id = ANY($1::text[]::uuid[]) AND hour >= $2 AND hour < $3 GROUP BY 1, 2`,
		pg.UUIDTexts(checks), from, to)
	if err != nil {
		return nil, err
	}
	var one checkDay
	_, err = pgx.ForEachRow(found, []any{&one.check, &one.day, &one.Total, &one.Failed, &one.hours, &one.SumMS}, func() error {
		days = append(days, one)
		return nil
	})
	return days, err
}
