package storage

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"vigil"
)

// renewSweep does a whole renewal in one statement, which no crash of the process can
// leave half done:
//
//   - clock: one instant for all parts. A lease is either held (renewed, given) or free
//     (taken) at it, so no row is updated twice.
//   - share: how many shards each live process may have.
//   - given: shards beyond the share are free for the others at once.
//   - taken: SKIP LOCKED leaves a shard to the process that is taking it. The others
//     check the row again once they have its lock, so no shard is taken twice.
const renewSweep = `WITH clock AS MATERIALIZED (
		SELECT now, now + $2 * interval '1 millisecond' AS until FROM (SELECT clock_timestamp() AS now) AS instant
	),
	alive AS (
		INSERT INTO sweep_processes (name, expires_at) SELECT $1, until FROM clock
		ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at
	),
	forgotten AS (DELETE FROM sweep_processes USING clock WHERE name <> $1 AND expires_at < now - interval '1 hour'),
	share AS MATERIALIZED (
		SELECT ceil((SELECT count(*) FROM sweep_leases)::numeric
			/ (1 + (SELECT count(*) FROM sweep_processes WHERE name <> $1 AND expires_at > now)))::int AS size FROM clock
	),
	mine AS MATERIALIZED (
		SELECT shard, row_number() OVER (ORDER BY shard) > size AS excess FROM sweep_leases, clock, share
		WHERE holder = $1 AND expires_at > now
	),
	given AS (
		UPDATE sweep_leases AS l SET holder = '', expires_at = '-infinity' FROM mine
		WHERE l.shard = mine.shard AND mine.excess AND l.holder = $1
	),
	renewed AS (
		UPDATE sweep_leases AS l SET expires_at = until FROM mine, clock
		WHERE l.shard = mine.shard AND NOT mine.excess AND l.holder = $1 AND l.expires_at > now RETURNING l.shard, l.fence
	),
	free AS (
		SELECT l.shard FROM sweep_leases AS l, clock WHERE l.expires_at <= now ORDER BY random()
		LIMIT (SELECT greatest(size - (SELECT count(*) FROM mine), 0) FROM share) FOR UPDATE OF l SKIP LOCKED
	),
	taken AS (
		UPDATE sweep_leases AS l SET holder = $1, fence = l.fence + 1, expires_at = until FROM free, clock
		WHERE l.shard = free.shard RETURNING l.shard, l.fence
	)
	SELECT shard, fence FROM renewed UNION ALL SELECT shard, fence FROM taken ORDER BY shard`

// RenewSweep renews the leases that a control process has of the sweep's shards, takes
// free ones up to its share (the number of shards by that of live processes, rounded
// up), gives away what exceeds it, and returns what it holds. The leases end length
// after this call reached the database, by the database's clock.
func (s *Store) RenewSweep(ctx context.Context, process string, length time.Duration) ([]vigil.SweepLease, error) {
	rows, err := s.probing.Query(ctx, renewSweep, process, milliseconds(length))
	if err != nil {
		return nil, wrap("renew the sweep's leases", err)
	}
	defer rows.Close()
	var leases []vigil.SweepLease
	for rows.Next() {
		var lease vigil.SweepLease
		if err := rows.Scan(&lease.Shard, &lease.Fence); err != nil {
			return nil, wrap("renew the sweep's leases", err)
		}
		leases = append(leases, lease)
	}
	return leases, wrap("renew the sweep's leases", rows.Err())
}

// ReleaseSweep gives up the shards of a control process that stops, so that another one
// need not wait for the end of its leases.
func (s *Store) ReleaseSweep(ctx context.Context, process string) error {
	_, err := s.probing.Exec(ctx, `WITH gone AS (DELETE FROM sweep_processes WHERE name = $1)
		UPDATE sweep_leases SET holder = '', expires_at = '-infinity' WHERE holder = $1`, process)
	return wrap("release the sweep's leases", err)
}

// inShards is the condition that a check is of the given shards; see vigil.SweepShard.
// column holds the check's ID.
func inShards(column string, shards []int) schema.QueryWithArgs {
	return bun.SafeQuery("(get_byte(uuid_send("+column+"), 15) % ?) = ANY(?::int[])",
		vigil.SweepShards, pgdialect.Array(append([]int{}, shards...)))
}

// fenced is the condition that no other process has taken the shard of a lease.
func fenced(lease vigil.SweepLease) schema.QueryWithArgs {
	return bun.SafeQuery("EXISTS (SELECT FROM sweep_leases WHERE shard = ? AND fence = ?)", lease.Shard, lease.Fence)
}

// AdvanceTemporalGeneration records that Temporal's store is of the next generation. If
// an older one was known, it has lost its workflows: all active loops lag from now on,
// and open incidents and deliveries count as stalled. Nothing changes when the
// generation has advanced already, or when the lease is of an older fence; changed is
// false then.
func (s *Store) AdvanceTemporalGeneration(ctx context.Context, lease vigil.SweepLease, to int64) (changed bool, err error) {
	res, err := s.db.NewRaw(`UPDATE temporal_generation SET generation = ?0,
			lost_at = CASE WHEN generation > 0 THEN clock_timestamp() ELSE lost_at END
		WHERE generation = ?0 - 1 AND ?1`, to, fenced(lease)).Exec(ctx)
	if err != nil {
		return false, wrap("advance the generation of Temporal's store", err)
	}
	n, err := res.RowsAffected()
	return n > 0, wrap("advance the generation of Temporal's store", err)
}

// lostSince is the condition that a row was last swept, or had its last progress, before
// Temporal's store lost its workflows.
const lostSince = "swept_at < (SELECT lost_at FROM temporal_generation)"
