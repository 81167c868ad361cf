// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Window selects the results of a check with slots in [from, to).
type Window struct {
	Check    uuid.UUID
	From, To time.Time
	// WithExcluded: results in maintenance count too.
	WithExcluded bool
}

// MissedBetween counts the slots in [from, to) that no result and no gap has, whose probe
// deadline is over at now, and in which probing is not paused.
func (r *Row) MissedBetween(from, to, now time.Time) int64 {
	if !r.Active {
		return 0
	}
	return countOutside(
		r.Schedule(),
		timing.Later(r.CountedUntil, from),
		timing.Earlier(to, now.Add(-pg.FromMilliseconds(r.DeadlineMS))),
		r.Pauses,
	)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// AddPauses reads the maintenance that pauses probing, for the loops of checks that have slots in
// [from, to) that may be missed at now since their newest results. The loops have their check.
func AddPauses(ctx context.Context, tx querier, loops []Row, from, to, now time.Time) error {
	var open []uuid.UUID
	for i := range loops {
		if loops[i].MissedBetween(from, to, now) > 0 {
			open = append(open, loops[i].CheckID)
		}
	}
	if len(open) == 0 {
		return nil
	}
	found, err := tx.Query(ctx, PausedSpans+" WHERE c.id = ANY($3)", pgx.QueryExecModeDescribeExec, from, to, open)
	if err != nil {
		return fmt.Errorf("read pauses: %w", err)
	}
	byCheck, err := CollectSpans(found)
	for i := range loops {
		loops[i].Pauses = byCheck[loops[i].CheckID]
	}
	return err
}
