// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
)

// window selects the results of a check with slots in [from, to).
type window struct {
	check    uuid.UUID
	from, to time.Time
	// withExcluded: results in maintenance count too.
	withExcluded bool
}

// missedBetween counts the slots in [from, to) that no result and no gap has, whose probe
// deadline is over at now, and in which probing is not paused.
func (r *loopRow) missedBetween(from, to, now time.Time) int64 {
	if !r.Active {
		return 0
	}
	return countOutside(r.schedule(), later(r.CountedUntil, from), earlier(to, now.Add(-fromMilliseconds(r.DeadlineMS))), r.Pauses)
}

// regionGap is a gap of a region.
type regionGap struct {
	region string
	gap    gap
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// addPauses reads the maintenance that pauses probing, when loops of a check have slots in
// the window that may be missed since their newest results.
func addPauses(ctx context.Context, tx querier, loops []loopRow, w window) error {
	open := false
	for i := range loops {
		open = open || loops[i].missedBetween(w.from, w.to, w.to) > 0
	}
	if !open {
		return nil
	}
	found, err := tx.Query(ctx, pausedSpans+" WHERE c.id = $3", w.from, w.to, w.check)
	if err != nil {
		return fmt.Errorf("read pauses: %w", err)
	}
	byCheck, err := collectSpans(found)
	for i := range loops {
		loops[i].Pauses = byCheck[w.check]
	}
	return err
}

// addExcluded adds the results in maintenance to sums without them.
func (w window) addExcluded(up *vigil.Uptime, excluded, successes int64) {
	up.Excluded = excluded
	if w.withExcluded {
		up.Total += excluded
		up.Successful += successes
	}
	up.Failed = up.Total - up.Successful
}
