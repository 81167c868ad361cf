// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// renewSweep does a whole renewal in one statement, which no crash of the process can leave
// half done. At rest it writes the row of the process and nothing else.
//
//   - clock: one instant for all parts.
//   - renewed: the term goes on, or the process begins another one. There is no row when another
//     renewal of this process came between the snapshot of the statement and the lock of the
//     row: what the statement has read of its shards may be old then, and it does nothing.
//   - dead, buried: terms that have ended are deleted, under the lock of their row, so that a
//     process that is late either renews its term or finds it gone. Only then are its shards free.
//   - share: how many shards each live process may have.
//   - mine: only the process itself gives shards of a living term away, under the lock of its row,
//     so these are its shards now.
//   - given: what the process says that it does not work on any more is free for the others. A
//     fence distinguishes it from what the process has taken since.
//   - free, taken: a process that takes a shard changes its fence. So one that has still the fence of the
//     snapshot once its row is locked is still free, and no shard is taken twice.
//
// Only the row of the process itself is waited for.
const renewSweep = `WITH clock AS MATERIALIZED (
		SELECT now, now + $2 * interval '1 millisecond' AS until FROM (SELECT clock_timestamp() AS now) AS instant
	),
	before AS MATERIALIZED (SELECT term, renewals, expires_at > now AS alive FROM sweep_processes, clock WHERE name = $1),
	renewed AS (
		INSERT INTO sweep_processes AS p (name, expires_at) SELECT $1, until FROM clock
		ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at, renewals = p.renewals + 1,
			term = CASE WHEN (SELECT alive FROM before) THEN p.term ELSE excluded.term END
		WHERE p.renewals = (SELECT renewals FROM before) RETURNING p.term
	),
	dead AS MATERIALIZED (
		SELECT p.name FROM sweep_processes AS p, clock, renewed WHERE p.name <> $1 AND p.expires_at <= now FOR UPDATE OF p SKIP LOCKED
	),
	buried AS (DELETE FROM sweep_processes AS p USING dead WHERE p.name = dead.name RETURNING p.term),
	owned AS MATERIALIZED (
		SELECT term FROM sweep_processes WHERE term NOT IN (SELECT term FROM buried) AND (name <> $1 OR (SELECT alive FROM before))
	),
	share AS MATERIALIZED (
		SELECT ceil((SELECT count(*) FROM sweep_leases)::numeric
			/ (1 + (SELECT count(*) FROM sweep_processes WHERE name <> $1 AND expires_at > now)))::int AS size FROM clock
	),
	mine AS MATERIALIZED (
		SELECT l.shard, l.fence FROM sweep_leases AS l JOIN renewed USING (term) JOIN before USING (term) WHERE before.alive
	),
	parting AS MATERIALIZED (
		SELECT l.shard FROM sweep_leases AS l JOIN mine USING (shard)
			JOIN unnest($3::int[], $4::bigint[]) AS unused (shard, fence) ON unused.shard = mine.shard AND unused.fence = mine.fence
		FOR UPDATE OF l SKIP LOCKED
	),
	given AS (UPDATE sweep_leases AS l SET term = NULL FROM parting WHERE l.shard = parting.shard RETURNING l.shard),
	free AS MATERIALIZED (SELECT shard, fence FROM sweep_leases AS l WHERE NOT EXISTS (SELECT FROM owned WHERE owned.term = l.term)),
	chosen AS MATERIALIZED (
		SELECT l.shard FROM sweep_leases AS l JOIN free ON free.shard = l.shard AND free.fence = l.fence, renewed ORDER BY random()
		LIMIT (SELECT greatest(size - (SELECT count(*) FROM mine), 0) FROM share) FOR UPDATE OF l SKIP LOCKED
	),
	taken AS (
		UPDATE sweep_leases AS l SET term = renewed.term, fence = l.fence + 1 FROM chosen, renewed
		WHERE l.shard = chosen.shard RETURNING l.shard, l.fence
	)
	SELECT share.size, held.shard, held.fence FROM share CROSS JOIN renewed LEFT JOIN (
		SELECT shard, fence FROM mine WHERE shard NOT IN (SELECT shard FROM given) UNION ALL SELECT shard, fence FROM taken
	) AS held ON true ORDER BY held.shard`

