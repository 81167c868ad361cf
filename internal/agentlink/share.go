// SPDX-License-Identifier: Apache-2.0

package agentlink

import (
	"hash/fnv"

	"github.com/google/uuid"
)

// Share returns which of the agents of a location probes a check: the one with the highest hash of
// both (rendezvous hashing). When an agent comes or goes, only the checks of that one move. The zero
// ID without agents.
func Share(check uuid.UUID, agents []uuid.UUID) uuid.UUID {
	var chosen uuid.UUID
	var highest uint64
	for _, agent := range agents {
		h := fnv.New64a()
		h.Write(agent[:])
		h.Write(check[:])
		if sum := mix(h.Sum64()); chosen == uuid.Nil || sum > highest || sum == highest && agent.String() > chosen.String() {
			chosen, highest = agent, sum
		}
	}
	return chosen
}

// mix spreads the bits of a hash: those of FNV differ too little in what differs at the end only
// (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
