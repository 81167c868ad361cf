// SPDX-License-Identifier: Apache-2.0

package beats

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file stores pings. Those that come within batchEvery share a transaction, since a commit costs
// about as much for one as for hundreds; one that comes alone is stored at once.
const (
	batchEvery = 50 * time.Millisecond
	batchLimit = 500
	// pingLimit bounds how long a ping may take to be stored. A client that got no answer tries again.
	pingLimit = 5 * time.Second
)

// A ping that is not committed yet cannot be read, and a deadline must not be judged without it.
// So the statement that stores a ping holds a lock that says since when, until the ping is committed; and pings
// count as received only up to the oldest of these locks. The lock is an advisory one: its first key is
// receivingClass, and its second the milliseconds since 1970 in 31 bits.
const (
	receivingClass = "1886940007" // "ping"
	receivingNow   = "((extract(epoch FROM clock_timestamp()) * 1000)::bigint & 2147483647)"
	// receiving takes the lock, before received_at has its value.
	receiving = "receiving AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(" + receivingClass + ", " + receivingNow + "::int))"
	// received is the instant before which all pings are committed that were received. The statement that reads
	// pings must begin after the one that has asked.
	received = "clock_timestamp() - interval '1 millisecond' * (SELECT coalesce(max((" + receivingNow + ` - objid::bigint) & 2147483647), 0)
		FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = ` + receivingClass + `
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
)

// batch are the pings that wait to be stored.
type batch struct {
	mu      sync.Mutex
	waiting []*pendingPing
	storing bool      // a goroutine stores what waits
	began   time.Time // when the newest transaction did
}

// pendingPing is a ping that a call waits for.
type pendingPing struct {
	token []byte
	ping  *vigil.Ping
	done  chan error // has a buffer of one
}

// AddPing stores a ping for the heartbeat that has a token, by the hash of it. It is committed then. An unknown token
// is a CodeNotFound error. When ctx ends, or after five seconds, the ping may still be stored.
func (s *Store) AddPing(ctx context.Context, tokenHash []byte, p *vigil.Ping) error {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	pending := &pendingPing{token: tokenHash, ping: p, done: make(chan error, 1)}
	s.batch.mu.Lock()
	s.batch.waiting = append(s.batch.waiting, pending)
	begin := !s.batch.storing
	s.batch.storing = true
	s.batch.mu.Unlock()
	if begin {
		go s.storeBatches(context.WithoutCancel(ctx))
	}
	select {
	case err := <-pending.done:
		return err
	case <-ctx.Done():
		return pg.Wrap("store a ping", ctx.Err())
	}
}

// storeBatches stores what waits, until nothing does.
func (s *Store) storeBatches(ctx context.Context) {
	for {
		s.batch.mu.Lock()
		pause := s.batch.began.Add(batchEvery).Sub(s.db.Now())
		s.batch.mu.Unlock()
		_ = timing.Sleep(ctx, min(pause, batchEvery)) // ctx does not end
		s.batch.mu.Lock()
		pings := s.batch.waiting[:min(len(s.batch.waiting), batchLimit)]
		s.batch.waiting = s.batch.waiting[len(pings):]
		s.batch.began, s.batch.storing = s.db.Now(), len(pings) > 0
		s.batch.mu.Unlock()
		if len(pings) == 0 {
			return
		}
		s.storeBatch(ctx, pings)
	}
}

// storeBatch stores pings and ends their calls. When they cannot be stored together, each is tried alone.
func (s *Store) storeBatch(ctx context.Context, pings []*pendingPing) {
	limited, cancel := context.WithTimeout(ctx, pingLimit)
	known, err := s.insert(limited, pings)
	cancel()
	if err != nil && len(pings) > 1 && !pg.Retryable(err) {
		for i := range pings {
			s.storeBatch(ctx, pings[i:i+1])
		}
		return
	}
	for i, p := range pings {
		if err == nil && !known[i] {
			p.done <- vigil.NotFound("heartbeat")
			continue
		}
		p.done <- pg.Wrap("store a ping", err)
	}
}

// insert stores pings and says for each whether its token is known.
func (s *Store) insert(ctx context.Context, pings []*pendingPing) (known []bool, err error) {
	var rows struct {
		token, run [][]byte
		kind, body []string
		exit       []*int
		bytes      []int64
	}
	for _, p := range pings {
		var run []byte
		if p.ping.Run != uuid.Nil {
			run = p.ping.Run[:]
		}
		rows.token, rows.run = append(rows.token, p.token), append(rows.run, run)
		rows.kind, rows.body = append(rows.kind, string(p.ping.Kind)), append(rows.body, p.ping.Body)
		rows.exit, rows.bytes = append(rows.exit, p.ping.ExitCode), append(rows.bytes, p.ping.Bytes)
	}
	stored, err := pg.Rows[int](ctx, s.db, "WITH "+receiving+`, of AS MATERIALIZED (
			SELECT p.*, h.id AS check_id FROM unnest(
				@token::bytea[], @kind::text[], @exit::integer[], @run::bytea[], @body::text[], @bytes::bigint[]
			) WITH ORDINALITY AS p (token, kind, exit_code, run, body, bytes, n), heartbeats AS h WHERE h.token_hash = p.token
		), stored AS (
			INSERT INTO pings (check_id, kind, exit_code, run, body, bytes)
			SELECT check_id, kind, exit_code, encode(run, 'hex')::uuid, body, bytes FROM receiving, of ORDER BY n
		)
		SELECT n FROM of`, pg.Named{
		"token": rows.token, "kind": rows.kind, "exit": rows.exit, "run": rows.run, "body": rows.body, "bytes": rows.bytes,
	})
	known = make([]bool, len(pings))
	for _, n := range stored {
		known[n-1] = true
	}
	return known, err
}
