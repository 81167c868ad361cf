package storage

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

// RenewLease renews a worker's leases of these regions, stamped by the database's clock,
// and stores which check types its machine cannot run. Leases of the worker for other
// regions are deleted.
func (s *Store) RenewLease(ctx context.Context, worker string, regions []string, unavailable ...vigil.CheckType) error {
	_, err := s.probing.Exec(ctx, `WITH other AS (
			DELETE FROM worker_leases WHERE worker = $1::text AND region <> ALL($2::text[])
		)
		INSERT INTO worker_leases (worker, region, renewed_at, unavailable_types)
		SELECT $1::text, region, clock_timestamp(), $3::text[] FROM unnest($2::text[]) AS region
		ON CONFLICT (worker, region) DO UPDATE
		SET renewed_at = excluded.renewed_at, unavailable_types = excluded.unavailable_types`,
		worker, append([]string{}, regions...), append([]vigil.CheckType{}, unavailable...))
	return wrap("renew the lease", err)
}

// ReleaseLease deletes the leases of a worker that has stopped, except those of regions
// where active loops still belong to it. The turns of these loops may have been lost
// when it stopped: their lease expires, and AbandonedLoops then returns the loops that no
// other worker has claimed.
func (s *Store) ReleaseLease(ctx context.Context, worker string) error {
	_, err := s.db.NewRaw(`DELETE FROM worker_leases AS l WHERE worker = ? AND NOT EXISTS (
		SELECT FROM check_regions AS r WHERE r.active AND r.worker = l.worker AND r.region = l.region)`, worker).Exec(ctx)
	return wrap("release the lease", err)
}

// SilentLeases returns the leases that were neither released nor renewed for longer than
// silence.
func (s *Store) SilentLeases(ctx context.Context, silence time.Duration) ([]vigil.Lease, error) {
	var rows []leaseRow
	err := s.db.NewRaw(`SELECT worker, region FROM worker_leases
		WHERE renewed_at < clock_timestamp() - ? * interval '1 millisecond' ORDER BY worker, region`,
		milliseconds(silence)).Scan(ctx, &rows)
	return leasesOf(rows), wrap("find silent leases", err)
}

// LiveLeases returns the leases that were renewed within the duration silence.
func (s *Store) LiveLeases(ctx context.Context, silence time.Duration) ([]vigil.Lease, error) {
	var rows []leaseRow
	err := s.db.NewRaw(`SELECT worker, region FROM worker_leases
		WHERE renewed_at >= clock_timestamp() - ? * interval '1 millisecond' ORDER BY worker, region`,
		milliseconds(silence)).Scan(ctx, &rows)
	return leasesOf(rows), wrap("find live leases", err)
}

type leaseRow struct{ Worker, Region string }

func leasesOf(rows []leaseRow) []vigil.Lease {
	leases := make([]vigil.Lease, len(rows))
	for i, row := range rows {
		leases[i] = vigil.Lease{Worker: row.Worker, Region: row.Region}
	}
	return leases
}

// ForgetLease deletes the lease of a worker that was not renewed within silence, once
// there are no abandoned loops for it in any shard.
func (s *Store) ForgetLease(ctx context.Context, lease vigil.Lease, silence time.Duration) error {
	_, err := s.db.NewRaw(`DELETE FROM worker_leases AS l WHERE l.worker = ?0 AND l.region = ?1
			AND l.renewed_at < clock_timestamp() - ?2 * interval '1 millisecond'
			AND NOT EXISTS (SELECT FROM check_regions AS r WHERE `+abandoned+`)`,
		lease.Worker, lease.Region, milliseconds(silence)).Exec(ctx)
	return wrap("delete a lease", err)
}

// abandoned is the condition that a loop (r) must be nudged because the lease (l) is
// silent: it belongs to the worker of the lease or to a worker without one, and was not
// nudged since the lease counts as silent. Argument 2 is that time in milliseconds.
const abandoned = `r.active AND r.region = l.region
	AND (r.worker = l.worker OR NOT EXISTS (SELECT FROM worker_leases AS o WHERE o.worker = r.worker AND o.region = r.region))
	AND (r.nudged_at IS NULL OR r.nudged_at < l.renewed_at + ?2 * interval '1 millisecond')`

// claimBatch is how many loops one statement of ClaimLoops locks.
const claimBatch = 500

// ClaimLoops records that a worker runs the turns of these loops of a region, before it
// stores their first result. It does not wait for loops that another transaction has
// locked, since a worker renews its lease between two calls: when it had to leave some
// out, it returns a CodeUnavailable error, and another call claims the rest.
func (s *Store) ClaimLoops(ctx context.Context, lease vigil.Lease, checks []uuid.UUID) error {
	left := 0
	for batch := range slices.Chunk(checks, claimBatch) {
		var locked int
		err := s.db.NewRaw(`WITH k AS MATERIALIZED (
				SELECT check_id, region FROM check_regions WHERE region = ?1 AND check_id = ANY(?2::uuid[]) AND worker <> ?0
				FOR UPDATE SKIP LOCKED
			), u AS (
				UPDATE check_regions AS r SET worker = ?0 FROM k WHERE r.check_id = k.check_id AND r.region = k.region RETURNING 1
			)
			SELECT (SELECT count(*) FROM check_regions WHERE region = ?1 AND check_id = ANY(?2::uuid[]) AND worker <> ?0)
				- (SELECT count(*) FROM u)`,
			lease.Worker, lease.Region, pgdialect.Array(batch)).Scan(ctx, &locked)
		if err != nil {
			return wrap("claim loops", err)
		}
		left += max(locked, 0)
	}
	if left > 0 {
		return vigil.Errorf(vigil.CodeUnavailable, "%d loops are locked by another transaction.", left)
	}
	return nil
}

// AbandonedLoops returns up to limit active loops of a region and these shards that belong
// to the worker of a lease that was not renewed within silence, or to a worker without a
// lease, ordered by their next slot. Those that were nudged since are left out.
func (s *Store) AbandonedLoops(
	ctx context.Context, lease vigil.Lease, silence time.Duration, shards []int, limit int,
) ([]vigil.Loop, error) {
	var rows []loopRow
	err := s.selectLoops(&rows).
		Join("JOIN worker_leases AS l ON l.worker = ?0 AND l.region = ?1 AND "+abandoned, lease.Worker, lease.Region, milliseconds(silence)).
		Where("l.renewed_at < clock_timestamp() - ? * interval '1 millisecond'", milliseconds(silence)).
		Where("?", inShards("r.check_id", shards)).
		OrderExpr("r.next_due, r.check_id").Limit(int64(limit)).Scan(ctx)
	return loopsOf(rows), wrap("read abandoned loops", err)
}

// LiveRegions returns the regions with a lease renewed within silence. Each maps to the
// check types, sorted, that at least one of its workers cannot run.
func (s *Store) LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error) {
	var rows []struct {
		Region      string
		Unavailable []vigil.CheckType `bun:",array"`
	}
	err := s.db.NewRaw(`SELECT region, coalesce(array_agg(DISTINCT type) FILTER (WHERE type IS NOT NULL), '{}') AS unavailable
		FROM worker_leases LEFT JOIN LATERAL unnest(unavailable_types) AS type ON true
		WHERE renewed_at >= clock_timestamp() - ? * interval '1 millisecond' GROUP BY region`,
		milliseconds(silence)).Scan(ctx, &rows)
	live := make(map[string][]vigil.CheckType, len(rows))
	for _, row := range rows {
		live[row.Region] = row.Unavailable
	}
	return live, wrap("find live regions", err)
}
