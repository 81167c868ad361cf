// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// budgeted sets a budget of turns a second, and the default window.
func budgeted(rate float64) func(*activities.WatcherOptions) {
	return func(o *activities.WatcherOptions) { o.TurnRate, o.QuietWindow = rate, 30*time.Minute }
}

// inPhase gives a check an ID with which the turn after its first one covers all of its
// slots.
func inPhase(span int) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		for covered := 0; covered != span; {
			def.Check.ID = uuid.New()
			def.Check.Anchor = vigil.NewAnchor(def.Check.ID, def.Starts[region], def.Check.Interval)
			first := scheduleOf(*def).Next(def.Starts[region])
			covered = vigil.TurnSlots(def.Check.ID, region, first, def.Check.Interval, span)
		}
	}
}

// fleet runs the loops of many checks as their workflows do.
type machines struct {
	*watchFixture
	stop chan struct{}
	wg   sync.WaitGroup

	mu    sync.Mutex
	ended []time.Time // ends of turns that were not handed over
	last  []activities.TurnResult
}

// launch starts the loops of n checks.
func (f *machines) launch(n int, interval time.Duration) {
	for range n {
		def := f.define(func(d *vigil.Definition) {
			d.Check.Interval = interval
			d.Check.Anchor = vigil.NewAnchor(d.Check.ID, time.Now(), interval)
		})
		turn := turnOf(def, vigil.State{})
		turn.Recover = true
		f.loop(turn)
	}
}

// loop runs turns until the fleet is stopped.
func (f *machines) loop(turn activities.Turn) {
	f.wg.Go(func() {
		for {
			result, err := f.watchUntil(turn, f.stop)
			if err != nil {
				f.Error(err)
				return
			}
			f.mu.Lock()
			if result.End == vigil.TurnHandOver {
				f.last = append(f.last, result)
				f.mu.Unlock()
				return
			}
			f.ended = append(f.ended, time.Now())
			f.mu.Unlock()
			turn.State, turn.Span, turn.By, turn.Recover = result.State, result.Span, result.By, false
		}
	})
}

// turnsIn returns how many turns end in the next while.
func (f *machines) turnsIn(while time.Duration) int {
	f.mu.Lock()
	f.ended = nil
	f.mu.Unlock()
	time.Sleep(while) // sleep: in a bubble only
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ended)
}

// end stops the loops and returns the results of their last turns.
func (f *machines) end() []activities.TurnResult {
	close(f.stop)
	f.wg.Wait()
	return f.last
}

func newFleet(t *testing.T, rate float64) *machines {
	t.Helper()
	return &machines{watchFixture: newWatchFixture(t, budgeted(rate)), stop: make(chan struct{})}
}

