// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// PingTokens returns the tokens by which the jobs of heartbeats of the organization ping, by check.
func (s *Store) PingTokens(ctx context.Context, orgID uuid.UUID, checks ...uuid.UUID) (map[uuid.UUID]string, error) {
	return s.Tokens(ctx, s.Keyring, orgID, checks...)
}

// RotatePingToken gives a heartbeat of the organization another token, and the one before is not
// known any more. A check that is not the organization's, or no heartbeat, is a CodeNotFound error.
func (s *Store) RotatePingToken(ctx context.Context, orgID, checkID uuid.UUID) error {
	return s.RotateToken(ctx, s.Keyring, orgID, checkID)
}

// PingKey returns the ping key of the organization. One without is a CodeNotFound error.
func (s *Store) PingKey(ctx context.Context, orgID uuid.UUID) (account.PingKey, error) {
	return s.KeyOf(ctx, s.Keyring, orgID)
}

// CreatePingKey makes the ping key of the organization. One that has a key is a CodeConflict error.
func (s *Store) CreatePingKey(ctx context.Context, orgID uuid.UUID) (key account.PingKey, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		key, err = beats.MakeKey(ctx, tx, s.Keyring, orgID)
		return err
	})
	return key, pg.Wrap("make a ping key", err)
}

// RotatePingKey gives the organization another ping key, and the one before is not known any more.
// One without is a CodeNotFound error.
func (s *Store) RotatePingKey(ctx context.Context, orgID uuid.UUID) (account.PingKey, error) {
	return s.RotateKeyOf(ctx, s.Keyring, orgID)
}
