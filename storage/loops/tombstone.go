// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// TombstoneRow is the mark of a loop that was deleted.
type TombstoneRow struct {
	bun.BaseModel `bun:"table:loop_tombstones,alias:t"`

	CheckID   uuid.UUID `bun:"check_id,pk,type:uuid"`
	Region    string    `bun:"region,pk"`
	OrgID     uuid.UUID `bun:"org_id,type:uuid"`
	Revision  int64     `bun:"revision,nullzero"`
	CreatedAt time.Time `bun:"created_at"`
}

// TombstonesOf returns the tombstones of rows, in their order.
func TombstonesOf(rows []TombstoneRow) []vigil.Tombstone {
	tombstones := make([]vigil.Tombstone, len(rows))
	for i, r := range rows {
		tombstones[i] = vigil.Tombstone{CheckID: r.CheckID, Region: r.Region, OrgID: r.OrgID, Revision: r.Revision, CreatedAt: r.CreatedAt}
	}
	return tombstones
}

// AddTombstones deletes loops of a check with their votes, and adds a tombstone for each. revision is that
// of the check that removed the regions, 0 when the check is deleted.
func AddTombstones(ctx context.Context, tx bun.Tx, checkID uuid.UUID, regions []string, revision int64) error {
	if len(regions) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`WITH gone AS (
			DELETE FROM check_regions WHERE check_id = ?0 AND region = ANY(?1) RETURNING check_id, region, org_id
		), votes AS (
			DELETE FROM region_votes WHERE check_id = ?0 AND region = ANY(?1)
		)
		INSERT INTO loop_tombstones (check_id, region, org_id, revision) SELECT check_id, region, org_id, nullif(?2, 0) FROM gone
		ON CONFLICT (check_id, region) DO UPDATE SET created_at = clock_timestamp(), done_at = NULL, revision = excluded.revision`,
		checkID, pgdialect.Array(regions), revision).Exec(ctx)
	if err != nil {
		return fmt.Errorf("add tombstones: %w", err)
	}
	return nil
}

// ClearTombstones deletes the tombstones of regions that checks have again, before their loops are
// added, and a vote that was stored while a region was removed. It blocks while LockTombstone has
// one of them.
func ClearTombstones(ctx context.Context, tx bun.Tx, checks []*vigil.Check) error {
	var ids []uuid.UUID
	var regions []string
	for _, check := range checks {
		for _, region := range check.Regions {
			ids, regions = append(ids, check.ID), append(regions, region)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`DELETE FROM loop_tombstones AS t USING unnest(?::uuid[], ?::text[]) AS l (check_id, region)
		WHERE t.check_id = l.check_id AND t.region = l.region`, pgdialect.Array(ids), pgdialect.Array(regions)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("clear tombstones: %w", err)
	}
	_, err = tx.NewRaw(`DELETE FROM region_votes AS v USING unnest(?::uuid[], ?::text[]) AS l (check_id, region)
		WHERE v.check_id = l.check_id AND v.region = l.region
		AND NOT EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = v.check_id AND r.region = v.region)`,
		pgdialect.Array(ids), pgdialect.Array(regions)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("clear old votes: %w", err)
	}
	return nil
}

// LockTombstone runs do with the tombstone locked: its region cannot be added again
// before do returns. It does nothing when the tombstone was cleared, or replaced by
// that of a later loop.
func (s *Store) LockTombstone(ctx context.Context, tombstone vigil.Tombstone, do func(context.Context) error) error {
	var done error // of do, which says nothing of the database
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var stands bool
		err := tx.NewRaw("SELECT true FROM loop_tombstones WHERE check_id = ? AND region = ? AND created_at = ? FOR UPDATE",
			tombstone.CheckID, tombstone.Region, tombstone.CreatedAt).Scan(ctx, &stands)
		if pg.IsNoRow(err) {
			return nil
		}
		if err != nil {
			return err
		}
		done = do(ctx)
		return nil
	})
	return errors.Join(done, pg.Wrap("hold a tombstone", err))
}

// Tombstones returns the tombstones of loops of these shards that have not ended, oldest
// first.
func (s *Store) Tombstones(ctx context.Context, shards []int, limit int) ([]vigil.Tombstone, error) {
	var rows []TombstoneRow
	err := s.db.NewSelect().Model(&rows).Column("check_id", "region", "org_id", "revision", "created_at").Where("t.done_at IS NULL").
		Where("?", InShards("t.check_id", shards)).
		OrderExpr("t.created_at, t.check_id, t.region").Limit(int64(limit)).Scan(ctx)
	return TombstonesOf(rows), pg.Wrap("read tombstones", err)
}
