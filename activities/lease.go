// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// LeaseHolder knows whether the leases of this process still hold: it may take turns and
// start probes of a region only while they do. All its methods may be called on nil,
// which always holds. It is safe for concurrent use.
//
// The age of a lease is the time since its last successful renewal was sent, by the clock
// of this process. The database stamps a renewal later than it was sent, so a lease has
// expired here before the sweep can find it silent.
type LeaseHolder struct {
	now func() time.Time

	mu     sync.Mutex
	sent   time.Time        // of the last renewal; zero before the first
	fences map[string]int64 // by region
	// difference is by how much this clock is ahead of the database's.
	difference time.Duration
	released   bool          // the process stops
	held       chan struct{} // closed when a renewal makes the leases hold
}

// NewLeaseHolder returns a holder whose leases do not hold before the first renewal. now
// is the clock; where it has a monotonic reading, that counts too.
func NewLeaseHolder(now func() time.Time) *LeaseHolder {
	return &LeaseHolder{now: now, held: make(chan struct{})}
}

// Renewed records a successful renewal: when it was sent, the fences that it returned,
// and by how much this clock is ahead of the database's. It returns the regions whose
// lease is a new one although there was one before: other workers may have their loops.
func (h *LeaseHolder) Renewed(sent time.Time, fences map[string]int64, difference time.Duration) (lost []string) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for region, fence := range h.fences {
		if fences[region] != fence {
			lost = append(lost, region)
		}
	}
	h.sent, h.fences, h.difference = sent, fences, difference
	if h.current() {
		close(h.held)
		h.held = make(chan struct{})
	}
	return lost
}

// Release gives the leases up permanently: other workers may adopt the turns.
func (h *LeaseHolder) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
}

// current reports whether the leases hold. The caller has mu.
func (h *LeaseHolder) current() bool {
	return !h.released && !h.sent.IsZero() && timing.Age(h.now(), h.sent) <= fleet.LeaseTimeout && h.difference.Abs() <= fleet.ClockLimit
}

// Holds returns the fence of the lease for a region, which is that of its vigil.WorkerRegion, and
// whether it holds.
func (h *LeaseHolder) Holds(region string) (fence int64, ok bool) {
	fence, ok, _ = h.look(region)
	return fence, ok
}

// look is Holds with a channel that is closed when the lease may hold again.
func (h *LeaseHolder) look(region string) (fence int64, ok bool, held <-chan struct{}) {
	if h == nil {
		return 0, true, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	fence, ok = h.fences[vigil.WorkerRegion(region)]
	return fence, ok && h.current(), h.held
}

// Await waits until the lease of a region holds. Its error is that of ctx.
func (h *LeaseHolder) Await(ctx context.Context, region string) error {
	for {
		_, ok, held := h.look(region)
		if ok {
			return nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Parked reports whether the process takes no turns and starts no probes, because its
// leases do not hold.
func (h *LeaseHolder) Parked() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.current()
}

// ClockDifference is by how much the clock of this process was ahead of the database's at
// the last renewal, negative when it was behind.
func (h *LeaseHolder) ClockDifference() time.Duration {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.difference
}
