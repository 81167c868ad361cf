package storage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"vigil"
)

const (
	releaseTimeout = 5 * time.Second // for closing the connection that holds the lock
	pingTimeout    = 2 * time.Second // for its answer to Held
)

// Leader tries to take the advisory lock of a name; ok reports whether it succeeded.
// The lock belongs to one connection and ends when it is released or that connection
// is lost. The holder notices a lost connection only by calling Held, so two processes
// may be leader for a while: what leaders do must be safe to do twice.
func (s *Store) Leader(ctx context.Context, name string) (held Leadership, ok bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, wrap("take the leader lock", err)
	}
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", "vigil leader "+name).Scan(&ok)
	if err != nil || !ok {
		conn.Release()
		return nil, false, wrap("take the leader lock", err)
	}
	return &leadership{conn: conn, log: s.log}, true, nil
}

// Leadership is a lock that one process holds at a time. It is an alias, so that a
// caller can name it by an interface of its own.
type Leadership = interface {
	// Held returns nil while the lock is held. The lock is lost with its connection,
	// without a notice to the holder.
	Held(ctx context.Context) error
	// Release gives the lock up. A second call does nothing.
	Release()
}

// leadership is a session with an advisory lock.
type leadership struct {
	log *slog.Logger

	mu   sync.Mutex // a connection has one user at a time
	conn *pgxpool.Conn
}

// Held returns nil while the lock is held: it pings the server over the connection that
// has the lock. After Release it is a CodeConflict error.
func (l *leadership) Held(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return vigil.Errorf(vigil.CodeConflict, "The leadership was given up.")
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return wrap("check the leader lock", l.conn.Ping(ctx))
}

// Release closes the connection, which releases the lock even when the connection is
// broken. A second call does nothing.
func (l *leadership) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := l.conn.Conn().Close(ctx); err != nil {
		l.log.DebugContext(ctx, "closing the leader's connection failed", "error", err)
	}
	l.conn.Release()
	l.conn = nil
}
