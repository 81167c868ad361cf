// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// SetRegionToken lets agents serve a region of the platform instead of a worker, for every organization, and
// returns their token. A region that agents serve already gets another one: that before is not known any more.
// name is what people call the region.
func (s *Store) SetRegionToken(ctx context.Context, key, name string) (l location.Location, token string, err error) {
	token = newToken()
	now := s.db.Instant()
	var row locationRow
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`INSERT INTO locations AS l (id, org_id, key, name, labels, token_hash, token_prefix, created_at, updated_at, rotated_at)
			VALUES (?id, NULL, ?key, ?name, '{}', ?hash, ?prefix, ?now, ?now, ?now)
			ON CONFLICT (org_id, key) DO UPDATE SET token_hash = ?hash, token_prefix = ?prefix, version = l.version + 1, rotated_at = ?now,
				updated_at = ?now RETURNING l.*`, pg.Named{
			"id": uuid.New(), "key": key, "name": name, "hash": TokenHash(token), "prefix": token[:tokenShown], "now": now,
		}).Scan(ctx, &row)
	})
	if err != nil {
		return location.Location{}, "", pg.Wrap("make the token of a region", err)
	}
	return row.location(), token, nil
}

// DeleteRegionToken lets a worker serve a region of the platform again. A region that no agents serve is a CodeNotFound error.
func (s *Store) DeleteRegionToken(ctx context.Context, key string) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM locations WHERE org_id IS NULL AND key = ?", key).Exec(ctx)
		return pg.RequireAffected("token of agents of this region", "delete the token of a region", res, err)
	})
}

// RegionLocations returns the regions of the platform that agents serve, by key.
func (s *Store) RegionLocations(ctx context.Context) ([]location.Location, error) {
	var rows []locationRow
	if err := s.db.NewSelect().Model(&rows).Where("l.org_id IS NULL").OrderExpr("l.key").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list the regions of agents: %w", err)
	}
	shown, err := s.complete(ctx, rows)
	return shown, pg.Wrap("list the regions of agents", err)
}
