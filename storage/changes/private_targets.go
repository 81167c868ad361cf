// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// ClosePrivateTargets records why private addresses are refused as targets, for the
// workers of other processes. The first reason stays.
func (s *Store) ClosePrivateTargets(ctx context.Context, reason string) error {
	_, err := s.db.NewRaw("INSERT INTO private_targets (closed_at, reason) VALUES (?, ?) ON CONFLICT (one_row) DO NOTHING",
		s.db.Instant(), reason).Exec(ctx)
	return pg.Wrap("close private targets", err)
}

// OpenPrivateTargets undoes ClosePrivateTargets, at the start of the API.
func (s *Store) OpenPrivateTargets(ctx context.Context) error {
	_, err := s.db.NewRaw("DELETE FROM private_targets").Exec(ctx)
	return pg.Wrap("open private targets", err)
}

// PrivateTargetsClosed returns why private addresses are refused, "" when they are not.
func (s *Store) PrivateTargetsClosed(ctx context.Context) (string, error) {
	var reason string
	err := s.db.NewRaw("SELECT coalesce(max(reason), '') FROM private_targets").Scan(ctx, &reason)
	return reason, pg.Wrap("read whether private targets are closed", err)
}
