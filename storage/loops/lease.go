// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// live is the condition of a live lease, with the placeholder of its timeout in
// milliseconds: it was renewed in time, by a worker whose clock can be used.
func live(timeout string) string {
	return fmt.Sprintf("(renewed_at >= clock_timestamp() - %s * interval '1 millisecond' AND abs(clock_difference_ms) <= %d)",
		timeout, pg.Milliseconds(fleet.ClockLimit))
}

// leasesByRegion are the leases, once for each region that they are for.
const leasesByRegion = "worker_leases CROSS JOIN LATERAL unnest(regions) AS region"

// RenewLease renews a worker's lease, stamped by the database's clock, on a connection of its
// own. It writes one row for all regions. A lease that was revoked, or deleted for a region,
// gets a new fence; while the clock of the worker is wrong, it stays revoked.
func (s *Store) RenewLease(ctx context.Context, r fleet.Renewal) (fleet.Grant, error) {
	grant := fleet.Grant{Fences: make(map[string]int64, len(r.Regions)), Revoked: make(map[string][]string)}
	err := s.db.Renewing(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `WITH renewed AS (
				INSERT INTO worker_leases AS l (worker, regions, renewed_at, unavailable_types, clock_difference_ms, build, blind_since)
				VALUES (@worker::text, @regions::text[], clock_timestamp(), @unavailable::text[], @difference_ms::bigint, @build::text,
					@blind_since::timestamptz)
				ON CONFLICT (worker) DO UPDATE
				SET renewed_at = excluded.renewed_at, unavailable_types = excluded.unavailable_types, regions = excluded.regions,
					clock_difference_ms = excluded.clock_difference_ms, build = excluded.build, blind_since = excluded.blind_since,
					granted_at = CASE WHEN l.revoked_at IS NULL AND excluded.regions <@ l.regions THEN l.granted_at
						ELSE excluded.granted_at END,
					fence = CASE WHEN l.revoked_at IS NOT NULL AND abs(excluded.clock_difference_ms) <= @limit_ms
						OR NOT excluded.regions <@ l.regions THEN excluded.fence ELSE l.fence END,
					revoked_at = CASE WHEN abs(excluded.clock_difference_ms) > @limit_ms THEN l.revoked_at END
				RETURNING regions, fence
			)
			SELECT region, fence, clock_timestamp(), (SELECT array_agg(DISTINCT o.build ORDER BY o.build) FROM worker_leases AS o
				WHERE o.revoked_at IS NOT NULL AND o.worker <> @worker::text AND region = ANY(o.regions))
			FROM renewed, unnest(renewed.regions) AS region`,
			s.db.Prepared(), pg.Named{
				"worker": r.Worker, "regions": append([]string{}, r.Regions...), "unavailable": names(r.Unavailable),
				"difference_ms": pg.Milliseconds(r.ClockDifference), "limit_ms": pg.Milliseconds(fleet.ClockLimit), "build": r.Build,
				"blind_since": vigil.NilIfZero(r.BlindSince),
			})
		if err != nil {
			return err
		}
		var region string
		var fence int64
		var revoked []string
		_, err = pgx.ForEachRow(rows, []any{&region, &fence, &grant.Clock, &revoked}, func() error {
			grant.Fences[region] = fence
			if len(revoked) > 0 {
				grant.Revoked[region] = revoked
			}
			return nil
		})
		return err
	})
	return grant, pg.Wrap("renew the lease", err)
}

// names returns types as texts, never nil: this connection prepares nothing, so the driver
// knows what to send by the Go type only.
func names(types []vigil.CheckType) []string {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = string(t)
	}
	return texts
}

// GiveUpLease revokes the lease of a worker that stops. It is not live from then on, so that
// other workers adopt its turns. What it has handed over is nudged unless another worker claims it
// within 3 s.
func (s *Store) GiveUpLease(ctx context.Context, worker string) error {
	_, err := s.db.NewRaw(`UPDATE worker_leases SET revoked_at = coalesce(revoked_at, clock_timestamp()), renewed_at = '-infinity'
		WHERE worker = ?`, worker).Exec(ctx)
	return pg.Wrap("give up the lease", err)
}

// ReleaseLease deletes the lease of a worker that has stopped, except for the regions
// where active loops still belong to it. The turns of these loops may have been lost
// when it stopped: their lease expires, and AbandonedLoops then returns the loops that no
// other worker has claimed.
func (s *Store) ReleaseLease(ctx context.Context, worker string) error {
	const loops = "SELECT FROM check_regions AS r WHERE r.active AND r.worker = l.worker AND r.worker_region = "
	_, err := s.db.NewRaw(`WITH gone AS (
			DELETE FROM worker_leases AS l WHERE worker = ?0 AND NOT EXISTS (`+loops+`ANY(l.regions))
		)
		UPDATE worker_leases AS l SET regions = ARRAY(SELECT k.region FROM unnest(l.regions) AS k (region) WHERE EXISTS (`+loops+`k.region))
		WHERE worker = ?0 AND EXISTS (`+loops+`ANY(l.regions))`, worker).Exec(ctx)
	return pg.Wrap("release the lease", err)
}

