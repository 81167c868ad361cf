// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// adoptable is the condition that the turn of a loop (r), whose worker had a lease (l) that is
// revoked now, is still open in Temporal: it was not to end with the newest result, and no
// nudge has made the loop abandon it since.
const adoptable = `r.active AND r.turn_ends > clock_timestamp() AND (r.nudged_at IS NULL OR r.nudged_at < l.revoked_at)`

// AdoptTurns makes loops of a region those of the worker of a lease, and returns their open
// turns, those that are due first. They belong to workers of the given builds whose leases were
// revoked and have been silent since. Several workers may call it at once, and each gets other
// loops. The answer has the turns as well that requests without an answer have adopted.
//
// The silent leases are locked: their workers cannot renew them before the loops have moved.
func (s *Store) AdoptTurns(ctx context.Context, a fleet.Adoption, silence time.Duration) ([]vigil.OpenTurn, error) {
	type adopted struct {
		Check    uuid.UUID  `bun:"check_id"`
		Region   string     `bun:"region"`
		Revision int64      `bun:"applied"`
		Slots    int        `bun:"turn_slots"`
		Run      uuid.UUID  `bun:"turn_run"`
		Activity string     `bun:"turn_activity"`
		Ends     time.Time  `bun:"turn_ends"`
		Due      *time.Time `bun:"next_due"`
	}
	rows, err := pg.Rows[adopted](ctx, s.db, `
		WITH l AS MATERIALIZED (
			SELECT worker, revoked_at FROM worker_leases
			WHERE @region = ANY(regions) AND worker <> @worker AND build = ANY(@builds::text[]) AND revoked_at IS NOT NULL
				AND NOT `+live("@silence_ms")+` FOR SHARE
		), lost AS MATERIALIZED (
			SELECT r.check_id, r.region FROM check_regions AS r JOIN l ON r.worker = l.worker
			WHERE r.worker_region = @region AND `+adoptable+`
			ORDER BY r.next_due, r.check_id LIMIT @limit FOR UPDATE OF r SKIP LOCKED
		), unanswered AS MATERIALIZED (
			SELECT check_id, region FROM check_regions
			WHERE worker_region = @region AND worker = @worker AND active AND adoption = ANY(@unanswered::uuid[])
			ORDER BY next_due, check_id LIMIT @limit FOR UPDATE SKIP LOCKED
		)
		UPDATE check_regions AS r SET worker = @worker, adoption = @adoption
		FROM (SELECT * FROM lost UNION ALL SELECT * FROM unanswered) AS k
		WHERE r.check_id = k.check_id AND r.region = k.region
		RETURNING r.check_id, r.region, r.applied, r.turn_slots, r.turn_run, r.turn_activity, r.turn_ends, r.next_due`,
		pg.Named{
			"worker": a.Lease.Worker, "region": a.Lease.Region, "silence_ms": pg.Milliseconds(silence), "limit": a.Limit,
			"builds": append([]string{}, a.Builds...), "adoption": a.ID, "unanswered": append([]uuid.UUID{}, a.Unanswered...),
		})
	if err != nil {
		return nil, pg.Wrap("adopt turns", err)
	}
	slices.SortFunc(rows, func(a, b adopted) int { return pg.ZeroIfNil(a.Due).Compare(pg.ZeroIfNil(b.Due)) })
	turns := make([]vigil.OpenTurn, len(rows))
	for i, row := range rows {
		turns[i] = vigil.OpenTurn{
			CheckID: row.Check, Region: row.Region, Revision: row.Revision, Slots: row.Slots,
			TurnActivity: vigil.TurnActivity{RunID: row.Run, ActivityID: row.Activity, Ends: row.Ends.UTC()},
		}
	}
	return turns, nil
}

// OwnsLoop reports whether a loop belongs to a worker, and was not nudged lately: then the
// turn that the worker had before its lease was revoked is still the loop's.
func (s *Store) OwnsLoop(ctx context.Context, checkID uuid.UUID, lease fleet.Lease) (bool, error) {
	owns, err := pg.Row[bool](ctx, s.db, `SELECT EXISTS (SELECT FROM check_regions WHERE check_id = $1 AND region = $2 AND worker = $3
			AND (nudged_at IS NULL OR nudged_at < clock_timestamp() - interval '1 min'))`,
		checkID, lease.Region, lease.Worker)
	return owns, pg.Wrap("look for the worker of a loop", err)
}

// OwnedLoops returns those of some checks whose loops in the region of a lease belong to its worker by their rows.
func (s *Store) OwnedLoops(ctx context.Context, lease fleet.Lease, checks []uuid.UUID) ([]uuid.UUID, error) {
	owned, err := pg.Rows[uuid.UUID](ctx, s.db, `SELECT check_id FROM check_regions WHERE check_id = ANY($1) AND region = $2 AND worker = $3`,
		checks, lease.Region, lease.Worker)
	return owned, pg.Wrap("look for the workers of loops", err)
}
