package activities

import (
	"strings"
	"sync"

	"github.com/google/uuid"
)

// pendingClaims are the loops that came to this worker from another and of which it has
// not said so yet. Should it die before it stores their first result, nobody
// would know that their turns died with it.
type pendingClaims struct {
	mu    sync.Mutex
	loops map[loopKey]struct{}
}

func newPendingClaims() *pendingClaims { return &pendingClaims{loops: make(map[loopKey]struct{})} }

func (c *pendingClaims) add(key loopKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loops[key] = struct{}{}
}

// TakeClaims returns the checks, by region, whose turns came to this worker since
// the last call. They are to be noted with the next renewal of its lease, and to
// be handed to ReturnClaims when that fails.
func (w *Watcher) TakeClaims() map[string][]uuid.UUID {
	w.claims.mu.Lock()
	defer w.claims.mu.Unlock()
	byRegion := make(map[string][]uuid.UUID)
	for key := range w.claims.loops {
		byRegion[key.region] = append(byRegion[key.region], key.check)
	}
	clear(w.claims.loops)
	return byRegion
}

// ReturnClaims keeps claims for a later try.
func (w *Watcher) ReturnClaims(region string, checks []uuid.UUID) {
	for _, check := range checks {
		w.claims.add(loopKey{check, region})
	}
}

// shortWorkerName shortens a worker's name to the part that tells it from others: it is in
// the history of every turn.
func shortWorkerName(worker string) string { return worker[strings.LastIndexByte(worker, '/')+1:] }
