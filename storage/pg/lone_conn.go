// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// loneConn is a connection that is not in a pool, such as the one that renews leases: when Postgres
// stops answering without an error, the places of a pool are taken by connections that are
// closed or opened, for seconds each, and the next renewal would wait for one.
type loneConn struct {
	connect func(context.Context) (*pgx.Conn, error)

	mu     sync.Mutex
	conn   *pgx.Conn // nil: not connected
	closed bool
}

// errStoreClosed is the error of a use after Close.
var errStoreClosed = errors.New("the database is closed")

// Renewing calls fn with the connection that renews leases.
func (d *DB) Renewing(ctx context.Context, fn func(*pgx.Conn) error) error {
	return d.leases.use(ctx, fn)
}

// use calls fn with the connection, and connects first where needed. After an error that
// does not come from Postgres itself the connection is given up.
func (l *loneConn) use(ctx context.Context, fn func(*pgx.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errStoreClosed
	}
	if l.conn == nil || l.conn.IsClosed() {
		conn, err := l.connect(ctx)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		l.conn = conn
	}
	err := fn(l.conn)
	if _, refused := errors.AsType[*pgconn.PgError](err); err != nil && !refused {
		l.leave(ctx)
	}
	return err
}

// renew has the next use connect again.
func (l *loneConn) renew(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(ctx)
}

// leave gives the connection up, without waiting for Postgres. The caller holds mu.
func (l *loneConn) leave(ctx context.Context) {
	conn := l.conn
	l.conn = nil
	if conn == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		_ = conn.Close(ctx) // it failed already
	}()
}

// close closes the connection permanently.
func (l *loneConn) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = l.conn.Close(ctx) // the process ends
	l.conn = nil
}