// SilentLeases returns the leases that were not released and are not live: not renewed
// for longer than silence, or held by a worker whose clock is wrong by more than
// fleet.ClockLimit.
func (s *Store) SilentLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error) {
	rows, err := pg.Rows[leaseRow](ctx, s.db,
		"SELECT worker, region FROM "+leasesByRegion+" WHERE NOT "+live("$1")+" ORDER BY worker, region", pg.Milliseconds(silence))
	return leasesOf(rows), pg.Wrap("find silent leases", err)
}

// LiveLeases returns the leases that were renewed within the duration silence, by
// workers whose clocks can be used.
func (s *Store) LiveLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error) {
	var rows []leaseRow
	err := s.db.NewRaw("SELECT worker, region FROM "+leasesByRegion+" WHERE "+live("?")+" ORDER BY worker, region",
		pg.Milliseconds(silence)).Scan(ctx, &rows)
	return leasesOf(rows), pg.Wrap("find live leases", err)
}

// RevokeLease revokes the lease of a worker that has one for a region and is not live, and
// reports whether it did: the worker gets a new fence with the next renewal, and ends the turns
// that it holds under the old one, in all of its regions, where it was silent too. The loops of
// a worker may be given to others only after that.
func (s *Store) RevokeLease(ctx context.Context, lease fleet.Lease, silence time.Duration) (bool, error) {
	res, err := s.db.NewRaw(`UPDATE worker_leases SET revoked_at = coalesce(revoked_at, clock_timestamp())
		WHERE worker = ? AND ? = ANY(regions) AND NOT `+live("?"), lease.Worker, lease.Region, pg.Milliseconds(silence)).Exec(ctx)
	if err != nil {
		return false, pg.Wrap("revoke a lease", err)
	}
	n, err := res.RowsAffected()
	return n > 0, pg.Wrap("revoke a lease", err)
}

type leaseRow struct{ Worker, Region string }

func leasesOf(rows []leaseRow) []fleet.Lease {
	leases := make([]fleet.Lease, len(rows))
	for i, row := range rows {
		leases[i] = fleet.Lease{Worker: row.Worker, Region: row.Region}
	}
	return leases
}

// ForgetLease deletes the lease of a worker for a region, when it was not renewed within
// silence, once there are no abandoned loops for it in any shard and other workers have claimed
// them all, or 30 s after it was revoked. With its last region the row is deleted.
func (s *Store) ForgetLease(ctx context.Context, lease fleet.Lease, silence time.Duration) error {
	const done = `l.worker = ?0 AND ?1 = ANY(l.regions) AND l.renewed_at < clock_timestamp() - ?2 * interval '1 millisecond'
			AND NOT EXISTS (SELECT FROM check_regions AS r WHERE r.worker_region = ?1 AND ` + abandoned + `)
			AND (l.revoked_at < clock_timestamp() - interval '30 s' OR NOT EXISTS (
				SELECT FROM check_regions AS r WHERE r.active AND r.worker = l.worker AND r.worker_region = ?1))`
	_, err := s.db.NewRaw(`WITH gone AS (DELETE FROM worker_leases AS l WHERE l.regions <@ ARRAY[?1::text] AND `+done+`)
		UPDATE worker_leases AS l SET regions = array_remove(l.regions, ?1::text) WHERE NOT l.regions <@ ARRAY[?1::text] AND `+done,
		lease.Worker, lease.Region, pg.Milliseconds(silence)).Exec(ctx)
	return pg.Wrap("delete a lease", err)
}

// abandoned is the condition that a loop (r) must be nudged because the lease (l) is
// silent: it belongs to the worker of the lease or to a worker without one, and was not
// nudged since the lease was revoked. A loop that no worker has claimed within 10 s is
// nudged again: its turn was given to the silent worker, which had asked for it before it
// was frozen. One that others may adopt is left to them for 5 s, counted from when a worker was
// there to do so. A worker that stopped has handed its turns over, and gets 3 s for that.
const abandoned = `NOT coalesce(r.worker = l.worker AND ` + adoptable + ` AND (
		l.revoked_at > clock_timestamp() - interval '5 s' OR NOT EXISTS (
			SELECT FROM worker_leases AS o
			WHERE r.worker_region = ANY(o.regions) AND o.revoked_at IS NULL AND o.granted_at < clock_timestamp() - interval '5 s')), false)
	AND (l.renewed_at > '-infinity' OR l.revoked_at < clock_timestamp() - interval '3 s')
	AND r.active AND r.worker_region = ANY(l.regions)
	AND (r.worker = l.worker OR NOT EXISTS (SELECT FROM worker_leases AS o WHERE o.worker = r.worker AND r.worker_region = ANY(o.regions)))
	AND (r.nudged_at IS NULL OR r.nudged_at < l.revoked_at OR r.nudged_at < clock_timestamp() - interval '10 s')`

// claimBatch is how many loops one statement of ClaimLoops locks.
const claimBatch = 500

