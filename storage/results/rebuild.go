// SPDX-License-Identifier: Apache-2.0

package results

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// StateBefore returns what the stored results before a slot leave in the state of a loop, for a
// fold that goes on with the results from that slot on, as far as it is asked for: Days, DNS with
// DNSSlot, Failures, and Burns. All other members are zero.
//
// The rollups say in which hour to look, so it reads the results of an hour or two of each, in
// one partition, and at most one rollup for each hour of their retention.
func (s *Store) StateBefore(ctx context.Context, q vigil.PastQuery) (vigil.State, error) {
	p := pastReader{from: s.homes.with(q.Region), q: q}
	p.q.From, p.q.Before = pg.Micro(q.From), pg.Micro(q.Before)
	var state vigil.State
	if q.Days {
		row, _, err := p.newest(ctx, hasDays, p.q.From)
		if err != nil {
			return vigil.State{}, pg.Wrap("find the last certificate", err)
		}
		if days, ok := row.CertificateDays(); ok {
			state.Days = &days
		}
	}
	if q.DNS {
		row, _, err := p.newest(ctx, hasAnswer, time.Time{})
		if err != nil {
			return vigil.State{}, pg.Wrap("find the last DNS answer", err)
		}
		if answer := row.DNSAnswer(); answer != "" {
			state.DNS, state.DNSSlot = answer, row.Slot
		}
	}
	if len(q.Burns) > 0 {
		var err error
		if state, err = p.burns(ctx, state); err != nil {
			return vigil.State{}, pg.Wrap("count the windows of burn rates", err)
		}
	}
	if q.Failures {
		var err error
		if state.Failures, err = p.failures(ctx); err != nil {
			return vigil.State{}, pg.Wrap("count the failures in a row", err)
		}
	}
	return state, nil
}

// pastReader reads results before a slot.
type pastReader struct {
	from []*home
	q    vigil.PastQuery
}

// burns counts the results of windows before the slot in their steps.
func (p pastReader) burns(ctx context.Context, state vigil.State) (vigil.State, error) {
	type step struct {
		At     int64 `bun:"at"`
		Total  int64 `bun:"total"`
		Failed int64 `bun:"failed"`
	}
	filled := slices.Clone(p.q.Burns)
	for i, counts := range filled {
		found, err := readAll(ctx, p.from, func(ctx context.Context, h *home) (steps []step, err error) {
			err = h.NewRaw(`SELECT floor(extract(epoch FROM r.slot) / ?step)::bigint * ?step AS at, count(*) AS total,
					count(*) FILTER (WHERE NOT r.success) AS failed
				FROM results AS r WHERE r.check_id = ?check AND r.region = ?region AND r.slot >= ?from AND r.slot < ?before
					AND r.excluded = 0 GROUP BY 1 ORDER BY 1`,
				pg.Named{
					"step": counts.Step, "check": p.q.CheckID, "region": p.q.Region, "before": p.q.Before,
					"from": timing.Later(p.q.From, p.q.Before.Add(-time.Duration(counts.Window)*time.Second)),
				}).Scan(ctx, &steps)
			return steps, err
		})
		if err != nil {
			return state, err
		}
		for _, one := range inOrder(found, func(a, b step) int { return cmp.Compare(a.At, b.At) }) {
			counts = counts.Add(time.Unix(one.At, 0), one.Total, one.Failed)
		}
		filled[i] = counts
	}
	return state.WithBurns(filled), nil
}

// pastKind is a kind of results: the condition of a result (r) and that of the hours (u) that
// have one.
type pastKind struct{ result, hour schema.QueryWithArgs }

// Kinds of results that a state remembers.
//
//nolint:gochecknoglobals // constants that Go cannot spell as such
var (
	hasDays = pastKind{
		bun.SafeQuery("(jsonb_typeof(r.metadata->?) = 'number' OR jsonb_typeof(r.metadata->?) = 'number')",
			vigil.MetadataDays, vigil.MetadataCertDays),
		bun.SafeQuery("u.seen & ? <> 0", seenCertificate),
	}
	hasAnswer = pastKind{
		bun.SafeQuery("r.success AND r.metadata->>? <> ''", vigil.MetadataFingerprint),
		bun.SafeQuery("u.seen & ? <> 0", seenDNS),
	}
	hasSuccess = pastKind{bun.SafeQuery("r.success"), bun.SafeQuery("u.successes + u.excluded_successes > 0")}
)

// pastHours is how many hours with a result of a kind are tried. The first may have it after the
// slot only, and the retention of results may end within the last.
const pastHours = 3

