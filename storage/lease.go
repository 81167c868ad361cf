package storage

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

// RenewLease says that a worker is alive and serves these regions, by the
// database's clock, and which check types its machine cannot run; leases of it
// for other regions end.
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

// ReleaseLease says that a worker has stopped. The lease of a region stays, to
// fall silent, while loops there are its own: their turns may have been lost in the
// stop, and whoever reads the orphans of a silent lease finds those that no other
// worker has claimed by then.
func (s *Store) ReleaseLease(ctx context.Context, worker string) error {
	_, err := s.db.NewRaw(`DELETE FROM worker_leases AS l WHERE worker = ? AND NOT EXISTS (
		SELECT FROM check_regions AS r WHERE r.active AND r.worker = l.worker AND r.region = l.region)`, worker).Exec(ctx)
	return wrap("release the lease", err)
}

// SilentLeases returns the leases that were neither given back nor renewed for
// longer than silence.
func (s *Store) SilentLeases(ctx context.Context, silence time.Duration) ([]vigil.Lease, error) {
	var rows []leaseRow
	err := s.db.NewRaw(`SELECT worker, region FROM worker_leases
		WHERE renewed_at < clock_timestamp() - ? * interval '1 millisecond' ORDER BY worker, region`,
		milliseconds(silence)).Scan(ctx, &rows)
	return leasesOf(rows), wrap("find silent leases", err)
}

// LiveLeases returns the leases that were renewed within silence.
func (s *Store) LiveLeases(ctx context.Context, silence time.Duration) ([]vigil.Lease, error) {
	var rows []leaseRow
	err := s.db.NewRaw(`SELECT worker, region FROM worker_leases
		WHERE renewed_at >= clock_timestamp() - ? * interval '1 millisecond' ORDER BY worker, region`,
		milliseconds(silence)).Scan(ctx, &rows)
	return leasesOf(rows), wrap("find live leases", err)
}

// leaseRow is a worker's word for a region.
type leaseRow struct{ Worker, Region string }

func leasesOf(rows []leaseRow) []vigil.Lease {
	leases := make([]vigil.Lease, len(rows))
	for i, row := range rows {
		leases[i] = vigil.Lease{Worker: row.Worker, Region: row.Region}
	}
	return leases
}

// ForgetLease removes one lease of a worker that is gone, unless it was renewed
// meanwhile.
func (s *Store) ForgetLease(ctx context.Context, lease vigil.Lease, silence time.Duration) error {
	_, err := s.db.NewRaw(`DELETE FROM worker_leases WHERE worker = ? AND region = ?
		AND renewed_at < clock_timestamp() - ? * interval '1 millisecond'`,
		lease.Worker, lease.Region, milliseconds(silence)).Exec(ctx)
	return wrap("forget a lease", err)
}

// claimBatch bounds the loops that a claim holds up at once.
const claimBatch = 500

// ClaimLoops notes that a worker has the turns of these loops of a region, before
// it has stored a result of theirs. It takes their rows in the order in which
// groups of results do, so that neither ever waits for the other in a circle.
func (s *Store) ClaimLoops(ctx context.Context, lease vigil.Lease, checks []uuid.UUID) error {
	checks = slices.Clone(checks)
	slices.SortFunc(checks, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for some := range slices.Chunk(checks, claimBatch) {
		_, err := s.db.NewRaw(`WITH k AS MATERIALIZED (
				SELECT check_id, region FROM check_regions WHERE region = ?1 AND check_id = ANY(?2::uuid[]) AND worker <> ?0
				ORDER BY check_id, region FOR UPDATE
			)
			UPDATE check_regions AS r SET worker = ?0 FROM k WHERE r.check_id = k.check_id AND r.region = k.region`,
			lease.Worker, lease.Region, pgdialect.Array(some)).Exec(ctx)
		if err != nil {
			return wrap("claim loops", err)
		}
	}
	return nil
}

// AbandonedLoops returns the active loops of a region that a silent worker had, and
// those that no worker with a lease has, the ones due next first.
func (s *Store) AbandonedLoops(ctx context.Context, lease vigil.Lease) ([]vigil.Loop, error) {
	var rows []loopRow
	err := s.selectLoops(&rows).Where("r.active AND r.region = ?", lease.Region).
		Where(`r.worker = ? OR NOT EXISTS (
			SELECT FROM worker_leases AS l WHERE l.worker = r.worker AND l.region = r.region)`, lease.Worker).
		OrderExpr("r.next_due, r.check_id").Scan(ctx)
	return loopsOf(rows), wrap("read the loops of a silent worker", err)
}

// LiveRegions returns the regions of which a worker renewed a lease within
// silence, each with the check types that one of its workers cannot run, sorted.
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
