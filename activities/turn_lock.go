package activities

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// loopKey names a loop: one check in one region.
type loopKey struct {
	check  uuid.UUID
	region string
}

// turnLocks lets a worker run at most one turn of a loop. A workflow that gave a
// turn up starts another, and the server cannot tell the old one without a
// heartbeat; so the newer turn makes the older leave. A probe in flight is
// finished and stored first: its slot is not lost.
type turnLocks struct {
	mu   sync.Mutex
	held map[loopKey]*turnLock
}

// turnLock is the place of one turn.
type turnLock struct {
	key        loopKey
	scheduled  time.Time     // when the workflow asked for the turn
	superseded chan struct{} // closed when a newer turn wants the place
	released   chan struct{} // closed when the place is free
	once       sync.Once
}

func newTurnLocks() *turnLocks { return &turnLocks{held: make(map[loopKey]*turnLock)} }

// acquire waits for the place of a loop, asking an older turn to leave it. It
// returns nil when a newer turn has it, or when ctx ends first.
func (s *turnLocks) acquire(ctx context.Context, key loopKey, scheduled time.Time) *turnLock {
	mine := &turnLock{key: key, scheduled: scheduled, superseded: make(chan struct{}), released: make(chan struct{})}
	for {
		s.mu.Lock()
		holder := s.held[key]
		if holder == nil {
			s.held[key] = mine
			s.mu.Unlock()
			return mine
		}
		s.mu.Unlock()
		if holder.scheduled.After(scheduled) {
			return nil
		}
		holder.once.Do(func() { close(holder.superseded) })
		select {
		case <-holder.released:
		case <-ctx.Done():
			return nil
		}
	}
}

// release frees the place.
func (s *turnLocks) release(held *turnLock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, held.key)
	close(held.released)
}
