package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"vigil"
	"vigil/timing"
)

// commitAll stores a group and answers each of its rows. While Postgres is away
// it tries again for as long as anybody waits for a row; a group that Postgres
// refuses is halved until the row at fault is alone and fails alone.
func (w *ResultWriter) commitAll(ctx context.Context, group []*pendingRow) {
	wait, since := firstRetry, w.now()
	for {
		group = waitedFor(group)
		if len(group) == 0 {
			return
		}
		outcomes, err := w.tryCommit(ctx, group)
		switch {
		case err == nil:
			for i, p := range group {
				p.answer(outcomes[i].recorded, outcomes[i].err)
			}
			return
		case ctx.Err() != nil:
			for _, p := range group {
				p.answer(vigil.StoredResult{}, errStopped)
			}
			return
		case away(err):
			w.log.WarnContext(ctx, "results wait for the database", "rows", len(group), "waited", w.now().Sub(since), "retry_in", wait, "error", err)
			_ = timing.Sleep(ctx, wait) // the loop sees whether ctx has ended
			wait = min(2*wait, longestRetry)
		case len(group) == 1:
			p := group[0]
			w.log.ErrorContext(ctx, "result cannot be stored",
				"check", p.result.CheckID, "region", p.result.Region, "slot", p.result.Slot, "error", err)
			p.answer(vigil.StoredResult{}, err)
			return
		default:
			half := len(group) / 2
			w.commitAll(ctx, group[:half])
			group = group[half:]
		}
	}
}

// tryCommit stores a group in one transaction of bounded length.
func (w *ResultWriter) tryCommit(ctx context.Context, group []*pendingRow) ([]outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	began := w.now()
	outcomes, err := w.store.commit(ctx, group)
	if err == nil && w.heard != nil {
		w.heard(ctx, len(group), w.now().Sub(began))
	}
	return outcomes, err
}

// waitedFor drops the rows whose Write has given up.
func waitedFor(group []*pendingRow) []*pendingRow {
	return slices.DeleteFunc(slices.Clone(group), func(p *pendingRow) bool {
		if p.ctx.Err() == nil {
			return false
		}
		p.answer(vigil.StoredResult{}, context.Cause(p.ctx))
		return true
	})
}

// away says whether an error is about Postgres being out of reach, short of
// something or in contention, rather than about the rows: trying again helps.
func away(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code[:min(2, len(refused.Code))] {
		case "08", "25", "40", "53", "55", "57", "58": // connection, read-only, rolled back, resources, locks, shutdown, I/O
			return true
		}
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded)
}
