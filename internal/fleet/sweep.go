// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"github.com/google/uuid"
)

// The sweep's work is split into shards, so that every control process does a part of
// it. The rows of a check belong to the shard of its ID; CommonShard has what is not
// split: housekeeping, and the look at Temporal's store.
const (
	SweepShards = 16
	CommonShard = SweepShards
)

// A control process renews its leases of shards every SweepLeaseRenewal, and loses
// them when it has not renewed for SweepLeaseTimeout. Another one has them within the
// sum of both.
const (
	SweepLeaseRenewal = 500 * time.Millisecond
	SweepLeaseTimeout = 3 * time.Second
)

// How the sweep and the workers find the loops of a lost worker. The sweep looks for leases that are no longer renewed, and
// revokes them, every SweepPass. The workers of the region adopt their open turns, each up to AdoptAtOnce at a time. Every
// other loop is nudged, up to NudgeAtOnce in a pass.
const (
	SweepPass   = time.Second
	AdoptAtOnce = 1000
	NudgeAtOnce = 2000
)

// SweepLease is the right of one control process to do the work of a shard.
type SweepLease struct {
	Shard int // 0 to SweepShards-1, or CommonShard
	// Fence grows whenever a shard changes hands. What is written under an older one has
	// no effect.
	Fence int64
}

// SweepShare is what a control process has of the sweep.
type SweepShare struct {
	Leases []SweepLease // by shard
	Size   int          // how many of them it should keep; the others wait for what exceeds it
}

// SweepShard returns the shard of a check's rows. IDs end in random bits, so the last
// byte spreads checks evenly. Storage computes the same in SQL.
func SweepShard(checkID uuid.UUID) int { return int(checkID[len(checkID)-1]) % SweepShards }

// EverySweepShard returns the shards of checks, without CommonShard.
func EverySweepShard() []int {
	shards := make([]int, SweepShards)
	for i := range shards {
		shards[i] = i
	}
	return shards
}
