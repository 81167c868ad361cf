// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// StreamHeads returns the position of the newest event of each organization that
// has had one.
func (s *Store) StreamHeads(ctx context.Context, orgs []uuid.UUID) (map[uuid.UUID]vigil.Position, error) {
	var rows []struct {
		OrgID uuid.UUID `bun:"org_id"`
		MS    int64     `bun:"ms"`
		Seq   int64     `bun:"seq"`
	}
	err := s.db.NewRaw("SELECT org_id, ms, seq FROM stream_heads WHERE org_id = ANY(?)", pgdialect.Array(orgs)).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("read the streams' heads", err)
	}
	heads := make(map[uuid.UUID]vigil.Position, len(rows))
	for _, row := range rows {
		heads[row.OrgID] = vigil.Position{MS: row.MS, Seq: row.Seq}
	}
	return heads, nil
}

// ListenEvents calls wake with the organization of each event that is committed
// from now on, on a connection of its own. It returns an error when ctx ends or
// the connection is lost, which it checks every 10 s. Events that are committed before
// it is called again are not reported. wake must not block.
//
// Behind a transaction-pooling proxy no connection can listen: it waits until ctx ends,
// and streams find events by their poll.
func (s *Store) ListenEvents(ctx context.Context, wake func(orgID uuid.UUID)) error {
	if s.db.Pooled() {
		<-ctx.Done()
		return pg.Wrap("listen for events", context.Cause(ctx))
	}
	pooled, err := s.db.Pool.Acquire(ctx)
	if err != nil {
		return pg.Wrap("listen for events", err)
	}
	conn := pooled.Hijack() // the pool replaces it, so that a listener blocks no query
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenerTimeout)
		defer cancel()
		if err := conn.Close(clean); err != nil {
			s.db.Log.DebugContext(clean, "the connection of the event listener was not closed cleanly", "error", err)
		}
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{EventChannel}.Sanitize()); err != nil {
		return pg.Wrap("listen for events", err)
	}
	for {
		notice, err := nextNotice(ctx, conn)
		if err != nil {
			return pg.Wrap("listen for events", err)
		}
		if id, err := uuid.Parse(notice.Payload); err == nil {
			wake(id)
		}
	}
}

const (
	listenerCheck   = 10 * time.Second // between two pings while nothing comes
	listenerTimeout = 2 * time.Second  // for the answer to a ping, and for closing the connection
)

// nextNotice waits for a notification. While none comes it pings the server, which is the
// only way to find that it is unreachable.
func nextNotice(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, listenerCheck)
		notice, err := conn.WaitForNotification(waiting)
		cancel()
		if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
			return notice, err
		}
		bounded, cancel := context.WithTimeout(ctx, listenerTimeout)
		err = conn.Ping(bounded)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}
