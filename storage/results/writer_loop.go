// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// loopProgress is the part of a loop's row that results change. It is read under the lock
// of the row.
type loopProgress struct {
	check    uuid.UUID
	region   string
	active   bool
	schedule vigil.Schedule

	countedUntil           time.Time
	lastSlot, lastTime     *time.Time
	lastScheduled, nextDue *time.Time
	deadlineMS, missed     int64
	turnSlots              int32
	turn                   openTurn
	health, worker         string
	clearNudge             bool // a scheduled result came, so the backoff of nudges ends
	pauses                 []loops.Span
	newGaps                []loops.Gap
}

// openTurn is the turn of a loop that goes on after its newest result, zero when none does.
type openTurn struct {
	run      *[16]byte
	activity *string
	ends     *time.Time
}

func openTurnOf(turn *vigil.TurnActivity) openTurn {
	if turn == nil {
		return openTurn{}
	}
	return openTurn{(*[16]byte)(&turn.RunID), &turn.ActivityID, &turn.Ends}
}

func (l *loopProgress) key() loopKey { return loopKey{l.check, l.region} }

// scanProgress reads a loop, its slots whose results were inserted, and whether it has results
// that were stored aside.
func scanProgress(row pgx.Rows) (l *loopProgress, inserted []time.Time, uncounted bool, err error) {
	l = &loopProgress{}
	var intervalMS, offsetMS int64
	var cron, timezone string
	err = row.Scan(&l.check, &l.region, &l.active, &l.schedule.Start, &l.schedule.Anchor, &intervalMS, &offsetMS, &cron, &timezone,
		&l.countedUntil,
		&l.lastSlot, &l.lastTime, &l.lastScheduled, &l.nextDue, &l.deadlineMS, &l.health, &l.missed, &l.worker, &l.turnSlots,
		&l.turn.run, &l.turn.activity, &l.turn.ends, &inserted, &uncounted)
	l.schedule.Interval, l.schedule.Offset = pg.FromMilliseconds(intervalMS), pg.FromMilliseconds(offsetMS)
	l.schedule.Times = loops.TimesOf(cron, timezone)
	return l, inserted, uncounted, err
}

// takes reports whether the loop takes a row: not one that is too late (see insertSQL).
func (l *loopProgress) takes(p *pendingRow) bool {
	return p.result.Manual || p.late || l.worker == "" || l.worker == p.worker || l.lastSlot == nil || !p.result.Slot.Before(*l.lastSlot)
}

// advance updates the progress for an inserted row. It returns false for a scheduled row
// whose slot was already counted, and may be in a gap.
func (l *loopProgress) advance(p *pendingRow) (counted bool) {
	r := &p.result
	p.missed = 0 // a failed attempt may have set it
	if l.lastSlot == nil || r.Slot.After(*l.lastSlot) {
		l.lastSlot, l.lastTime, l.health = &r.Slot, &r.Time, string(vigil.HealthOf(r.Success))
	}
	if r.Manual {
		return true
	}
	if l.lastScheduled == nil || r.Slot.After(*l.lastScheduled) {
		l.lastScheduled, l.clearNudge = &r.Slot, true
		if !p.moved {
			l.worker, l.turn = p.worker, openTurnOf(p.turn)
		}
		if p.deadline > 0 {
			l.deadlineMS = pg.Milliseconds(p.deadline)
		}
		l.turnSlots = int32(min(max(0, p.slots), math.MaxInt32))
	}
	if r.Slot.Before(l.countedUntil) {
		return false
	}
	if !l.active {
		return true // nothing is due while the check is disabled
	}
	gaps := loops.GapsOutside(l.schedule, l.countedUntil, r.Slot, l.pauses)
	l.newGaps = append(l.newGaps, gaps...)
	p.missed = loops.TotalCount(gaps)
	l.missed += p.missed
	l.countedUntil = r.Slot.Add(time.Microsecond)
	next := l.schedule.Next(r.Slot)
	l.nextDue = &next
	return true
}

