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

// seats lets a worker run at most one turn of a loop. A workflow that gave a
// turn up starts another, and the server cannot tell the old one without a
// heartbeat; so the newer turn makes the older leave. A probe in flight is
// finished and stored first: its slot is not lost.
type seats struct {
	mu    sync.Mutex
	taken map[loopKey]*seat
}

// seat is the place of one turn.
type seat struct {
	key        loopKey
	scheduled  time.Time     // when the workflow asked for the turn
	superseded chan struct{} // closed when a newer turn wants the place
	left       chan struct{} // closed when the place is free
	once       sync.Once
}

func newSeats() *seats { return &seats{taken: make(map[loopKey]*seat)} }

// take waits for the place of a loop, asking an older turn to leave it. It
// returns nil when a newer turn has it, or when ctx ends first.
func (s *seats) take(ctx context.Context, key loopKey, scheduled time.Time) *seat {
	mine := &seat{key: key, scheduled: scheduled, superseded: make(chan struct{}), left: make(chan struct{})}
	for {
		s.mu.Lock()
		holder := s.taken[key]
		if holder == nil {
			s.taken[key] = mine
			s.mu.Unlock()
			return mine
		}
		s.mu.Unlock()
		if holder.scheduled.After(scheduled) {
			return nil
		}
		holder.once.Do(func() { close(holder.superseded) })
		select {
		case <-holder.left:
		case <-ctx.Done():
			return nil
		}
	}
}

// leave frees the place.
func (s *seats) leave(held *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, held.key)
	close(held.left)
}
