// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// epochLength is how long an epoch lasts: a store that is restored from a backup of the same
// epoch is not noticed. Each costs one state transition of Temporal.
const epochLength = 3 * time.Second

// Epoch returns the generation of Temporal's store and the epoch.
func (s *Store) Epoch(ctx context.Context) (fleet.Epoch, error) {
	row, err := pg.Row[struct {
		Generation int64 `bun:"generation"`
		Number     int64 `bun:"epoch"`
		Floor      int64 `bun:"epoch_floor"`
		Due        bool  `bun:"due"`
	}](ctx, s.db, `SELECT generation, epoch, epoch_floor, epoch_at <= clock_timestamp() - $1 * interval '1 millisecond' AS due
		FROM temporal_generation`, pg.Milliseconds(epochLength))
	return fleet.Epoch(row), pg.Wrap("read the epoch", err)
}

// AnnounceEpoch begins the epoch after from. Temporal may have an older one meanwhile, down to
// floor. Nothing changes when the epoch is another one than from by now, or when the lease is
// of an older fence; changed is false then.
func (s *Store) AnnounceEpoch(ctx context.Context, lease fleet.SweepLease, from fleet.Epoch, floor int64) (changed bool, err error) {
	changed, err = s.ChangeEpoch(ctx, s.db, `UPDATE temporal_generation SET epoch = epoch + 1, epoch_floor = ?0, epoch_at = clock_timestamp()
		WHERE epoch = ?1 AND epoch_floor = ?2 AND ?3`, floor, from.Number, from.Floor, Fenced(lease))
	return changed, pg.Wrap("begin an epoch", err)
}

// ConfirmEpoch records that Temporal has an epoch, unless it is another one by now or the lease
// is of an older fence.
func (s *Store) ConfirmEpoch(ctx context.Context, lease fleet.SweepLease, number int64) error {
	_, err := s.ChangeEpoch(ctx, s.db, "UPDATE temporal_generation SET epoch_floor = epoch WHERE epoch = ? AND ?", number, Fenced(lease))
	return pg.Wrap("confirm an epoch", err)
}

// ChangeEpoch runs an update of the epoch and reports whether it changed something.
func (s *Store) ChangeEpoch(ctx context.Context, db bun.IDB, update string, args ...any) (bool, error) {
	res, err := db.NewRaw(update, args...).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("change the epoch: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
