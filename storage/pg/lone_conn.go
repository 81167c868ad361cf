// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// loneConn is a connection that is not in a pool, such as the one that renews leases: when Postgres
// stops answering without an error, the places of a pool are taken by connections that are
// closed or opened, for seconds each, and the next renewal would wait for one.
type loneConn struct {
	connect func(context.Context) (*pgx.Conn, error)
	// patience is how long a use waits for a connection, which is made meanwhile and is there for a later use; 0: until its
	// context ends, and it is then given up. An address may lead to a server that hangs before one that answers.
	patience time.Duration

	mu     sync.Mutex
	conn   *pgx.Conn   // nil: not connected
	making chan dialed // nil: no connection is being made
	closed bool
}

// dialed is what came of connecting.
type dialed struct {
	conn *pgx.Conn
	err  error
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
		conn, err := l.dial(ctx)
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

// dialLimit bounds a connection that is made while none waits for it.
const dialLimit = 15 * time.Second

// dial connects. The caller holds mu.
func (l *loneConn) dial(ctx context.Context) (*pgx.Conn, error) {
	if l.patience == 0 {
		return l.connect(ctx)
	}
	if l.making == nil {
		made := make(chan dialed, 1)
		l.making = made
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialLimit)
			defer cancel()
			conn, err := l.connect(ctx)
			made <- dialed{conn, err}
		}()
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	select {
	case made := <-l.making:
		l.making = nil
		return made.conn, made.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
	if making := l.making; making != nil {
		go func() {
			if made := <-making; made.conn != nil {
				_ = made.conn.Close(context.Background()) // it was never used
			}
		}()
	}
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = l.conn.Close(ctx) // the process ends
	l.conn = nil
}
