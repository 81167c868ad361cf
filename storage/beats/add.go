// SPDX-License-Identifier: Apache-2.0

package beats

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file stores pings, by token and by slug. Those that come within batchEvery share a transaction, since a commit
// costs about as much for one as for hundreds; one that comes alone is stored at once.
const (
	batchEvery = 150 * time.Millisecond
	batchLimit = 500
	// pingLimit bounds how long a statement may take that stores pings. A client that got no answer tries again.
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
	hash []byte // of the token of a heartbeat, or with a slug of a ping key
	slug string
	ping *vigil.Ping
	done chan pingOutcome // has a buffer of one
}

// pingOutcome is what became of a ping: stored when one heartbeat is found and err is nil.
type pingOutcome struct {
	key   account.PingKey // of a ping by slug, zero when the key is not known
	found int             // how many heartbeats the address is of, 2 for more
	err   error
}

// AddPing stores a ping for the heartbeat that has a token, by the hash of it. It is committed then. An unknown token
// is a CodeNotFound error. When ctx ends, or the database does not answer within five seconds, the ping may still be stored.
func (s *Store) AddPing(ctx context.Context, tokenHash []byte, p *vigil.Ping) error {
	out := s.add(ctx, &pendingPing{hash: tokenHash, ping: p})
	if out.err == nil && out.found == 0 {
		return vigil.NotFound("heartbeat")
	}
	return out.err
}

// AddSlugPing stores a ping for the heartbeat that has a slug in the organization of a ping key, by
// the hash of the key. It is committed then. An unknown key is a CodeNotFound error and returns no
// key. With the key, no heartbeat of that slug is a CodeNotFound error, and several are a
// CodeConflict one.
func (s *Store) AddSlugPing(ctx context.Context, keyHash []byte, slug string, p *vigil.Ping) (account.PingKey, error) {
	out := s.add(ctx, &pendingPing{hash: keyHash, slug: slug, ping: p})
	switch {
	case out.err != nil:
		return account.PingKey{}, out.err
	case out.key.ID == uuid.Nil:
		return account.PingKey{}, vigil.NotFound(resourcePingKey)
	case out.found == 1:
		return out.key, nil
	case out.found == 0:
		return out.key, vigil.Errorf(vigil.CodeNotFound, "No heartbeat has the slug %s; with ?create=1 the ping makes it.", slug)
	}
	return out.key, vigil.Errorf(vigil.CodeConflict,
		"Several heartbeats have the slug %s, so the ping is stored for none: rename one, or use its ping_url.", slug)
}

// add has a ping stored and waits for what becomes of it.
func (s *Store) add(ctx context.Context, pending *pendingPing) pingOutcome {
	pending.done = make(chan pingOutcome, 1)
	s.batch.mu.Lock()
	s.batch.waiting = append(s.batch.waiting, pending)
	begin := !s.batch.storing
	s.batch.storing = true
	s.batch.mu.Unlock()
	if begin {
		go s.storeBatches(context.WithoutCancel(ctx))
	}
	select {
	case out := <-pending.done:
		return out
	case <-ctx.Done():
		return pingOutcome{err: pg.Wrap("store a ping", ctx.Err())}
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
		if err := s.storeBatch(ctx, pings); err != nil {
			s.giveUp(err)
		}
	}
}

// giveUp ends the calls that wait while the database does not answer: they have waited as long as those that were tried.
func (s *Store) giveUp(err error) {
	s.batch.mu.Lock()
	pings := s.batch.waiting
	s.batch.waiting = nil
	s.batch.mu.Unlock()
	for _, p := range pings {
		p.done <- pingOutcome{err: pg.Wrap("store a ping", err)}
	}
}

