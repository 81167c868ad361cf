// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/reconcile"
)

// temporalSide is the sentinels of a Temporal, by their generation. run numbers their runs.
type temporalSide struct {
	mu      sync.Mutex
	known   map[int64]fleet.Sentinel
	run     int
	started int
	away    bool
	failing string                   // the call that fails
	stale   map[int64]fleet.Sentinel // what is read without a write, nil: what is known
}

func (s *temporalSide) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// call runs one, unless it fails.
func (s *temporalSide) call(name string, do func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away || s.failing == name {
		return errAway
	}
	do()
	return nil
}

func (s *temporalSide) Find(_ context.Context, generation int64) (found fleet.Sentinel, err error) {
	err = s.call("find", func() {
		if found = s.known[generation]; s.stale != nil {
			found = s.stale[generation]
		}
	})
	return found, err
}

func (s *temporalSide) FindWritten(_ context.Context, generation int64) (found fleet.Sentinel, err error) {
	err = s.call("find written", func() { found, s.stale = s.known[generation], nil })
	return found, err
}

func (s *temporalSide) Start(_ context.Context, generation int64) error {
	return s.call("start", func() {
		s.started++
		if !s.known[generation].Open {
			s.run++
			s.known[generation] = fleet.Sentinel{Found: true, Open: true}
		}
	})
}

func (s *temporalSide) Close(_ context.Context, generation int64, _ string) error {
	return s.call("close", func() {
		known := s.known[generation]
		known.Open = false
		s.known[generation] = known
	})
}

func (s *temporalSide) Write(_ context.Context, generation, epoch int64) error {
	return s.call("write", func() {
		known := s.known[generation]
		known.Epoch = max(known.Epoch, epoch)
		s.known[generation] = known
	})
}

// postgresSide keeps the epoch. fences are those of the changes, found the restores.
type postgresSide struct {
	emptyStore

	mu        sync.Mutex
	now       fleet.Epoch
	announced time.Time
	fences    []int64
	found     []fleet.RestoreSign
	failing   string // the call that fails
}

func (g *postgresSide) change(name string, lease fleet.SweepLease, may bool, change func()) (bool, error) {
	if g.failing == name {
		return false, errAway
	}
	if may {
		change()
		g.fences = append(g.fences, lease.Fence)
	}
	return may, nil
}

func (g *postgresSide) Epoch(context.Context) (fleet.Epoch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.now
	e.Due = time.Since(g.announced) >= 5*time.Second
	return e, nil
}

func (g *postgresSide) same(from fleet.Epoch) bool {
	return from.Number == g.now.Number && from.Floor == g.now.Floor
}

func (g *postgresSide) AdvanceTemporalGeneration(_ context.Context, lease fleet.SweepLease, to int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.change("advance", lease, to == g.now.Generation+1, func() { g.now.Generation = to })
}

func (g *postgresSide) AnnounceEpoch(_ context.Context, lease fleet.SweepLease, from fleet.Epoch, floor int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.change("announce", lease, g.same(from), func() { g.now.Number, g.now.Floor, g.announced = from.Number+1, floor, time.Now() })
}

func (g *postgresSide) ConfirmEpoch(_ context.Context, lease fleet.SweepLease, number int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.change("confirm", lease, number == g.now.Number, func() { g.now.Floor = number })
	return err
}

func (g *postgresSide) FoundRestore(
	_ context.Context, lease fleet.SweepLease, from fleet.Epoch, known int64, why fleet.RestoreSign,
) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.change("restore", lease, g.same(from), func() {
		g.now.Number, g.now.Floor, g.announced = max(from.Number, known)+1, 0, time.Now()
		g.found = append(g.found, why)
	})
}

// storesFixture is a sweep between the two stores.
type storesFixture struct {
	*testing.T
	temporal *temporalSide
	postgres *postgresSide
}

// watchStores runs a test beside a sweep that watches the stores.
func watchStores(t *testing.T, run func(*storesFixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &storesFixture{
			T: t, temporal: &temporalSide{known: make(map[int64]fleet.Sentinel)}, postgres: &postgresSide{now: fleet.Epoch{Number: 1}},
		}
		options := optionsOf(f.postgres, &workflows{})
		options.Sentinel, options.Epochs = f.temporal, f.postgres
		sweep := reconcile.New(options)
		sweep.Start(t.Context())
		run(f)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		for _, fence := range f.postgres.fences {
			if fence != 1 {
				t.Errorf("changed under fence %d", fence)
			}
		}
	})
}

// expect compares what is there some passes later.
func (f *storesFixture) expect(fact string, generation int64, started int, found ...fleet.RestoreSign) {
	f.Helper()
	time.Sleep(6 * time.Second) // sleep: in a bubble only
	f.postgres.mu.Lock()
	defer f.postgres.mu.Unlock()
	f.temporal.mu.Lock()
	defer f.temporal.mu.Unlock()
	if now := f.postgres.now; now.Generation != generation || f.temporal.started != started {
		f.Errorf("%s: generation %d and %d starts of a sentinel, want %d and %d", fact, now.Generation, f.temporal.started, generation, started)
	}
	if len(f.postgres.found) != len(found) || len(found) > 0 && f.postgres.found[len(found)-1] != found[len(found)-1] {
		f.Errorf("%s: found %v, want %v", fact, f.postgres.found, found)
	}
}

