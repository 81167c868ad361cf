// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	"github.com/google/uuid"
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