// RenewSweep renews the term in which a control process has shards of the sweep, frees those
// that it names as unused, takes free ones up to its share (the number of shards by that of
// live processes, rounded up), and returns what it has. The term ends length after this call
// reached the database, by the database's clock. A process that comes back after the end of its
// term has the shards that no other one took with a new fence. When another renewal of the same
// process, such as one that was given up, is carried out at the same time, the error is
// vigil.CodeUnavailable.
func (s *Store) RenewSweep(
	ctx context.Context, process string, unused []fleet.SweepLease, length time.Duration,
) (share fleet.SweepShare, err error) {
	shards, fences := make([]int, len(unused)), make([]int64, len(unused))
	for i, lease := range unused {
		shards[i], fences[i] = lease.Shard, lease.Fence
	}
	rows, err := s.db.Probing.Query(ctx, renewSweep, process, pg.Milliseconds(length), shards, fences)
	if err != nil {
		return share, pg.Wrap("renew the sweep's leases", err)
	}
	var shard *int
	var fence *int64
	tag, err := pgx.ForEachRow(rows, []any{&share.Size, &shard, &fence}, func() error {
		if shard != nil && fence != nil { // else it is the row of a process without a shard
			share.Leases = append(share.Leases, fleet.SweepLease{Shard: *shard, Fence: *fence})
		}
		return nil
	})
	if err == nil && tag.RowsAffected() == 0 {
		err = vigil.Errorf(vigil.CodeUnavailable, "Another renewal of the sweep's leases of %s was carried out at the same time.", process)
	}
	return share, pg.Wrap("renew the sweep's leases", err)
}

// ReleaseSweep ends the term of a control process that stops: its shards are free, and another
// one need not wait for the end of its leases.
func (s *Store) ReleaseSweep(ctx context.Context, process string) error {
	_, err := s.db.Probing.Exec(ctx, "DELETE FROM sweep_processes WHERE name = $1", process)
	return pg.Wrap("release the sweep's leases", err)
}

// InShards is the condition that a check is of the given shards; see fleet.SweepShard.
// column holds the check's ID.
func InShards(column string, shards []int) schema.QueryWithArgs {
	return bun.SafeQuery("(get_byte(uuid_send("+column+"), 15) % ?) = ANY(?::int[])",
		fleet.SweepShards, pgdialect.Array(append([]int{}, shards...)))
}

// Fenced is the condition that no other process has taken the shard of a lease.
func Fenced(lease fleet.SweepLease) schema.QueryWithArgs {
	return bun.SafeQuery("EXISTS (SELECT FROM sweep_leases WHERE shard = ? AND fence = ?)", lease.Shard, lease.Fence)
}

// AdvanceTemporalGeneration records that Temporal's store is of the next generation. If
// an older one was known, it has lost its workflows: all active loops lag from now on,
// and open incidents and deliveries count as stalled. Nothing changes when the
// generation has advanced already, or when the lease is of an older fence; changed is
// false then.
func (s *Store) AdvanceTemporalGeneration(ctx context.Context, lease fleet.SweepLease, to int64) (changed bool, err error) {
	res, err := s.db.NewRaw(`UPDATE temporal_generation SET generation = ?0,
			lost_at = CASE WHEN generation > 0 THEN clock_timestamp() ELSE lost_at END
		WHERE generation = ?0 - 1 AND ?1`, to, Fenced(lease)).Exec(ctx)
	if err != nil {
		return false, pg.Wrap("advance the generation of Temporal's store", err)
	}
	n, err := res.RowsAffected()
	return n > 0, pg.Wrap("advance the generation of Temporal's store", err)
}

// LostSince is the condition that a row was last swept, or had its last progress, before
// Temporal's store lost its workflows.
const LostSince = "swept_at < (SELECT lost_at FROM temporal_generation)"