// storeBatch stores pings and ends their calls. When they cannot be stored together, each is tried alone. The error says
// that the database does not answer.
func (s *Store) storeBatch(ctx context.Context, pings []*pendingPing) error {
	limited, cancel := context.WithTimeout(ctx, pingLimit)
	outcomes, err := s.insert(limited, pings)
	cancel()
	if err != nil && len(pings) > 1 && !pg.Retryable(err) {
		for i := range pings {
			if err := s.storeBatch(ctx, pings[i:i+1]); err != nil {
				for _, p := range pings[i+1:] {
					p.done <- pingOutcome{err: pg.Wrap("store a ping", err)}
				}
				return err
			}
		}
		return nil
	}
	for i, p := range pings {
		if err != nil {
			outcomes[i] = pingOutcome{err: pg.Wrap("store a ping", err)}
		}
		p.done <- outcomes[i]
	}
	if pg.Retryable(err) {
		return err
	}
	return nil
}

// insert stores pings with one statement, and returns for each what its address is of.
func (s *Store) insert(ctx context.Context, pings []*pendingPing) ([]pingOutcome, error) {
	var rows pingRows
	for _, p := range pings {
		rows.add(p)
	}
	outcomes := make([]pingOutcome, len(pings))
	found, err := s.db.Pool.Query(ctx, insertPings, s.db.Prepared(), rows.named())
	if err != nil {
		return outcomes, err
	}
	var n int
	var out pingOutcome
	_, err = pgx.ForEachRow(found, []any{&n, &out.key.ID, &out.key.OrgID, &out.key.Prefix, &out.found}, func() error {
		outcomes[n-1] = out
		return nil
	})
	return outcomes, err
}

// pingRows are pings as one array for each column.
type pingRows struct {
	hash, run        [][]byte
	slug, kind, body []string
	exit             []*int
	bytes            []int64
}

func (r *pingRows) add(p *pendingPing) {
	var run []byte
	if p.ping.Run != uuid.Nil {
		run = p.ping.Run[:]
	}
	r.hash, r.run, r.slug = append(r.hash, p.hash), append(r.run, run), append(r.slug, p.slug)
	r.kind, r.body = append(r.kind, string(p.ping.Kind)), append(r.body, p.ping.Body)
	r.exit, r.bytes = append(r.exit, p.ping.ExitCode), append(r.bytes, p.ping.Bytes)
}

func (r *pingRows) named() pg.Named {
	return pg.Named{"hash": r.hash, "slug": r.slug, "kind": r.kind, "exit": r.exit, "run": r.run, "body": r.body, "bytes": r.bytes}
}

// insertPings stores pings by the hashes of tokens, and by the hashes of ping keys with slugs. It returns for each known
// token and key how many heartbeats it finds: one is pinged.
const insertPings = "WITH " + receiving + `, p AS MATERIALIZED (
		SELECT * FROM unnest(
			@hash::bytea[], @slug::text[], @kind::text[], @exit::integer[], @run::bytea[], @body::text[], @bytes::bigint[]
		) WITH ORDINALITY AS p (hash, slug, kind, exit_code, run, body, bytes, n)
	), of AS MATERIALIZED (
		SELECT p.n, h.id AS check_id, '` + noUUID + `'::uuid AS key_id, '` + noUUID + `'::uuid AS org_id, '' AS prefix, 1 AS found
		FROM p JOIN heartbeats AS h ON h.token_hash = p.hash WHERE p.slug = ''
		UNION ALL
		SELECT p.n, f.ids[1], k.id, k.org_id, k.prefix, f.found
		FROM p JOIN ping_keys AS k ON k.key_hash = p.hash CROSS JOIN LATERAL (
			SELECT count(*)::integer AS found, array_agg(id) AS ids
			FROM (SELECT c.id` + ofSlug + ` = p.slug AND c.org_id = k.org_id LIMIT 2) AS two
		) AS f WHERE p.slug <> ''
	), stored AS (
		INSERT INTO pings (check_id, kind, exit_code, run, body, bytes)
		SELECT of.check_id, p.kind, p.exit_code, encode(p.run, 'hex')::uuid, p.body, p.bytes
		FROM receiving, of JOIN p USING (n) WHERE of.found = 1 ORDER BY n
	)
	SELECT n, key_id, org_id, prefix, found FROM of`

const noUUID = "00000000-0000-0000-0000-000000000000"