// settled waits until both stores have the same epoch.
func (f *storesFixture) settled() {
	f.Helper()
	time.Sleep(20 * time.Second) // sleep: in a bubble only
	f.postgres.mu.Lock()
	defer f.postgres.mu.Unlock()
	f.temporal.mu.Lock()
	defer f.temporal.mu.Unlock()
	now, known := f.postgres.now, f.temporal.known[f.postgres.now.Generation]
	if now.Floor != now.Number || known.Epoch != now.Number || !known.Open || time.Since(f.postgres.announced) > 7*time.Second {
		f.Errorf("Postgres has %+v since %v, Temporal %+v", now, f.postgres.announced, known)
	}
}

func TestTemporalStore(t *testing.T) {
	t.Parallel()
	watchStores(t, func(f *storesFixture) {
		f.expect("the first sentinel is started", 1, 1)
		f.temporal.change(func() { f.temporal.away = true })
		f.expect("a Temporal that is away has lost nothing", 1, 1)
		f.temporal.change(func() {
			known := f.temporal.known[1]
			f.temporal.away, known.Open = false, false
			f.temporal.known[1] = known
		})
		f.expect("a sentinel that somebody closed is started again", 1, 2)
		f.settled()
		f.temporal.change(func() { clear(f.temporal.known) })
		f.expect("a store without the sentinel is the next generation", 2, 3)
		f.settled()
		f.temporal.change(func() {
			clear(f.temporal.known)
			f.temporal.known[1] = fleet.Sentinel{Found: true, Open: true, Epoch: 3}
		})
		f.expect("one that was restored from before is older, too", 3, 4, fleet.TemporalOlder)
		f.settled()
	})
}

func TestEpoch(t *testing.T) {
	t.Parallel()

	t.Run("FindsAnOlderStoreOnce", func(t *testing.T) {
		t.Parallel()
		watchStores(t, func(f *storesFixture) {
			f.settled()
			f.temporal.mu.Lock()
			temporal, postgres := maps.Clone(f.temporal.known), f.postgres.now
			f.temporal.mu.Unlock()
			f.expect("nothing is older", 1, 1)
			f.settled()
			f.temporal.change(func() { f.temporal.known = temporal })
			f.expect("Temporal is older", 1, 1, fleet.TemporalOlder)
			f.settled()
			f.postgres.mu.Lock()
			f.postgres.now = postgres
			f.postgres.mu.Unlock()
			f.expect("Postgres is older", 1, 1, fleet.TemporalOlder, fleet.DatabaseOlder)
			f.settled()
			f.expect("none is any more", 1, 1, fleet.TemporalOlder, fleet.DatabaseOlder)
		})
	})

	// As that of a host that was cut off, and has not noticed yet that others have its shard.
	t.Run("TakesAnOlderAnswerForNoOlderStore", func(t *testing.T) {
		t.Parallel()
		watchStores(t, func(f *storesFixture) {
			f.settled()
			f.temporal.mu.Lock()
			older := maps.Clone(f.temporal.known)
			f.temporal.mu.Unlock()
			f.settled()
			f.temporal.change(func() { f.temporal.stale = older })
			f.settled()
			f.temporal.change(func() { f.temporal.stale, f.temporal.failing = older, "find written" })
			f.expect("where the write fails, it counts neither", 1, 1)
			f.temporal.change(func() { f.temporal.failing = "" })
			f.settled()
			f.expect("nothing was restored", 1, 1)
		})
	})

	t.Run("GoesOnInAnotherRunOfTheSentinel", func(t *testing.T) {
		t.Parallel()
		watchStores(t, func(f *storesFixture) {
			f.settled()
			f.temporal.change(func() {
				known := f.temporal.known[1]
				known.Full, known.RunID = true, "a run"
				f.temporal.known[1] = known
			})
			f.expect("the next run is started", 1, 2)
			f.settled()
			f.expect("it is the last one", 1, 2)
		})
	})

	// Any call may fail, or be the last one of a process: nothing is taken for a restore.
	for _, side := range []string{"find", "start", "close", "write", "advance", "announce", "confirm", "restore"} {
		t.Run("TakesNothingForARestoreWhenItCannot/"+side, func(t *testing.T) {
			t.Parallel()
			watchStores(t, func(f *storesFixture) {
				fail := func(call string) {
					f.temporal.change(func() { f.temporal.failing = call })
					f.postgres.mu.Lock()
					f.postgres.failing = call
					f.postgres.mu.Unlock()
				}
				for _, change := range []func(){
					func() {},
					func() { f.temporal.known[1] = fleet.Sentinel{Found: true, Epoch: f.temporal.known[1].Epoch} },
					func() {
						known := f.temporal.known[1]
						known.Full = true
						f.temporal.known[1] = known
					},
				} {
					fail(side)
					f.temporal.change(change)
					time.Sleep(20 * time.Second) // sleep: in a bubble only
					fail("")
					f.settled()
				}
				if len(f.postgres.found) > 0 {
					f.Errorf("found %v", f.postgres.found)
				}
			})
		})
	}
}
