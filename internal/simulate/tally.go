// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"time"

	"github.com/vigil-monitor/vigil"
)

// counts are what has happened.
type counts struct {
	stored, missed, wakes, groups, turns int64
	lateness                             histogram
}

// tally counts what happens in the whole simulation, in its measured time and from the loss on.
type tally struct {
	whole, measured, after counts
	nudges                 int64
	movedLoops             int64
	turnsAgain             histogram // from the loss until a lost loop had its turn again
	silence                time.Duration
	lateSecond             int64 // results after the loss that were more than a second late
	votes                  []voter
	voterOf                map[uint32]int
}

// phase is the counts of the time in which something happens now, beside the whole.
func (t *tally) phase(w *world) *counts {
	switch {
	case w.lossAt > 0:
		return &t.after
	case w.measuring:
		return &t.measured
	}
	return nil
}

// result counts a result that is stored now.
func (t *tally) result(w *world, l *loop, r *row) {
	for _, c := range []*counts{&t.whole, t.phase(w)} {
		if c == nil {
			continue
		}
		c.stored++
		c.missed += int64(r.missed)
		if r.wakes {
			c.wakes++
		}
		if c != &t.whole {
			c.lateness.add(time.Duration(r.late))
		}
	}
	if w.lossAt == 0 {
		return
	}
	if time.Duration(r.late) > time.Second {
		t.lateSecond++
	}
	if l.stored > 0 {
		t.silence = max(t.silence, time.Duration(w.now-l.stored)-w.o.Interval)
	}
	l.moved = false
	if at, ok := t.voterOf[r.loop]; ok {
		t.votes[at].see(w, r)
	}
}

func (t *tally) group(w *world) {
	t.whole.groups++
	if c := t.phase(w); c != nil {
		c.groups++
	}
}

func (t *tally) turn(w *world) {
	t.whole.turns++
	if c := t.phase(w); c != nil {
		c.turns++
	}
}

// movedTurn counts a turn of a lost loop that begins.
func (t *tally) movedTurn(w *world) { t.turnsAgain.add(time.Duration(w.now - w.lossAt)) }

// lost begins the time after the loss: some of the lost loops are those of checks that begin to fail then.
func (t *tally) lost(w *world) {
	t.voterOf = make(map[uint32]int)
	const voters = 2000
	for n := 0; n < voters; n++ {
		i := uint32(w.rng.IntN(len(w.loops))) //nolint:gosec // at most loopLimit
		if _, ok := t.voterOf[i]; ok {
			continue
		}
		t.voterOf[i] = len(t.votes)
		t.votes = append(t.votes, newVoter(w, i))
	}
}

// account returns how many slots were due in the whole simulation by the schedules of the loops, and how many of these are
// open at its end: the newest of a loop, when it has no result yet. Slots without a result that have a newer one are missed.
func (w *world) account() (due, open int64) {
	now := w.instant(w.now)
	for i := range w.loops {
		l := &w.loops[i]
		from := l.schedule.Start
		if w.o.Created == 0 { // it goes on after the newest slot before the beginning
			from = w.origin.Add(1)
		}
		due += l.schedule.Count(from, now)
		if left := l.schedule.Count(l.schedule.Next(l.slot), now); left > 0 {
			open++
			w.out.whole.missed += left - 1
			if w.lossAt > 0 {
				w.out.after.missed += left - 1
			}
		}
	}
	return due, open
}

// voter is a check that fails from an instant after the loss on, and its loop in the simulated region.
type voter struct {
	fails  int64 // the instant
	silent int64 // when the region would be silent for it, by the sweep
	seen   int64 // when the failure was stored here; 0: not yet
	others []int64
	usual  int64 // when it would be stored here without the loss
}

// newVoter returns the check of a loop that fails within an interval after the loss.
func newVoter(w *world, i uint32) voter {
	l := &w.loops[i]
	v := voter{fails: w.now + w.random(w.o.Interval)}
	check := vigil.Check{ID: l.id, Interval: w.o.Interval, Anchor: l.schedule.Anchor, Regions: vigil.RegionKeys()}
	n := min(w.o.Regions, len(check.Regions))
	check.Regions = check.Regions[:n]
	stores := int64(w.o.Response + groupDelay + w.o.Commit)
	for _, key := range check.Regions[1:] {
		other := check.Schedule(key, l.schedule.Start)
		v.others = append(v.others, w.since(other.Next(w.instant(v.fails-1)))+stores)
	}
	v.usual = w.since(l.schedule.Next(w.instant(v.fails-1))) + stores
	due := w.since(l.schedule.Next(l.slot))
	v.silent = int64(math.Ceil(float64(due+int64(2*w.o.Interval+w.o.Timeout))/float64(silencePass))) * int64(silencePass)
	return v
}

// silencePass is how often the sweep looks for silent regions.
const silencePass = 5 * time.Second

// see is a result of the check in the region.
func (v *voter) see(w *world, r *row) {
	if v.seen == 0 && r.came-int64(w.o.Response) >= v.fails {
		v.seen = w.now
	}
}

// opens returns how long after the failure a rule with a region policy is met, when the failure is stored in the region at an
// instant, 0 for never; false: it is not met in the simulated time.
func (v *voter) opens(policy vigil.RegionPolicy, here, end int64) (time.Duration, bool) {
	instants := append([]int64{v.silent}, v.others...)
	if here > 0 {
		instants = append(instants, here)
	}
	best := end
	for _, at := range instants {
		firing, voting := 0, len(v.others)
		for _, other := range v.others {
			if other <= at {
				firing++
			}
		}
		if saw := here > 0 && here <= at; saw || at < v.silent {
			voting++
			if saw {
				firing++
			}
		}
		if at < best && policy.Met(firing, voting) {
			best = at
		}
	}
	return time.Duration(best - v.fails), best < end
}
