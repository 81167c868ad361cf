// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/workflows"
)

// repeated returns how many slots of the drill were probed more than once, by the
// target's own record. A probe belongs to the newest slot at its time.
func (s *target) repeated(c *cluster) int {
	c.t.Helper()
	paths := c.paths()
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated := 0
	for _, loop := range c.loops() {
		probed := make(map[time.Time]bool)
		for _, at := range s.hits[paths[loop.check]] {
			if at.Before(c.began) {
				continue
			}
			slot := loop.schedule.Next(at).Add(-loop.schedule.Interval)
			if probed[slot] {
				repeated++
				c.t.Logf("slot %s of %s was probed again at %s", slot.Format(time.StampMilli), loop.check, at.Format(time.StampMilli))
			}
			probed[slot] = true
		}
	}
	return repeated
}

// paths returns the path that each check of the cluster requests.
func (s *cluster) paths() map[uuid.UUID]string {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id, name FROM checks")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	paths := make(map[uuid.UUID]string)
	for rows.Next() {
		var id uuid.UUID
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			s.t.Fatal(err)
		}
		paths[id] = "/" + strings.TrimPrefix(name, "cluster ")
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// betweenSlots waits for the middle of the longest time without a slot of any loop.
func (s *cluster) betweenSlots() {
	s.t.Helper()
	from := time.Now().Add(100 * time.Millisecond)
	var slots []time.Time
	for _, loop := range s.loops() {
		first := loop.schedule.Next(from)
		slots = append(slots, first, loop.schedule.Next(first))
	}
	slices.SortFunc(slots, time.Time.Compare)
	var longest time.Duration
	var middle time.Time
	for i := 1; i < len(slots)/2; i++ {
		if gap := slots[i].Sub(slots[i-1]); gap > longest {
			longest, middle = gap, slots[i-1].Add(gap/2)
		}
	}
	wait(s.t, "an instant without a slot", time.Until(middle))
}

// foldsEqual compares the state of each loop with a fold over its stored results.
func (s *cluster) foldsEqual() {
	s.t.Helper()
	server := dialTemporal(s.t, s.temporal.ready.TemporalAddress, "vigil")
	defer server.Close()
	for _, loop := range s.loops() {
		var state vigil.LoopState
		value, err := server.QueryWorkflow(s.t.Context(), vigil.LoopID(loop.check, loop.region), "", workflows.QueryState)
		if err == nil {
			err = value.Get(&state)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if folded := s.fold(loop, state.Slot); !folded.Slot.Equal(state.Slot) ||
			folded.Health != state.Health || folded.Failures != state.Failures {
			s.t.Errorf("the state of %s is %+v, a fold over its results is %+v", loop.check, state.State, folded)
		}
	}
}

// fold evaluates the stored results of a loop up to a slot.
func (s *cluster) fold(loop observedLoop, until time.Time) vigil.State {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(),
		"SELECT slot, success FROM results WHERE check_id = $1 AND region = $2 AND slot <= $3 ORDER BY slot", loop.check, loop.region, until)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	state := vigil.State{}.For(vigil.TypeHTTP)
	for rows.Next() {
		var row vigil.Result
		if err := rows.Scan(&row.Slot, &row.Success); err != nil {
			s.t.Fatal(err)
		}
		state, _ = vigil.Evaluate(nil, state, row)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return state
}

// TestDrillWorkerWithoutPostgres cuts one of two workers off from Postgres, but not from
// Temporal: the other one must get its loops, and must not lose them to it again.
func TestDrillWorkerWithoutPostgres(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 20, interval: 2 * time.Second, pause: 20 * time.Second},
		drill{checks: 20, interval: 2 * time.Second, pause: 40 * time.Second})
	site := newTarget(t)
	s := newCluster(t)
	l := newLink(t, s.address().Host)
	s.workers[0].stop()
	s.startWorker(0, s.through(l.address))
	s.awaitWorkers()
	s.seed(site.URL, d.checks, d.interval)
	loops := func() int {
		return s.number("SELECT count(*) FROM check_regions WHERE worker LIKE $1", nameOf(s.workers[0]))
	}
	eventually(t, "the worker has some of the loops", func() bool { return loops() >= 3 })
	s.awaitResults(time.Now()) // every loop has results before the cut, from which its silence counts
	p := notePauses(t)
	l.cut()
	cut, mine := time.Now(), loops()
	eventually(t, "the other worker has all loops", func() bool { return loops() == 0 })
	moved := time.Since(cut)
	wait(t, "the end of the cut", time.Until(cut.Add(d.pause)))
	l.mend()
	mended := time.Now()
	s.awaitWorkers()
	back := time.Since(mended)
	wait(t, "slots after it", 2*d.interval)
	a := s.audit(time.Now())
	t.Logf("one of two workers without Postgres for %v, with %d of %d loops, which moved in %v; it was back in %v: %s; %v",
		d.pause, mine, d.checks, moved.Round(time.Millisecond), back.Round(time.Millisecond), &a, p)
	a.exact(t)
	figure(t, "longest silence of a loop", a.silence, 12*time.Second, p.longest())
	s.foldsEqual()
	for _, want := range []string{"lease expired", "lease renewed again"} {
		if log := s.workers[0].stderr.String(); !strings.Contains(log, want) {
			t.Errorf("the worker did not log %q:\n%s", want, log)
		}
	}
}

// TestDrillFrozenWorker freezes one of two workers in the middle of long turns, and thaws
// it after others have its loops: it must not probe for these turns again.
func TestDrillFrozenWorker(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 20, interval: 2 * time.Second, window: 30 * time.Minute, pause: 20 * time.Second},
		drill{checks: 20, interval: 2 * time.Second, window: 30 * time.Minute, pause: 2 * time.Minute})
	site := newTarget(t)
	s := newCluster(t, wideTurns(d.window)...)
	s.seed(site.URL, d.checks, d.interval)
	s.grow(d)
	victim, pattern, mine := s.busiest()
	p := notePauses(t)
	s.betweenSlots()
	victim.freeze()
	frozen := time.Now()
	site.broken.Store(true) // every result of the other worker counts in its state
	eventually(t, "the other worker has all loops", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE worker LIKE $1", pattern) == 0
	})
	moved := time.Since(frozen)
	wait(t, "the thaw", time.Until(frozen.Add(d.pause)))
	victim.thaw()
	s.awaitWorkers()
	wait(t, "slots after it", 4*d.interval)
	a := s.audit(time.Now())
	repeated := site.repeated(s)
	t.Logf("a worker frozen for %v with %d of %d loops, %d slots a turn; they moved in %v: %s; %v",
		d.pause, mine, d.checks, d.window/d.interval, moved.Round(time.Millisecond), &a, p)
	a.exact(t)
	figure(t, "slots probed twice", repeated, 0, 0)
	figure(t, "slots with two results", a.repeated, 0, 0)
	figure(t, "longest silence of a loop", a.silence, 30*time.Second, p.longest())
	s.foldsEqual()
	if log := victim.stderr.String(); !strings.Contains(log, "lease renewed again") {
		t.Errorf("the worker did not log that its lease had expired:\n%s", log)
	}
}
