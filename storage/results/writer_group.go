// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// attempt is one try to store the rows of some lanes.
type attempt struct {
	lanes   []*lane
	group   []*pendingRow
	timeout time.Duration // of each transaction

	left map[loopKey]leftover // what is not stored
	err  error                // the database is unavailable
}

// leftover are rows of a loop that are not stored.
type leftover struct {
	rows []*pendingRow
	// locked: another transaction has the lock of the loop. Refused: a statement waited in
	// vain for another lock, or was in conflict with another transaction.
	locked, refused bool
}

// run stores the group and completes its rows, except those in left.
func (a *attempt) run(ctx context.Context, w *ResultWriter) {
	a.left = make(map[loopKey]leftover)
	slices.SortStableFunc(a.group, func(a, b *pendingRow) int { return compareKeys(a.key(), b.key()) })
	if len(a.group) > 0 {
		a.store(ctx, w, a.group)
	}
}

// store stores rows that are sorted by their loops. A group that Postgres refuses is split
// in halves until only the faulty row fails, or only the loop waits that is in conflict
// with another transaction.
func (a *attempt) store(ctx context.Context, w *ResultWriter, rows []*pendingRow) {
	first, last := rows[0].key(), rows[len(rows)-1].key()
	if _, blocked := a.left[first]; a.err != nil || blocked && first == last {
		a.leave(rows, leftover{})
		return
	}
	err := a.try(ctx, w, rows)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		for _, p := range rows {
			p.complete(vigil.StoredResult{}, errStopped)
		}
	case inConflict(err) && first == last:
		a.leave(a.storeAside(ctx, w, rows), leftover{refused: true})
	case pg.Retryable(err) && !inConflict(err):
		a.err = err
		a.leave(rows, leftover{})
	case len(rows) == 1:
		p := rows[0]
		w.log.ErrorContext(ctx, "result cannot be stored",
			"check", p.result.CheckID, "region", p.result.Region, "slot", p.result.Slot, "error", err)
		p.complete(vigil.StoredResult{}, err)
	default:
		half := middle(rows)
		a.store(ctx, w, rows[:half])
		a.store(ctx, w, rows[half:])
	}
}

// middle returns where to split rows: between two loops when there are several, so that the
// rows of a loop stay together.
func middle(rows []*pendingRow) int {
	half := len(rows) / 2
	for at := 0; at < half; at++ {
		for _, i := range []int{half - at, half + at} {
			if i > 0 && i < len(rows) && rows[i-1].key() != rows[i].key() {
				return i
			}
		}
	}
	if last := len(rows) - 1; rows[last-1].key() != rows[last].key() {
		return last
	}
	return half
}

// try stores rows in one transaction.
func (a *attempt) try(ctx context.Context, w *ResultWriter, rows []*pendingRow) error {
	bounded, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	began := w.now()
	outcomes, err := w.store.commit(bounded, rows)
	if err != nil {
		return err
	}
	stored := 0
	var locked []*pendingRow
	for i, p := range rows {
		if outcomes[i].locked {
			locked = append(locked, p)
			continue
		}
		stored++
		p.complete(outcomes[i].stored, outcomes[i].err)
	}
	if stored > 0 && w.committed != nil {
		w.committed(ctx, stored, w.now().Sub(began))
	}
	a.leave(a.storeAside(ctx, w, locked), leftover{locked: true})
	return nil
}

// leave keeps rows for another attempt.
func (a *attempt) leave(rows []*pendingRow, why leftover) {
	for _, p := range rows {
		left := a.left[p.key()]
		left.rows = append(left.rows, p)
		left.locked, left.refused = left.locked || why.locked, left.refused || why.refused
		a.left[p.key()] = left
	}
}

// dropAbandoned drops the rows whose Write has returned because its context ended.
func dropAbandoned(group []*pendingRow) []*pendingRow {
	return slices.DeleteFunc(slices.Clone(group), func(p *pendingRow) bool {
		if p.ctx.Err() == nil {
			return false
		}
		p.complete(vigil.StoredResult{}, context.Cause(p.ctx))
		return true
	})
}

// SQLSTATEs of conflicts with other transactions (Postgres manual, appendix A).
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	LockNotAvailable     = "55P03"
)

// inConflict reports whether a transaction failed because of another one.
func inConflict(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return errors.Is(err, errUncounted)
	}
	return slices.Contains([]string{serializationFailure, deadlockDetected, LockNotAvailable}, refused.Code)
}
