package reconcile

import (
	"context"
	"errors"
	"sync"
)

// leaderName is the advisory lock that elects the process that sweeps.
const leaderName = "vigil-sweep"

// errFollower says that another process sweeps.
var errFollower = errors.New("another process leads")

// leadership is the advisory lock while this process holds it.
type leadership = interface {
	// Held returns nil while the lock is held.
	Held(ctx context.Context) error
	// Release gives the lock up. A second call does nothing.
	Release()
}

// elections grants a name to one process at a time.
type elections interface {
	Leader(ctx context.Context, name string) (held leadership, ok bool, err error)
}

// elector holds the advisory lock that lets one process sweep.
type elector struct {
	store elections

	mu   sync.Mutex
	held leadership // nil: not the leader
}

// IsLeader returns nil in the process that sweeps; the scheduler calls it before
// every pass. A leader that lost its connection loses the lead even if no pass
// failed: another process may have been elected since.
func (e *elector) IsLeader(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held != nil {
		if e.held.Held(ctx) == nil {
			return nil
		}
		e.releaseLocked()
	}
	held, ok, err := e.store.Leader(ctx, leaderName)
	if err != nil {
		return err
	}
	if !ok {
		return errFollower
	}
	e.held = held
	return nil
}

// resign gives the lead up; the next tick elects again.
func (e *elector) resign() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked()
}

// releaseLocked requires that mu is held.
func (e *elector) releaseLocked() {
	if e.held != nil {
		e.held.Release()
		e.held = nil
	}
}