// fillGaps advances the loops for the inserted rows, oldest first, and removes the slots
// of late results from the stored gaps.
func (g *groupTx) fillGaps(ctx context.Context) error {
	var late []*pendingRow
	for _, p := range g.rows {
		loop := g.loops[p.key()]
		p.previous = pg.ZeroIfNil(loop.lastSlot)
		p.moved = p.owned && loop.worker != "" && loop.worker != p.worker
		if g.inserted[p.slotKey()] && !loop.advance(p) {
			late = append(late, p)
		}
	}
	if len(late) == 0 {
		return nil
	}
	stored, err := g.gapsAround(ctx, late)
	if err != nil {
		return err
	}
	left := make(map[loopKey][]loops.Gap, len(stored))
	for key, gaps := range stored {
		left[key] = gaps
	}
	changed := make(map[loopKey]bool)
	for _, p := range late {
		key := p.key()
		gaps, filled := loops.FillSlot(left[key], p.result.Slot)
		if filled {
			left[key], changed[key] = gaps, true
			g.loops[key].missed--
		}
	}
	for key := range changed {
		g.replaceGaps(key, stored[key], left[key])
	}
	return nil
}

// gapsAround reads the stored gaps that may contain the slots of late results.
func (g *groupTx) gapsAround(ctx context.Context, late []*pendingRow) (map[loopKey][]loops.Gap, error) {
	c := newColumns(late)
	found, err := g.conn.Query(ctx, `
		SELECT DISTINCT g.check_id, g.region, g.first_slot, g.last_slot, g.step_ms, g.count
		FROM result_gaps AS g JOIN unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS k (check_id, region, slot)
			ON g.check_id = k.check_id AND g.region = k.region AND g.first_slot <= k.slot AND g.last_slot >= k.slot
		ORDER BY g.check_id, g.region, g.first_slot`, c.checks, c.regions, c.slots)
	if err != nil {
		return nil, fmt.Errorf("read gaps: %w", err)
	}
	gaps := make(map[loopKey][]loops.Gap)
	var key loopKey
	var one loops.Gap
	var stepMS int64
	_, err = pgx.ForEachRow(found, []any{&key.check, &key.region, &one.First, &one.Last, &stepMS, &one.Count}, func() error {
		one.Step = pg.FromMilliseconds(stepMS)
		gaps[key] = append(gaps[key], one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read gaps: %w", err)
	}
	return gaps, nil
}

// replaceGaps replaces gaps of a loop by what is left of them.
func (g *groupTx) replaceGaps(key loopKey, before, after []loops.Gap) {
	firsts := make([]time.Time, len(before))
	for i, one := range before {
		firsts[i] = one.First
	}
	g.writes.Queue("DELETE FROM result_gaps WHERE check_id = $1 AND region = $2 AND first_slot = ANY($3)",
		[16]byte(key.check), key.region, firsts)
	g.insertGaps(map[loopKey][]loops.Gap{key: after})
}

func (g *groupTx) insertGaps(byLoop map[loopKey][]loops.Gap) {
	var checks [][16]byte
	var regions []string
	var firsts, lasts []time.Time
	var steps, counts []int64
	for key, gaps := range byLoop {
		for _, one := range gaps {
			checks, regions = append(checks, key.check), append(regions, key.region)
			firsts, lasts = append(firsts, one.First), append(lasts, one.Last)
			steps, counts = append(steps, pg.Milliseconds(one.Step)), append(counts, one.Count)
		}
	}
	if len(checks) == 0 {
		return
	}
	g.writes.Queue(`
		INSERT INTO result_gaps (check_id, region, first_slot, last_slot, step_ms, count)
		SELECT * FROM unnest(@checks::uuid[], @regions::text[], @firsts::timestamptz[], @lasts::timestamptz[], @steps_ms::int8[],
			@counts::int8[])`,
		pg.Named{"checks": checks, "regions": regions, "firsts": firsts, "lasts": lasts, "steps_ms": steps, "counts": counts})
}

// storeProgress stores the changed loops and their new gaps.
func (g *groupTx) storeProgress() {
	changed := make(map[loopKey]bool)
	missed := make(map[loopKey][]loops.Gap)
	var loops []*loopProgress
	for _, p := range g.rows {
		key := p.key()
		if !g.inserted[p.slotKey()] || changed[key] {
			continue
		}
		changed[key] = true
		loops = append(loops, g.loops[key])
		if gaps := g.loops[key].newGaps; len(gaps) > 0 {
			missed[key] = gaps
		}
	}
	if len(loops) == 0 {
		return
	}
	g.insertGaps(missed)
	g.updateProgress(loops)
}

func (g *groupTx) updateProgress(loops []*loopProgress) {
	var checks [][16]byte
	var regions, healths, workers []string
	var counted []time.Time
	var slots, times, scheduled, due []*time.Time
	var deadlines, missed []int64
	var turnSlots []int32
	var clearNudges []bool
	var runs []*[16]byte
	var turns []*string
	var ends []*time.Time
	for _, l := range loops {
		checks, regions = append(checks, l.check), append(regions, l.region)
		counted, slots, times = append(counted, l.countedUntil), append(slots, l.lastSlot), append(times, l.lastTime)
		scheduled, due = append(scheduled, l.lastScheduled), append(due, l.nextDue)
		deadlines, missed = append(deadlines, l.deadlineMS), append(missed, l.missed)
		healths, workers = append(healths, l.health), append(workers, l.worker)
		turnSlots, clearNudges = append(turnSlots, l.turnSlots), append(clearNudges, l.clearNudge)
		runs, turns, ends = append(runs, l.turn.run), append(turns, l.turn.activity), append(ends, l.turn.ends)
	}
	g.writes.Queue(`
		UPDATE check_regions AS r SET
			counted_until = n.counted_until, last_slot = n.last_slot, last_time = n.last_time,
			last_scheduled = n.last_scheduled, next_due = n.next_due, deadline_ms = n.deadline_ms,
			missed = n.missed, health = n.health, worker = n.worker, turn_slots = n.turn_slots,
			turn_run = n.turn_run, turn_activity = n.turn_activity, turn_ends = n.turn_ends, adoption = NULL,
			nudged_at = CASE WHEN n.clear_nudge THEN NULL ELSE r.nudged_at END,
			nudge_wait_ms = CASE WHEN n.clear_nudge THEN 0 ELSE r.nudge_wait_ms END
		FROM unnest(@checks::uuid[], @regions::text[], @counted_until::timestamptz[], @last_slots::timestamptz[], @last_times::timestamptz[],
				@last_scheduled::timestamptz[], @next_due::timestamptz[], @deadlines_ms::int8[], @missed::int8[], @healths::text[],
				@workers::text[], @turn_slots::int4[], @clear_nudges::bool[], @turn_runs::uuid[], @turn_activities::text[],
				@turn_ends::timestamptz[])
			AS n (check_id, region, counted_until, last_slot, last_time, last_scheduled, next_due, deadline_ms, missed,
				health, worker, turn_slots, clear_nudge, turn_run, turn_activity, turn_ends)
		WHERE r.check_id = n.check_id AND r.region = n.region`,
		pg.Named{
			"checks": checks, "regions": regions, "counted_until": counted, "last_slots": slots, "last_times": times,
			"last_scheduled": scheduled, "next_due": due, "deadlines_ms": deadlines, "missed": missed, "healths": healths,
			"workers": workers, "turn_slots": turnSlots, "clear_nudges": clearNudges, "turn_runs": runs, "turn_activities": turns,
			"turn_ends": ends,
		})
}