// ClaimLoops records that a worker runs the turns of these loops of a region, before it
// stores their first result. It does not wait for loops that another transaction has
// locked, since a worker renews its lease between two calls: when it had to leave some
// out, it returns a CodeUnavailable error, and another call claims the rest.
func (s *Store) ClaimLoops(ctx context.Context, lease fleet.Lease, checks []uuid.UUID) error {
	left := 0
	for batch := range slices.Chunk(checks, claimBatch) {
		var locked int
		err := s.db.NewRaw(`WITH k AS MATERIALIZED (
				SELECT check_id, region FROM check_regions WHERE region = ?1 AND check_id = ANY(?2::uuid[]) AND worker <> ?0
				FOR UPDATE SKIP LOCKED
			), u AS (
				UPDATE check_regions AS r SET worker = ?0, adoption = NULL, turn_run = NULL, turn_activity = NULL, turn_ends = NULL
				FROM k WHERE r.check_id = k.check_id AND r.region = k.region RETURNING 1
			)
			SELECT (SELECT count(*) FROM check_regions WHERE region = ?1 AND check_id = ANY(?2::uuid[]) AND worker <> ?0)
				- (SELECT count(*) FROM u)`,
			lease.Worker, lease.Region, pgdialect.Array(batch)).Scan(ctx, &locked)
		if err != nil {
			return pg.Wrap("claim loops", err)
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
	ctx context.Context, lease fleet.Lease, silence time.Duration, shards []int, limit int,
) ([]vigil.Loop, error) {
	var rows []Row
	err := s.selectLoops(&rows).
		Join("JOIN worker_leases AS l ON l.worker = ?0 AND r.worker_region = ?1 AND "+abandoned, lease.Worker, lease.Region).
		Where("NOT "+live("?"), pg.Milliseconds(silence)).
		Where(notPutOff).
		Where("?", InShards("r.check_id", shards)).
		OrderExpr("r.next_due, r.check_id").Limit(int64(limit)).Scan(ctx)
	return loopsOf(rows), pg.Wrap("read abandoned loops", err)
}

// LiveRegions returns the regions with a live lease. Each maps to the
// check types, sorted, that at least one of its workers cannot run.
func (s *Store) LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error) {
	rows, err := pg.Rows[struct {
		Region      string   `bun:"region"`
		Unavailable []string `bun:"unavailable,array"`
	}](ctx, s.db, `SELECT region, coalesce(array_agg(DISTINCT type) FILTER (WHERE type IS NOT NULL), '{}') AS unavailable
		FROM `+leasesByRegion+` LEFT JOIN LATERAL unnest(unavailable_types) AS type ON true
		WHERE `+live("$1")+` GROUP BY region`, pg.Milliseconds(silence))
	live := make(map[string][]vigil.CheckType, len(rows))
	for _, row := range rows {
		types := make([]vigil.CheckType, len(row.Unavailable))
		for i, name := range row.Unavailable {
			types[i] = vigil.CheckType(name)
		}
		live[row.Region] = types
	}
	return live, pg.Wrap("find live regions", err)
}

// ClockDifferences returns, for each region, by how much the clock of a worker that
// renewed its lease within silence is ahead of the database's, negative when it is
// behind: the largest difference of all its workers, in milliseconds. Regions whose
// clocks are all within fleet.ClockTolerance are left out.
func (s *Store) ClockDifferences(ctx context.Context, silence time.Duration) (map[string]time.Duration, error) {
	var rows []struct {
		Region     string
		Difference int64
	}
	err := s.db.NewRaw(`SELECT DISTINCT ON (region) region, clock_difference_ms AS difference FROM `+leasesByRegion+`
		WHERE renewed_at >= clock_timestamp() - ? * interval '1 millisecond' AND abs(clock_difference_ms) > ?
		ORDER BY region, abs(clock_difference_ms) DESC`, pg.Milliseconds(silence), pg.Milliseconds(fleet.ClockTolerance)).Scan(ctx, &rows)
	differences := make(map[string]time.Duration, len(rows))
	for _, row := range rows {
		differences[row.Region] = pg.FromMilliseconds(row.Difference)
	}
	return differences, pg.Wrap("read the clocks of workers", err)
}

// BlindRegions returns the regions in which a worker with a live lease has no line to the
// internet, each with since when the first of them has none. That of heartbeats is none of them: no
// line is needed to judge pings; nor are those that agents serve, which have lines of their own.
func (s *Store) BlindRegions(ctx context.Context, silence time.Duration) (map[string]time.Time, error) {
	rows, err := pg.Rows[struct {
		Region string    `bun:"region"`
		Since  time.Time `bun:"since"`
	}](ctx, s.db, "SELECT region, min(blind_since) AS since FROM "+leasesByRegion+`
		WHERE blind_since IS NOT NULL AND region NOT IN ($2, $3) AND `+live("$1")+`
			AND NOT EXISTS (SELECT FROM locations AS l WHERE l.org_id IS NULL AND l.key = region)
		GROUP BY region`, pg.Milliseconds(silence), vigil.HeartbeatRegion, vigil.LocationsRegion)
	blind := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		blind[row.Region] = row.Since.UTC()
	}
	return blind, pg.Wrap("find blind regions", err)
}
