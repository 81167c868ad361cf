// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// loopKey identifies a loop: one check in one region.
type loopKey = pace.Loop

// turnLocks ensures that a worker runs at most one turn of a loop. A workflow that
// abandons a turn starts another one, and without heartbeats the server cannot cancel
// the first; therefore the newer turn makes the older one end. A probe that is running is
// completed and its result stored first.
type turnLocks struct {
	mu   sync.Mutex
	held map[loopKey]*turnLock
}

// turnLock is the lock of a loop while one turn holds it.
type turnLock struct {
	key        loopKey
	scheduled  time.Time     // when the workflow scheduled the turn; zero: it was adopted
	superseded chan struct{} // closed when a newer turn waits for the lock
	released   chan struct{} // closed when the lock is released
	once       sync.Once     // closes superseded
	progress   atomic.Pointer[LoopProgress]
}

// LoopProgress is what a running turn knows of its loop, of which its workflow learns when the turn ends.
type LoopProgress struct {
	// State is that after the newest slot of the turn.
	State vigil.State
	// Next is the slot that it waits for.
	Next time.Time
	// Span is how many slots the turn may cover, which are more than its workflow knows in a first turn that goes on.
	Span int
}

// Progress returns how far the turn of a loop is that this process runs; nil: it runs none, or that has not begun.
func (w *Watcher) Progress(checkID uuid.UUID, region string) *LoopProgress {
	w.locks.mu.Lock()
	defer w.locks.mu.Unlock()
	if held := w.locks.held[loopKey{Check: checkID, Region: region}]; held != nil {
		return held.progress.Load()
	}
	return nil
}

func newTurnLocks() *turnLocks { return &turnLocks{held: make(map[loopKey]*turnLock)} }

// acquire waits for the lock of a loop, and asks an older turn to release it. It returns
// nil when a newer turn holds the lock, or when ctx ends first.
func (s *turnLocks) acquire(ctx context.Context, key loopKey, scheduled time.Time) *turnLock {
	lock := &turnLock{key: key, scheduled: scheduled, superseded: make(chan struct{}), released: make(chan struct{})}
	for {
		s.mu.Lock()
		holder := s.held[key]
		if holder == nil {
			s.held[key] = lock
			s.mu.Unlock()
			return lock
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

// supersede asks the turn that holds the lock of a loop to release it, unless it is newer
// than a turn that was scheduled at that time.
func (s *turnLocks) supersede(key loopKey, scheduled time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder := s.held[key]; holder != nil && !holder.scheduled.After(scheduled) {
		holder.once.Do(func() { close(holder.superseded) })
	}
}

// release releases a lock that acquire returned.
func (s *turnLocks) release(lock *turnLock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, lock.key)
	close(lock.released)
}

// lockTurn acquires the lock of the turn's loop, and adds a claim when another worker ran
// the turn before. It returns nil when a newer turn holds the lock or ctx ends.
func (w *Watcher) lockTurn(ctx context.Context, turn *Turn, scheduled time.Time) *turnLock {
	key := turn.key()
	held := w.locks.acquire(ctx, key, scheduled)
	if held != nil && turn.By != w.shortName {
		w.claims.add(key)
	}
	return held
}