// newest returns the newest result of a kind from a slot on, zero without one, and the newest
// hour that had one whose result is past its retention, zero without such an hour.
func (p pastReader) newest(ctx context.Context, kind pastKind, from time.Time) (found vigil.Result, lost time.Time, err error) {
	type past struct {
		found vigil.Result
		lost  time.Time
	}
	all, err := readAll(ctx, p.from, func(ctx context.Context, h *home) (one past, err error) {
		one.found, one.lost, err = p.newestIn(ctx, h, kind, from)
		return one, err
	})
	for _, one := range all {
		if one.found.Slot.After(found.Slot) {
			found = one.found
		}
		lost = timing.Later(lost, one.lost)
	}
	if !found.Slot.Before(lost) {
		return found, time.Time{}, err
	}
	return vigil.Result{}, lost, err
}

// newestIn does so in one database.
func (p pastReader) newestIn(
	ctx context.Context, h *home, kind pastKind, from time.Time,
) (found vigil.Result, lost time.Time, err error) {
	var hours []struct {
		Hour    time.Time `bun:"hour"`
		Counted bool      `bun:"counted"`
	}
	// Results that no rollup counts yet are few, and may be of any kind.
	err = h.NewRaw(`(SELECT u.hour, true AS counted FROM result_rollups AS u
			WHERE u.check_id = ?check AND u.region = ?region AND u.hour >= ?hour AND u.hour < ?before AND ?kind
			ORDER BY u.hour DESC LIMIT ?limit)
		UNION ALL SELECT DISTINCT date_trunc('hour', o.slot, 'UTC'), false FROM uncounted_results AS o
			WHERE o.check_id = ?check AND o.region = ?region AND o.slot >= ?from AND o.slot < ?before
		ORDER BY hour DESC, counted`,
		pg.Named{
			"check": p.q.CheckID, "region": p.q.Region, "hour": HourOf(from), "from": from, "before": p.q.Before, "kind": kind.hour,
			"limit": pastHours,
		}).Scan(ctx, &hours)
	if err != nil {
		return found, lost, fmt.Errorf("find the hour: %w", err)
	}
	for _, hour := range hours {
		start, end := hour.Hour.UTC(), hour.Hour.UTC().Add(time.Hour)
		complete := !end.After(p.q.Before) && !start.Before(from)
		var row Row
		err := h.NewRaw("SELECT "+Columns+` FROM results AS r
			WHERE r.check_id = ?check AND r.region = ?region AND r.slot >= ?from AND r.slot < ?before AND ?kind ORDER BY r.slot DESC LIMIT 1`,
			pg.Named{
				"check": p.q.CheckID, "region": p.q.Region, "from": timing.Later(start, from), "before": timing.Earlier(end, p.q.Before),
				"kind": kind.result,
			}).Scan(ctx, &row)
		if err == nil {
			found, err = row.Result()
			return found, lost, err
		}
		if !pg.IsNoRow(err) {
			return found, lost, fmt.Errorf("read the hour: %w", err)
		}
		if hour.Counted && complete {
			return found, start, nil
		}
	}
	return found, lost, nil
}

// failures counts the failed results in a row before the slot. Whole hours are counted by their
// rollups.
func (p pastReader) failures(ctx context.Context) (n int, err error) {
	success, lost, err := p.newest(ctx, hasSuccess, p.q.From)
	if err != nil {
		return 0, err
	}
	from := p.q.From
	switch {
	case !success.Slot.IsZero():
		from = success.Slot.Add(time.Microsecond)
	case !lost.IsZero():
		from = lost.Add(time.Hour)
	}
	first, last := HourOf(from.Add(time.Hour-time.Microsecond)), HourOf(p.q.Before)
	if last.Before(first) {
		first, last = p.q.Before, p.q.Before
	}
	counts, err := readAll(ctx, p.from, func(ctx context.Context, h *home) (n int, err error) {
		err = h.NewRaw(`SELECT
				(SELECT count(*) FROM results WHERE check_id = ?check AND region = ?region AND slot >= ?from AND slot < ?first)
				+ (SELECT count(*) FROM results WHERE check_id = ?check AND region = ?region AND slot >= ?last AND slot < ?before)
				+ (SELECT coalesce(sum(total + excluded), 0)::bigint FROM result_rollups
					WHERE check_id = ?check AND region = ?region AND hour >= ?first AND hour < ?last)
				+ (SELECT count(*) FROM uncounted_results WHERE NOT ?own AND check_id = ?check AND region = ?region
					AND slot >= ?first AND slot < ?last)`,
			pg.Named{
				"check": p.q.CheckID, "region": p.q.Region, "from": from, "first": first, "last": last, "before": p.q.Before,
				"own": h.own, // its rollups count them
			}).Scan(ctx, &n)
		return n, err
	})
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	for _, one := range counts {
		n += one
	}
	return n, nil
}
