// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// After Temporal has taken the end of a turn, a worker of the region gets the next one within milliseconds. While the
// hosts change that hand out Temporal's tasks, it may come a minute later, and the slots until then would be missed.
//
// So a worker remembers for each of its turns the one that would go on in its place, as in turn_ahead.go, until a turn
// of the loop begins here. Where none has, lostAfter after its slot was due, and the row of the loop still names this
// worker, that turn runs until the one of Temporal begins, here or elsewhere. Temporal does not know of it and is not
// given its result: the turn that comes folds the stored results.
//
// A loop that is not silent is not nudged by the sweep, nor started again where an operator has ended its workflow at that
// instant. So the worker nudges it, for its task may have been on the way to a frontend that died, and it ends after lostFor.

const (
	// lostFor is how long a worker probes without the turn of Temporal. That took 50 s at most in the drills of
	// docs/scale.md.
	lostFor = 2 * time.Minute
	// lostNudge is how long it does until it makes the loop begin another turn, and between two such nudges.
	lostNudge = 30 * time.Second
	// nudgeTimeout is how long the nudges of one second may take.
	nudgeTimeout = 5 * time.Second
)

// lostAfter is how long after the first slot of a turn another worker has to be named in the row of the loop, or the
// turn is lost. A worker records the loops that it takes over when it renews its lease.
const lostAfter = 3 * fleet.LeaseRenewal

// expectedTurns are the turns that may be lost: one for each loop whose turn has ended in this process, and has not
// begun again here.
type expectedTurns struct {
	mu      sync.Mutex
	turns   map[loopKey]expectedTurn
	watched bool // a goroutine looks for lost ones
}

// expectedTurn is a turn that goes on where the one of Temporal does not come.
type expectedTurn struct {
	run *turnRun
	due time.Time // its first slot
	// nudge is when the worker nudges the loop of a turn that is lost and runs, zero for one that is not.
	nudge time.Time
}

// expect remembers a turn before Temporal is given the end of the one before it.
func (w *Watcher) expect(t *turnRun, due time.Time) {
	x := &w.expected
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns[loopKey{Check: t.turn.CheckID, Region: t.turn.Region}] = expectedTurn{run: t, due: later(due, w.Now())}
	if !x.watched {
		x.watched = true
		go w.watchExpected()
	}
}

// forget drops the turn of a loop, of which one has begun or which has none.
func (x *expectedTurns) forget(key loopKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.turns, key)
}

// goAhead returns a turn that is not lost, since it goes on at once; nil: it runs as a lost one, after a process that stood still.
func (x *expectedTurns) goAhead(t *turnRun) *turnRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := loopKey{Check: t.turn.CheckID, Region: t.turn.Region}
	if turn := x.turns[key]; turn.run == t && !turn.nudge.IsZero() {
		return nil
	}
	delete(x.turns, key)
	return t
}

// watchExpected starts the turns that are lost, until none is expected.
func (w *Watcher) watchExpected() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for w.lookForLost() {
		select {
		case <-ticker.C:
		case <-w.apart.ctx.Done():
			return
		}
	}
}

// lookForLost starts the turns that are lost now, and reports whether others are expected.
func (w *Watcher) lookForLost() (more bool) {
	x, now := &w.expected, w.Now()
	late := make(map[string][]uuid.UUID)
	var nudge []vigil.OpenTurn
	x.mu.Lock()
	for key, turn := range x.turns {
		switch fence, ok := w.Lease.Holds(key.Region); {
		case turn.run.stopped(), ok && fence != turn.run.fence:
			delete(x.turns, key)
		case ok && !turn.nudge.IsZero():
			if !now.Before(turn.nudge) {
				turn.nudge = now.Add(lostNudge)
				x.turns[key] = turn
				nudge = append(nudge, turn.run.open())
			}
		case ok && now.Sub(turn.due) >= lostAfter:
			late[key.Region] = append(late[key.Region], key.Check)
		}
	}
	x.watched = len(x.turns) > 0
	more = x.watched
	x.mu.Unlock()
	for region, checks := range late {
		w.startLost(region, checks)
	}
	if len(nudge) > 0 {
		w.apart.start(func() { w.nudgeLost(nudge) })
	}
	return more
}

// nudgeLost makes the loops of lost turns begin other ones.
func (w *Watcher) nudgeLost(turns []vigil.OpenTurn) {
	ctx, cancel := context.WithTimeout(w.apart.ctx, nudgeTimeout)
	defer cancel()
	for _, turn := range turns {
		if err := w.Completer.RepeatTurn(ctx, turn); err != nil {
			w.Log.WarnContext(ctx, "lost turn not repeated", "check", turn.CheckID, "region", turn.Region, "error", err)
		}
	}
}

// startLost starts those of the turns of a region that are late whose loops belong to this worker, and drops the others.
func (w *Watcher) startLost(region string, checks []uuid.UUID) {
	ctx, cancel := context.WithTimeout(w.apart.ctx, lostAfter)
	defer cancel()
	owned, err := w.Owners.OwnedLoops(ctx, fleet.Lease{Worker: w.Worker, Region: region}, checks)
	if err != nil {
		w.Log.WarnContext(ctx, "it is not known whether turns are lost", "region", region, "turns", len(checks), "error", err)
		return
	}
	lost := 0
	for _, check := range checks {
		run := w.expected.lose(loopKey{Check: check, Region: region}, slices.Contains(owned, check), w.Now())
		if run != nil {
			w.startApart(run)
			lost++
		}
	}
	if lost > 0 {
		w.Log.WarnContext(ctx, "Temporal does not bring the next turns: probing goes on without them", "region", region, "turns", lost)
	}
}

// lose returns the turn of a loop that is lost, to be started, where the loop belongs to this worker. Otherwise it drops
// the turn.
func (x *expectedTurns) lose(key loopKey, owned bool, now time.Time) *turnRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	turn, ok := x.turns[key]
	switch {
	case !ok:
		return nil // one has begun meanwhile
	case !owned:
		delete(x.turns, key)
		return nil
	}
	turn.run.lost, turn.nudge = now.Add(lostFor), now.Add(lostNudge)
	x.turns[key] = turn
	return turn.run
}

// over drops the turn of a loop that was lost and does not go on.
func (x *expectedTurns) over(key loopKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.turns[key].nudge.IsZero() {
		delete(x.turns, key)
	}
}

// later returns the later one of two instants.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// stopped reports whether the worker of a turn stops.
func (t *turnRun) stopped() bool {
	select {
	case <-t.stop:
		return true
	default:
		return false
	}
}
