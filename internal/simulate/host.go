// SPDX-License-Identifier: Apache-2.0

package simulate

import "time"

// slice is how long a piece of work has a core at most before a short one that waits has it, as the kernel's scheduler lets
// a probe pass a transaction of 256 rows.
const slice = int64(time.Millisecond)

// host has cores, and gives each piece of work one of them.
type host struct {
	free  []int64 // when each core has done all that it was given
	short []int64 // when it has done the short pieces of that
	busy  int64   // nanoseconds of all cores
}

func newHost(cores int) *host {
	cores = max(1, cores)
	return &host{free: make([]int64, cores), short: make([]int64, cores)}
}

// work gives the host a piece of work that is there at an instant and takes so long, and returns when it begins and ends. A
// short one does not wait for long ones, but for the rest of a slice. The long ones take longer by that, which those do not
// know whose end was returned before.
func (h *host) work(now int64, takes int64) (begins, ends int64) {
	h.busy += takes
	core := first(h.free)
	if takes > slice || h.free[core] <= now {
		begins = max(now, h.free[core])
		ends = begins + takes
		h.free[core] = ends
		if takes <= slice {
			h.short[core] = ends
		}
		return begins, ends
	}
	core = first(h.short)
	begins = max(now, h.short[core])
	if running := h.free[core] - begins; running > 0 {
		begins += min(slice, running) / 2
	}
	ends = begins + takes
	h.short[core] = ends
	h.free[core] += takes
	return begins, ends
}

// backlog is how long a piece of work waits at most that is there at an instant.
func (h *host) backlog(now int64) int64 { return max(0, h.free[first(h.free)]-now) }

// first is the core that is free first.
func first(cores []int64) int {
	best := 0
	for i, at := range cores {
		if at < cores[best] {
			best = i
		}
	}
	return best
}
