// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/agents"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CreateLocation stores a new location of its organization, and returns its token, of which the hash
// alone is stored. Zero IDs and times are filled in. A key that the organization has is a CodeConflict
// error with another key in its details as suggested_key, and more locations than the plan allows are a
// CodePlanLimit error.
func (s *Store) CreateLocation(ctx context.Context, l location.Location) (made location.Location, token string, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, l.OrgID)
		if err != nil {
			return err
		}
		if err := accounts.CheckRoom(ctx, tx, tier, account.LimitLocations, l.OrgID, 1); err != nil {
			return err
		}
		if made, token, err = agents.Insert(ctx, tx, l, s.db.Instant()); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, made)
	})
	if err != nil {
		return location.Location{}, "", pg.Wrap("create a location", err)
	}
	return made, token, nil
}
