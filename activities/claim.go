// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// pendingClaims are the loops that this worker has taken over from another one and has
// not recorded yet. If the worker crashed before the record and before their first
// result, AbandonedLoops would not find their lost turns.
type pendingClaims struct {
	mu    sync.Mutex
	loops map[loopKey]struct{}
}

func newPendingClaims() *pendingClaims { return &pendingClaims{loops: make(map[loopKey]struct{})} }

// add notes that the turn of a loop runs here, for the next renewal to record.
func (c *pendingClaims) add(key loopKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loops[key] = struct{}{}
}

// remove drops the claim of a loop whose turn was lost or handed over: another worker may run
// the next one, and a late claim would take the loop from it.
func (c *pendingClaims) remove(key loopKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loops, key)
}

// TakeClaims returns and clears the pending claims: the checks, by region, whose turns
// moved to this worker since the last call. The caller must record them with the next
// renewal of the worker's lease, or hand them to ReturnClaims when that fails.
func (w *Watcher) TakeClaims() map[string][]uuid.UUID {
	w.claims.mu.Lock()
	defer w.claims.mu.Unlock()
	byRegion := make(map[string][]uuid.UUID)
	for key := range w.claims.loops {
		byRegion[key.Region] = append(byRegion[key.Region], key.Check)
	}
	clear(w.claims.loops)
	return byRegion
}

// ReturnClaims adds claims again that could not be recorded.
func (w *Watcher) ReturnClaims(region string, checks []uuid.UUID) {
	for _, check := range checks {
		w.claims.add(loopKey{Check: check, Region: region})
	}
}

// ForgetClaims drops the pending claims of regions whose lease was lost: other workers may
// have these loops.
func (w *Watcher) ForgetClaims(regions []string) {
	w.claims.mu.Lock()
	defer w.claims.mu.Unlock()
	for key := range w.claims.loops {
		if slices.Contains(regions, vigil.WorkerRegion(key.Region)) {
			delete(w.claims.loops, key)
		}
	}
}

// shortWorkerName returns the part of a worker's name after the last slash, which is
// unique. It is short because the history of every turn contains it.
func shortWorkerName(worker string) string { return worker[strings.LastIndexByte(worker, '/')+1:] }
