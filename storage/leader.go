package storage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"vigil"
)

// leaderPatience bounds how long giving up leadership may take, and heldPatience
// how long the connection that holds it may take to answer.
const (
	releaseTimeout = 5 * time.Second
	pingTimeout    = 2 * time.Second
)

// Leader tries to become the only holder of a name; ok says whether it did. The
// lock lives on a connection of its own until it is released or the connection
// is lost. The loss shows when Held is asked, not before, so two leaders at once
// must be harmless.
func (s *Store) Leader(ctx context.Context, name string) (held vigil.Leadership, ok bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, wrap("elect a leader", err)
	}
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", "vigil leader "+name).Scan(&ok)
	if err != nil || !ok {
		conn.Release()
		return nil, false, wrap("elect a leader", err)
	}
	return &leadership{conn: conn, log: s.log}, true, nil
}

// leadership is a session with an advisory lock.
type leadership struct {
	log *slog.Logger

	mu   sync.Mutex // a connection has one user at a time
	conn *pgxpool.Conn
}

// Held asks the server over the connection that has the lock: a session that
// answers has it still.
func (l *leadership) Held(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return vigil.Errorf(vigil.CodeConflict, "The leadership was given up.")
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return wrap("ask after the leadership", l.conn.Ping(ctx))
}

// Release closes the connection, which gives the lock up whatever state it is in.
func (l *leadership) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := l.conn.Conn().Close(ctx); err != nil {
		l.log.DebugContext(ctx, "leader's connection did not close well", "error", err)
	}
	l.conn.Release()
	l.conn = nil
}
