// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// missedRun is where slots of a check in a region may be missed: since the newest result of its loop, or
// in a stored gap.
type missedRun struct {
	check  uuid.UUID
	region string
	// between counts the missed slots in [from, to).
	between func(from, to time.Time) int64
}

// missedSlots counts the missed slots of every region that the check has or had in the
// window: those in stored gaps and those due since the newest result. A check that is not
// the organization's is a CodeNotFound error.
func missedSlots(ctx context.Context, tx pgx.Tx, orgID uuid.UUID, w loops.Window) (map[string]int64, error) {
	missed := make(map[string]int64)
	known, err := visitMissed(ctx, tx, orgID, []uuid.UUID{w.Check}, w, w.To, func(run missedRun) {
		missed[run.region] += run.between(w.From, w.To)
	})
	if err != nil {
		return nil, err
	}
	if known == 0 {
		return nil, vigil.NotFound("check") // every check has a region
	}
	return missed, nil
}

// visitMissed visits where slots of checks of the organization may be missed in a window, whose check it
// does not look at, and returns how many loops they have. A run is valid while it is visited.
func visitMissed(
	ctx context.Context, tx pgx.Tx, orgID uuid.UUID, checks []uuid.UUID, w loops.Window, now time.Time, visit func(missedRun),
) (known int, err error) {
	found, err := tx.Query(ctx, `
		SELECT r.check_id, r.region, r.active, r.start_at, r.anchor, r.interval_ms, r.offset_ms, r.cron, r.timezone,
			r.counted_until, r.deadline_ms
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id
		WHERE c.id = ANY($1) AND c.org_id = $2 AND c.`+pg.NotDrill, pgx.QueryExecModeDescribeExec, checks, orgID)
	if err != nil {
		return 0, fmt.Errorf("read loops: %w", err)
	}
	var rows []loops.Row
	var loop loops.Row
	into := []any{
		&loop.CheckID, &loop.Region, &loop.Active, &loop.StartAt, &loop.Anchor, &loop.IntervalMS, &loop.OffsetMS, &loop.Cron,
		&loop.Timezone, &loop.CountedUntil, &loop.DeadlineMS,
	}
	_, err = pgx.ForEachRow(found, into, func() error {
		rows = append(rows, loop)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read loops: %w", err)
	}
	if err := loops.AddPauses(ctx, tx, rows, w.From, w.To, now); err != nil {
		return 0, err
	}
	ours := make([]uuid.UUID, 0, len(checks))
	for i := range rows {
		ours = append(ours, rows[i].CheckID)
		visit(missedRun{rows[i].CheckID, rows[i].Region, func(from, to time.Time) int64 { return rows[i].MissedBetween(from, to, now) }})
	}
	return len(rows), visitGaps(ctx, tx, ours, w, visit)
}

func visitGaps(ctx context.Context, tx pgx.Tx, checks []uuid.UUID, w loops.Window, visit func(missedRun)) error {
	found, err := tx.Query(ctx, `
		SELECT check_id, region, first_slot, last_slot, step_ms, count FROM result_gaps
		WHERE check_id = ANY($1) AND last_slot >= $2 AND first_slot < $3`, pgx.QueryExecModeDescribeExec, checks, w.From, w.To)
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	var run missedRun
	var gap loops.Gap
	var stepMS int64
	run.between = func(from, to time.Time) int64 { return gap.CountBetween(from, to) }
	_, err = pgx.ForEachRow(found, []any{&run.check, &run.region, &gap.First, &gap.Last, &stepMS, &gap.Count}, func() error {
		gap.Step = pg.FromMilliseconds(stepMS)
		visit(run)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read gaps: %w", err)
	}
	return nil
}
