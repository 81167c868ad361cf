// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// ReportLoad records the load of a worker beside its leases; without a lease it changes
// nothing.
func (s *Store) ReportLoad(ctx context.Context, worker string, load fleet.Load) error {
	_, err := s.db.Probing.Exec(ctx, "UPDATE worker_leases SET lateness_ms = $2, overloaded = $3 WHERE worker = $1",
		worker, pg.Milliseconds(load.Lateness), load.Overloaded)
	return pg.Wrap("report the load", err)
}

// OverloadedRegions returns the regions of which half of the workers or more report
// overload, with the largest lateness of their slots. Leases that are not live do not
// count: those that were not renewed within silence, and those of workers whose clocks
// cannot be used, which do not probe.
func (s *Store) OverloadedRegions(ctx context.Context, silence time.Duration) (map[string]time.Duration, error) {
	rows, err := pg.Rows[struct {
		Region     string `bun:"region"`
		LatenessMS int64  `bun:"lateness_ms"`
	}](ctx, s.db, `SELECT region, max(lateness_ms) AS lateness_ms FROM `+leasesByRegion+` WHERE `+live("$1")+`
		GROUP BY region HAVING 2 * count(*) FILTER (WHERE overloaded) >= count(*)`, pg.Milliseconds(silence))
	regions := make(map[string]time.Duration, len(rows))
	for _, row := range rows {
		regions[row.Region] = pg.FromMilliseconds(row.LatenessMS)
	}
	return regions, pg.Wrap("read the load", err)
}

// BeginTest records that a test by hand of an organization runs in a region, unless limit
// of them do. It counts until EndTest, or for the duration when EndTest is not called.
func (s *Store) BeginTest(
	ctx context.Context, orgID, id uuid.UUID, region string, limit int, longest time.Duration,
) (admitted bool, err error) {
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		// Two requests at once must not both count the same tests.
		if err := pg.LockName(ctx, tx, "tests/"+orgID.String()); err != nil {
			return err
		}
		if _, err := tx.NewRaw("DELETE FROM running_tests WHERE org_id = ? AND ends < clock_timestamp()", orgID).Exec(ctx); err != nil {
			return err
		}
		res, err := tx.NewRaw(`INSERT INTO running_tests (org_id, id, region, ends)
			SELECT ?org, ?id, ?region, clock_timestamp() + ?longest_ms * interval '1 millisecond'
			WHERE (SELECT count(*) FROM running_tests WHERE org_id = ?org) < ?limit`,
			pg.Named{"org": orgID, "id": id, "region": region, "longest_ms": pg.Milliseconds(longest), "limit": limit}).Exec(ctx)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		admitted = n == 1
		return err
	})
	return admitted, pg.Wrap("count a test", err)
}

// EndTest ends what BeginTest began.
func (s *Store) EndTest(ctx context.Context, orgID, id uuid.UUID) error {
	_, err := s.db.NewRaw("DELETE FROM running_tests WHERE org_id = ? AND id = ?", orgID, id).Exec(ctx)
	return pg.Wrap("end a test", err)
}
