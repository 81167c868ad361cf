// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vigil-monitor/vigil"
)

// Wrap adds what failed to an error. A *vigil.Error passes unchanged; an error that a
// retry may fix becomes a CodeUnavailable error.
func Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*vigil.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	if Retryable(err) {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer. Try again in a moment.", Cause: err}
	}
	return err
}

// Found is wrap for the lookup of one resource: no row is a CodeNotFound error.
func Found(kind string, err error) error {
	if IsNoRow(err) {
		return vigil.NotFound(kind)
	}
	return Wrap("read "+kind, err)
}

// RequireAffected is wrap for an update or delete of one resource: no affected row is a
// CodeNotFound error.
func RequireAffected(kind, what string, res sql.Result, err error) error {
	if err != nil {
		return Wrap(what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return vigil.NotFound(kind)
	}
	return Wrap(what, err)
}

// Violates reports whether err is a violation of the constraint or unique index of that
// name.
func Violates(err error, constraint string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.ConstraintName == constraint
}

// IsNoRow says whether a query found nothing.
func IsNoRow(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// Retryable reports whether a retry may succeed: Postgres is unreachable, is short of
// resources or had a conflict between transactions. Errors about the rows themselves are
// not retryable.
func Retryable(err error) bool {
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
	return pgconn.SafeToRetry(err) || IsTimeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn)
}

// IsTimeout reports whether a query had no time left.
func IsTimeout(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// IsLockTimeout reports whether a statement gave up waiting for a lock, or was chosen to
// end a deadlock.
func IsLockTimeout(err error) bool {
	const lockNotAvailable, deadlockDetected = "55P03", "40P01" // of the Postgres manual, appendix A
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == lockNotAvailable || refused.Code == deadlockDetected)
}
