package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

type tombstoneRow struct {
	bun.BaseModel `bun:"table:loop_tombstones,alias:t"`

	CheckID   uuid.UUID `bun:"check_id,pk,type:uuid"`
	Region    string    `bun:"region,pk"`
	OrgID     uuid.UUID `bun:"org_id,type:uuid"`
	Revision  int64     `bun:"revision,nullzero"`
	CreatedAt time.Time `bun:"created_at"`
}

func tombstonesOf(rows []tombstoneRow) []vigil.Tombstone {
	tombstones := make([]vigil.Tombstone, len(rows))
	for i, r := range rows {
		tombstones[i] = vigil.Tombstone{CheckID: r.CheckID, Region: r.Region, OrgID: r.OrgID, Revision: r.Revision, CreatedAt: r.CreatedAt}
	}
	return tombstones
}

// addTombstones deletes loops of a check and adds a tombstone for each. revision is that
// of the check that removed the regions, 0 when the check is deleted.
func addTombstones(ctx context.Context, tx bun.Tx, checkID uuid.UUID, regions []string, revision int64) error {
	if len(regions) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`WITH gone AS (
			DELETE FROM check_regions WHERE check_id = ? AND region = ANY(?) RETURNING check_id, region, org_id
		)
		INSERT INTO loop_tombstones (check_id, region, org_id, revision) SELECT check_id, region, org_id, nullif(?, 0) FROM gone
		ON CONFLICT (check_id, region) DO UPDATE SET created_at = clock_timestamp(), done_at = NULL, revision = excluded.revision`,
		checkID, pgdialect.Array(regions), revision).Exec(ctx)
	if err != nil {
		return fmt.Errorf("add tombstones: %w", err)
	}
	return nil
}

// clearTombstones deletes the tombstones of regions that are added again. It blocks
// while HoldTombstone holds one of them.
func clearTombstones(ctx context.Context, tx bun.Tx, checkID uuid.UUID, regions []string) error {
	_, err := tx.NewRaw("DELETE FROM loop_tombstones WHERE check_id = ? AND region = ANY(?)", checkID, pgdialect.Array(regions)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("clear tombstones: %w", err)
	}
	return nil
}

// HoldTombstone runs do with the tombstone locked: its region cannot be added again
// before do returns. It does nothing when the tombstone was cleared, or replaced by
// that of a later loop.
func (s *Store) HoldTombstone(ctx context.Context, tombstone vigil.Tombstone, do func(context.Context) error) error {
	var done error // of do, which says nothing of the database
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var stands bool
		err := tx.NewRaw("SELECT true FROM loop_tombstones WHERE check_id = ? AND region = ? AND created_at = ? FOR UPDATE",
			tombstone.CheckID, tombstone.Region, tombstone.CreatedAt).Scan(ctx, &stands)
		if isNoRow(err) {
			return nil
		}
		if err != nil {
			return err
		}
		done = do(ctx)
		return nil
	})
	return errors.Join(done, wrap("hold a tombstone", err))
}

// Tombstones returns the tombstones of loops of these shards that have not ended, oldest
// first.
func (s *Store) Tombstones(ctx context.Context, shards []int, limit int) ([]vigil.Tombstone, error) {
	var rows []tombstoneRow
	err := s.db.NewSelect().Model(&rows).Column("check_id", "region", "org_id", "revision", "created_at").Where("t.done_at IS NULL").
		Where("?", inShards("t.check_id", shards)).
		OrderExpr("t.created_at, t.check_id, t.region").Limit(int64(limit)).Scan(ctx)
	return tombstonesOf(rows), wrap("read tombstones", err)
}

// PurgeLoop records that the loop of a tombstone has ended. The tombstone remains for
// workers' catalogues until its retention ends; one that was cleared or replaced is
// not changed. While a deleted check has results, PurgeLoop deletes some of them
// instead and returns false: call it again.
func (s *Store) PurgeLoop(ctx context.Context, tombstone vigil.Tombstone) (done bool, err error) {
	if more, err := s.purge(ctx, tombstone.CheckID); err != nil || more {
		return false, wrap("remove the results of a deleted check", err)
	}
	_, err = s.db.NewRaw(`UPDATE loop_tombstones SET done_at = clock_timestamp()
		WHERE check_id = ? AND region = ? AND created_at = ? AND done_at IS NULL`,
		tombstone.CheckID, tombstone.Region, tombstone.CreatedAt).Exec(ctx)
	return err == nil, wrap("close a tombstone", err)
}

// purgeTimeout limits how long the deletion of a check waits for the removal of its
// results.
const purgeTimeout = 2 * time.Second

// purgeSoon removes results of a deleted check until purgeTimeout.
func (s *Store) purgeSoon(ctx context.Context, checkID uuid.UUID) {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	for {
		more, err := s.purge(ctx, checkID)
		if err != nil {
			s.log.DebugContext(ctx, "results of a deleted check remain until the next sweep", "check", checkID, "error", err)
		}
		if err != nil || !more {
			return
		}
	}
}

// purge deletes the results of one day and region of a deleted check and reports
// whether there were any. Each call takes less than a second, since an interrupted
// one is rolled back. It holds row locks only.
func (s *Store) purge(ctx context.Context, checkID uuid.UUID) (found bool, err error) {
	var first struct {
		Region string
		Slot   time.Time
	}
	err = s.db.NewRaw("SELECT region, slot FROM results WHERE check_id = ?0 AND NOT EXISTS (SELECT FROM checks WHERE id = ?0) LIMIT 1",
		checkID).
		Scan(ctx, &first)
	if isNoRow(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for results: %w", err)
	}
	day := first.Slot.UTC().Truncate(24 * time.Hour)
	_, err = s.db.NewRaw("DELETE FROM results WHERE check_id = ? AND region = ? AND slot >= ? AND slot < ?",
		checkID, first.Region, day, day.AddDate(0, 0, 1)).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("delete results: %w", err)
	}
	return true, nil
}
