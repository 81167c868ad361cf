// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// After Temporal has taken the end of a turn, a worker of the region gets the next one within milliseconds. While the
// hosts change that hand out Temporal's tasks, it may come a minute later, and the slots until then would be missed.
//
// So a worker remembers after each of its turns the one that would go on in its place, as in turn_ahead.go, until a turn
// of the loop begins here. Where none has, lostAfter after its slot was due, and the row of the loop still names this
// worker, that turn runs until the one of Temporal begins here, or the row names another worker. Temporal does not know of
// it and is not given its result: the turn that comes folds the stored results. Its first vote it reports as each turn does.
//
// A loop that is not silent is not nudged by the sweep, nor started again where an operator has ended its workflow at that
// instant. So the worker nudges it, for its task may have been on the way to a frontend that died, and it ends after lostFor.

// Where Temporal does not know the turn that has ended, another one has begun, or its workflow has ended. But a history host that
// was frozen or cut off says so, too, of a turn that others began meanwhile: until it writes, it does not know that its shard
// was another one's. A nudge is a write. So where no turn begins here and the row still names this worker, the loop is
// nudged once, and nothing runs in between.

const (
	// lostAfter is how long after the first slot of a turn another worker has to be named in the row of the loop, or the
	// turn is lost. A worker records the loops that it takes over when it renews its lease.
	lostAfter = 3 * fleet.LeaseRenewal
	// lostFor is how long a worker probes without the turn of Temporal. That took 50 s at most in the drills of
	// docs/scale.md.
	lostFor = 2 * time.Minute
	// lostNudge is how long it does until it makes the loop begin another turn, and between two such nudges.
	lostNudge = 30 * time.Second
	// nudgesPerLook is how many loops a process nudges each second at most: a nudged one gives up its place in the queue.
	nudgesPerLook = 20
	// lookTimeout is how long a question to Postgres or a nudge may take.
	lookTimeout = 3 * time.Second
)

// expectedTurns are the turns that may be lost: one for each loop whose turn has ended in this process, and has not
// begun again here.
type expectedTurns struct {
	mu      sync.Mutex
	turns   map[loopKey]*expectedTurn
	watched bool // a goroutine looks for lost ones
}

// expectedTurn is a turn that goes on where the one of Temporal does not come.
type expectedTurn struct {
	run   *turnRun
	after *turnRun  // the turn that has ended, nil once Temporal has taken its end
	due   time.Time // the first slot
	// unknown is whether Temporal did not know the turn that has ended.
	unknown bool
	// nudge is when the worker nudges the loop of a turn that is lost and runs, zero for one that is not.
	nudge time.Time
}

// lost reports whether the turn is lost and runs; nil is none.
func (e *expectedTurn) lost() bool { return e != nil && !e.nudge.IsZero() }

// late reports whether it is to be found out whether the turn is lost.
func (e *expectedTurn) late(now time.Time) bool {
	return e.after == nil && !e.lost() && now.Sub(e.due) >= lostAfter
}

// expect remembers the turn after one, before Temporal is given the end of that.
func (w *Watcher) expect(t, after *turnRun, due time.Time) {
	x := &w.expected
	x.mu.Lock()
	defer x.mu.Unlock()
	if due = timing.Later(due, w.Now()); rowsDecide(t.turn.Region) {
		due = w.Now() // a ping or a result may come at any time
	}
	x.turns[t.turn.key()] = &expectedTurn{run: t, after: after, due: due}
	w.watch()
}

// expectOther remembers that another turn is to begin after what a turn owes, before Temporal is given that: where none does, its
// loop is nudged. The turn that goes on decides nothing meanwhile.
func (w *Watcher) expectOther(after *turnRun) {
	run := w.newTurn(after.turn, after.call, after.fence, after.stop)
	x := &w.expected
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns[after.turn.key()] = &expectedTurn{run: run, after: after, due: w.Now(), unknown: true}
	w.watch()
}

// watch watches the turns that are expected, of which the lock is held.
func (w *Watcher) watch() {
	if x := &w.expected; !x.watched {
		x.watched = true
		go w.watchExpected()
	}
}

// taken notes that Temporal has taken the end of a turn.
func (x *expectedTurns) taken(after *turnRun) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if turn := x.turns[after.turn.key()]; turn != nil && turn.after == after {
		turn.after = nil
	}
}

// unknown notes that Temporal does not know a turn that has ended.
func (x *expectedTurns) unknown(after *turnRun) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if turn := x.turns[after.turn.key()]; turn != nil && turn.after == after {
		turn.after, turn.unknown = nil, true
	}
}

// drop forgets the turn after one whose end Temporal has not taken.
func (x *expectedTurns) drop(after *turnRun) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if turn := x.turns[after.turn.key()]; turn != nil && turn.after == after {
		delete(x.turns, after.turn.key())
	}
}

