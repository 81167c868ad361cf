package storage

import (
	"context"
	"sync"
	"time"
)

// leaderPatience bounds how long giving up leadership may take.
const leaderPatience = 5 * time.Second

// Leader tries to become the only holder of a name; ok says whether it did. The
// lock lives on a connection of its own until release is called or the
// connection is lost. Its loss is not told, so two leaders at once must be
// harmless.
func (s *Store) Leader(ctx context.Context, name string) (release func(), ok bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, false, wrap("elect a leader", err)
	}
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", "vigil leader "+name).Scan(&ok)
	if err != nil || !ok {
		conn.Release()
		return func() {}, false, wrap("elect a leader", err)
	}
	var once sync.Once
	return func() {
		once.Do(func() {
			// Closing the connection gives the lock up whatever state it is in.
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaderPatience)
			defer cancel()
			if err := conn.Conn().Close(clean); err != nil {
				s.log.DebugContext(clean, "leader's connection did not close well", "error", err)
			}
			conn.Release()
		})
	}, true, nil
}