func TestTurnBudget(t *testing.T) {
	t.Parallel()

	t.Run("GivesEverySlotATurnWithinTheBudget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 1)
			f.launch(60, time.Minute)
			time.Sleep(10 * time.Minute)
			if n := f.turnsIn(10 * time.Minute); n != 600 {
				t.Errorf("%d turns in ten minutes, want one for each of 600 slots", n)
			}
			for _, r := range f.end() {
				if r.Span != 1 || r.Reason != vigil.TurnEverySlot {
					t.Errorf("%d slots, %q", r.Span, r.Reason)
				}
			}
		})
	})

	t.Run("CoversAsManySlotsAsTheBudgetDemands", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 1)
			f.launch(240, time.Minute) // 4 slots a second
			time.Sleep(20 * time.Minute)
			if n := f.turnsIn(20 * time.Minute); n < 1100 || n > 1260 {
				t.Errorf("%d turns in twenty minutes, want about 1200", n)
			}
			if got := f.watcher.Turns(); got.Slots != 4 || got.Rate != 1 || got.Due < 3.99 || got.Due > 4.01 || got.Tokens < 0 || got.Tokens > 20 {
				t.Errorf("figures %+v, want 4 slots a turn", got)
			}
			handed := f.end()
			if len(handed) != 240 {
				t.Errorf("%d hand-overs", len(handed))
			}
			for _, r := range handed {
				if r.Span != 4 || r.Reason != vigil.TurnBudget {
					t.Errorf("handed over with %d slots, %q", r.Span, r.Reason)
				}
			}
		})
	})

	t.Run("SpreadsTheTurnsOfLoopsThatBeganTogether", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0.5)
			f.launch(100, 20*time.Second) // 5 slots a second, so 10 slots a turn
			time.Sleep(10 * time.Minute)
			for minute := range 10 {
				if n := f.turnsIn(time.Minute); n < 15 || n > 50 {
					t.Errorf("%d turns in minute %d, want about 30", n, minute)
				}
			}
			f.end()
		})
	})

	t.Run("BoundsTurnsByTheWindow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, tiny)
			f.watcher.QuietWindow = 2 * time.Minute
			f.launch(1, time.Second)
			f.launch(1, 40*time.Second)
			f.launch(1, 3*time.Minute)
			time.Sleep(time.Hour)
			var spans []int
			for _, r := range f.end() {
				spans = append(spans, r.Span)
				if r.Reason != vigil.TurnWindow {
					t.Errorf("%d slots, %q", r.Span, r.Reason)
				}
			}
			if slices.Sort(spans); !slices.Equal(spans, []int{1, 3, 120}) {
				t.Errorf("spans %v", spans)
			}
		})
	})

	t.Run("ReturnsToOneSlotWhenLoopsLeave", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 1)
			f.launch(60, time.Minute)
			others := &machines{watchFixture: f.watchFixture, stop: make(chan struct{})}
			others.launch(240, time.Minute)
			time.Sleep(20 * time.Minute)
			if got := f.watcher.Turns().Slots; got != 5 {
				t.Errorf("%d slots a turn with 300 loops, want 5", got)
			}
			others.end()
			time.Sleep(30 * time.Second)
			if got := f.watcher.Turns().Slots; got != 5 {
				t.Errorf("%d slots a turn while the others may come back, want 5", got)
			}
			time.Sleep(time.Minute)
			if got := f.watcher.Turns(); got.Slots != 2 { // not yet a tenth below the budget
				t.Errorf("%d slots a turn with 60 loops, %g due", got.Slots, got.Due)
			}
			f.end()
		})
	})

	t.Run("MakesATurnForEverySlotWithoutABudget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			f.launch(20, time.Second)
			time.Sleep(time.Minute)
			if n := f.turnsIn(time.Minute); n != 1200 {
				t.Errorf("%d turns in a minute, want 1200", n)
			}
			if got := f.watcher.Turns(); got != (pace.Figures{Slots: 1}) {
				t.Errorf("figures %+v", got)
			}
			for _, r := range f.end() {
				if r.Span != 1 || r.Reason != vigil.TurnEverySlot && r.Reason != vigil.TurnKept {
					t.Errorf("%d slots, %q", r.Span, r.Reason)
				}
			}
		})
	})
}

// TestTurnBudgetNews tests what news costs.
func TestTurnBudgetNews(t *testing.T) {
	t.Parallel()

	t.Run("ReportsAFailureAtOnceAndThenEverySlotWhileThereAreTokens", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			_, turn := grown(w)
			w.observe = fails
			before := len(w.rows)
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnChanged || len(w.rows) != before+1 || result.Span != 1 || result.Reason != vigil.TurnGrowing {
				t.Errorf("end %s after %d rows, then %d slots, %q", result.End, len(w.rows)-before, result.Span, result.Reason)
			}
		})
	})

	t.Run("DoesNotMultiplyTheTurnsOfAMassOutage", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const loops = 150
			f := newFleet(t, 0.75)
			f.launch(loops, 20*time.Second) // 7.5 slots a second, so 10 slots a turn
			time.Sleep(10 * time.Minute)
			const cycle = 200 * time.Second
			calm := f.turnsIn(cycle)
			f.set(func() { f.observe = fails })
			if n := f.turnsIn(20 * time.Second); n < 31 || n > loops/3 {
				t.Errorf("%d of %d turns ended in the interval of the outage, want about 31: the others go on for a minute", n, loops)
			}
			if n := f.turnsIn(time.Minute); n < loops-50 || n > loops {
				t.Errorf("%d turns ended afterwards, want that of each of the other loops", n)
			}
			// Afterwards each loop makes one shorter turn, and then turns as before.
			if n := f.turnsIn(cycle); n > 2*calm {
				t.Errorf("%d turns in the time of a turn after the outage, %d before", n, calm)
			}
			if n := f.turnsIn(cycle); n > calm*11/10 {
				t.Errorf("%d turns in the time of a turn later, %d before", n, calm)
			}
			f.end()
		})
	})
}

// TestTurnBudgetOfALateTurn tests a turn that ends by its planned time.
func TestTurnBudgetOfALateTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchFixture(t, wide)
		def := w.define(func(d *vigil.Definition) {
			d.Check.Interval = 2 * time.Second
			inPhase(20)(d)
		})
		turn := w.started(def)
		turn.Span = 20
		w.observe = takes(5 * time.Second)
		if result := w.must(w.watch(turn)); result.End != vigil.TurnLate || result.Span != 20 || result.Reason != vigil.TurnKept {
			t.Errorf("end %s, then %d slots, %q", result.End, result.Span, result.Reason)
		}
	})
}