// forget drops the turn of a loop of which one begins, and reports whether it was lost and ran.
func (x *expectedTurns) forget(key loopKey) (lost bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	lost = x.turns[key].lost()
	delete(x.turns, key)
	return lost
}

// over drops the turn of a loop that was lost and does not go on.
func (x *expectedTurns) over(key loopKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.turns[key].lost() {
		delete(x.turns, key)
	}
}

// runs reports whether the turn of a loop is lost and runs.
func (x *expectedTurns) runs(key loopKey) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.turns[key].lost()
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

// lookForLost starts the turns that are lost now, nudges the loops of those that run, and reports whether others are
// expected.
func (w *Watcher) lookForLost() (more bool) {
	x, now := &w.expected, w.Now()
	late, nudges := make(map[string][]uuid.UUID), 0
	x.mu.Lock()
	for key, turn := range x.turns {
		switch fence, ok := w.Lease.Holds(key.Region); {
		case turn.run.stopped(), ok && fence != turn.run.fence, turn.lost() && now.After(turn.run.lost):
			delete(x.turns, key)
		case ok && turn.late(now) && !turn.unknown:
			late[key.Region] = append(late[key.Region], key.Check)
		case ok && (turn.late(now) || turn.lost() && !now.Before(turn.nudge)) && nudges < nudgesPerLook:
			nudges++
			late[key.Region] = append(late[key.Region], key.Check)
		}
	}
	x.watched = len(x.turns) > 0
	more = x.watched
	x.mu.Unlock()
	for region, checks := range late {
		w.startLost(region, checks)
	}
	return more
}

// startLost starts or nudges those of the turns of a region whose loops belong to this worker, and drops the others.
func (w *Watcher) startLost(region string, checks []uuid.UUID) {
	ctx, cancel := context.WithTimeout(w.apart.ctx, lookTimeout)
	defer cancel()
	owned, err := w.Owners.OwnedLoops(ctx, fleet.Lease{Worker: w.Worker, Region: region}, checks)
	if err != nil {
		if w.apart.ctx.Err() == nil {
			w.Log.WarnContext(ctx, "it is not known whether turns are lost", "region", region, "turns", len(checks), "error", err)
		}
		return
	}
	mine := make(map[uuid.UUID]bool, len(owned))
	for _, check := range owned {
		mine[check] = true
	}
	var nudge []vigil.OpenTurn
	lost := 0
	for _, check := range checks {
		run, again := w.lose(loopKey{Check: check, Region: region}, mine[check])
		switch {
		case again:
			nudge = append(nudge, vigil.OpenTurn{CheckID: check, Region: region})
		case run != nil:
			w.startApart(run)
			lost++
		}
	}
	if lost > 0 {
		w.Log.WarnContext(ctx, "Temporal does not bring the next turns: probing goes on without them", "region", region, "turns", lost)
	}
	if len(nudge) > 0 {
		w.apart.start(func() { w.nudgeLost(nudge) })
	}
}

// lose returns the turn of a loop to be started, since it is lost, or that the loop of one that runs, or of which Temporal did
// not know the turn before, is to be nudged.
// Where the loop belongs to another worker it drops the turn, and ends one that runs.
func (w *Watcher) lose(key loopKey, owned bool) (start *turnRun, nudge bool) {
	x, now := &w.expected, w.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	turn := x.turns[key]
	switch {
	case turn == nil, !turn.lost() && !turn.late(now):
		return nil, false // one has begun meanwhile
	case !owned:
		delete(x.turns, key)
		if turn.lost() {
			w.locks.supersede(key, turn.run.call.scheduled)
		}
		return nil, false
	case turn.lost():
		turn.nudge = now.Add(lostNudge)
		return nil, true
	case turn.unknown: // it does not run, and is forgotten before it would be nudged again
		turn.run.lost, turn.nudge = now.Add(lostNudge), now.Add(lostFor)
		return nil, true
	}
	turn.run.lost, turn.nudge = now.Add(lostFor), now.Add(lostNudge)
	return turn.run, false
}

// nudgeLost makes the loops of lost turns begin other ones, unless one has begun here. One that fails, as while its shard of
// history is away, does not hold up the others: it is nudged again later.
func (w *Watcher) nudgeLost(turns []vigil.OpenTurn) {
	for _, turn := range turns {
		ctx, cancel := context.WithTimeout(w.apart.ctx, lookTimeout)
		if w.expected.runs(loopKey{Check: turn.CheckID, Region: turn.Region}) {
			if err := w.Completer.RepeatTurn(ctx, turn); err != nil && w.apart.ctx.Err() == nil {
				w.Log.WarnContext(ctx, "lost turn not nudged", "check", turn.CheckID, "region", turn.Region, "error", err)
			}
		}
		cancel()
	}
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
