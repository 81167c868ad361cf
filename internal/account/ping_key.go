// SPDX-License-Identifier: Apache-2.0

package account

import (
	"time"

	"github.com/google/uuid"
)

// PingKeyPrefix is how every ping key begins, and PingKeyLength how long one is, in characters. No
// token of a heartbeat and no API key begins so.
const (
	PingKeyPrefix = "vgp_"
	PingKeyLength = len(PingKeyPrefix) + 26
)

// PingKey is the ping key of an organization: a credential that can ping its heartbeats by their
// slugs, make heartbeats, and nothing else.
type PingKey struct {
	// ID stays when the key is rotated.
	ID, OrgID uuid.UUID
	// Prefix are the first characters of the key, to recognize it.
	Prefix string
	// Key is the key itself; empty where it is not asked for.
	Key                  string
	CreatedAt, RotatedAt time.Time
}
