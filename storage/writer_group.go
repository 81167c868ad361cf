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

// commitAll stores a group and completes each of its rows. While Postgres is unavailable
// it retries as long as a Write waits for a row. A group that Postgres refuses is split
// in halves until only the faulty row fails.
func (w *ResultWriter) commitAll(ctx context.Context, group []*pendingRow) {
	delay, since := minRetryDelay, w.now()
	for {
		group = dropAbandoned(group)
		if len(group) == 0 {
			return
		}
		outcomes, err := w.tryCommit(ctx, group)
		switch {
		case err == nil:
			for i, p := range group {
				p.complete(outcomes[i].stored, outcomes[i].err)
			}
			return
		case ctx.Err() != nil:
			for _, p := range group {
				p.complete(vigil.StoredResult{}, errStopped)
			}
			return
		case retryable(err):
			w.log.WarnContext(ctx, "results wait for the database",
				"rows", len(group), "waited", w.now().Sub(since), "retry_in", delay, "error", err)
			_ = timing.Sleep(ctx, delay) // the loop checks whether ctx has ended
			delay = min(2*delay, maxRetryDelay)
		case len(group) == 1:
			p := group[0]
			w.log.ErrorContext(ctx, "result cannot be stored",
				"check", p.result.CheckID, "region", p.result.Region, "slot", p.result.Slot, "error", err)
			p.complete(vigil.StoredResult{}, err)
			return
		default:
			half := len(group) / 2
			w.commitAll(ctx, group[:half])
			group = group[half:]
		}
	}
}

// tryCommit stores a group in one transaction, which may take up to commitTimeout.
func (w *ResultWriter) tryCommit(ctx context.Context, group []*pendingRow) ([]outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	began := w.now()
	outcomes, err := w.store.commit(ctx, group)
	if err == nil && w.committed != nil {
		w.committed(ctx, len(group), w.now().Sub(began))
	}
	return outcomes, err
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

// retryable reports whether a retry may succeed: Postgres is unreachable, is short of
// resources or had a conflict between transactions. Errors about the rows themselves are
// not retryable.
func retryable(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code[:min(2, len(refused.Code))] {
		// SQLSTATE classes of the Postgres manual, appendix A: connection, read-only,
		// rolled back, resources, locks, shutdown, I/O.
		case "08", "25", "40", "53", "55", "57", "58":
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
