package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"golang.org/x/sync/semaphore"

	"vigil"
	"vigil/activities"
	"vigil/probe"
)

const region = "eu-central-fra"

// world is a Watcher with everything around it in memory, run on synthetic
// time: what is tested here is when things happen. That they happen in Postgres
// and Temporal is tested end to end.
type world struct {
	*testing.T
	watcher   *activities.Watcher
	catalogue *activities.Catalogue

	mu   sync.Mutex
	defs map[uuid.UUID]vigil.Definition
	gone []vigil.Tombstone
	rows []vigil.Result
	runs []time.Time // instants at which a probe began
	// look is what the probe does; nil succeeds at once.
	look func(ctx context.Context) vigil.Observation
	away bool // Postgres cannot be read
}

func newWorld(t *testing.T, options ...func(*activities.WatcherOptions)) *world {
	t.Helper()
	w := &world{T: t, defs: make(map[uuid.UUID]vigil.Definition)}
	quiet := slog.New(slog.DiscardHandler)
	w.catalogue = activities.NewCatalogue(w, w, []string{region}, time.Now, quiet)
	opts := activities.WatcherOptions{
		Catalogue: w.catalogue, Results: w, History: w,
		Probes: semaphore.NewWeighted(256), Worker: "test", Now: time.Now, Log: quiet,
	}
	for _, option := range options {
		option(&opts)
	}
	w.watcher = activities.NewWatcher(opts)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go w.catalogue.Run(ctx)
	return w
}

// define stores a new revision of a check that starts now.
func (w *world) define(change func(*vigil.Definition)) vigil.Definition {
	def := vigil.Definition{
		Check: vigil.Check{
			ID: uuid.New(), Type: "memory", Interval: time.Minute, Regions: []string{region},
			Enabled: true, Simultaneous: true, Revision: 1,
		},
		Starts: map[string]time.Time{region: time.Now()},
	}
	def.Check.Anchor = vigil.NewAnchor(def.Check.ID, time.Now(), def.Check.Interval)
	if change != nil {
		change(&def)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.defs[def.Check.ID] = def
	return def
}

func (w *world) Definitions(context.Context, []string, time.Time) ([]vigil.Definition, []vigil.Tombstone, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, nil, errors.New("away")
	}
	var defs []vigil.Definition
	for _, def := range w.defs {
		defs = append(defs, def)
	}
	return defs, slices.Clone(w.gone), nil
}

func (w *world) Definition(_ context.Context, id uuid.UUID) (vigil.Definition, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return vigil.Definition{}, errors.New("away")
	}
	def, ok := w.defs[id]
	if !ok {
		return def, vigil.NotFound("check")
	}
	return def, nil
}

func (w *world) Parse(vigil.CheckType, json.RawMessage, time.Duration) (probe.Probe, error) {
	return memoryProbe{w}, nil
}

type memoryProbe struct{ w *world }

func (memoryProbe) Deadline() time.Duration { return 10 * time.Second }
func (memoryProbe) Target() string          { return "memory" }

func (p memoryProbe) Run(ctx context.Context) vigil.Observation {
	p.w.mu.Lock()
	p.w.runs = append(p.w.runs, time.Now())
	look := p.w.look
	p.w.mu.Unlock()
	if look == nil {
		return vigil.Observation{Success: true}
	}
	return look(ctx)
}

func (w *world) Write(_ context.Context, row vigil.ResultRow) (vigil.StoredResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.defs[row.Result.CheckID]; !ok {
		return vigil.StoredResult{}, vigil.NotFound("check")
	}
	for _, stored := range w.rows {
		if stored.Slot.Equal(row.Result.Slot) {
			return vigil.StoredResult{Result: stored}, nil
		}
	}
	w.rows = append(w.rows, row.Result)
	return vigil.StoredResult{Result: row.Result, Inserted: true}, nil
}

func (w *world) ResultsAfter(_ context.Context, _ uuid.UUID, _ string, slot time.Time, limit int) ([]vigil.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []vigil.Result
	for _, row := range w.rows {
		if row.Slot.After(slot) && len(rows) < limit {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (w *world) LatestResults(_ context.Context, _ uuid.UUID, _ string, n int) ([]vigil.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.rows[max(0, len(w.rows)-n):]), nil
}

func (w *world) LastDNSAnswer(context.Context, uuid.UUID, string, time.Time) (string, time.Time, error) {
	return "", time.Time{}, nil
}

// watch runs one turn to its end.
func (w *world) watch(turn activities.Turn) (activities.TurnResult, error) {
	return w.watchUntil(turn, nil)
}

// watchUntil runs one turn on a worker that stops when the channel closes.
func (w *world) watchUntil(turn activities.Turn, stop chan struct{}) (activities.TurnResult, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(48 * time.Hour)
	if stop != nil {
		env.SetWorkerStopChannel(stop)
	}
	env.RegisterActivityWithOptions(w.watcher.Watch, activity.RegisterOptions{Name: "Watch"})
	var result activities.TurnResult
	value, err := env.ExecuteActivity("Watch", turn)
	if err != nil {
		return result, err
	}
	return result, value.Get(&result)
}

func (w *world) must(result activities.TurnResult, err error) activities.TurnResult {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return result
}

func turnOf(def vigil.Definition, state vigil.State) activities.Turn {
	return activities.Turn{CheckID: def.Check.ID, Region: region, Revision: def.Check.Revision, State: state, Span: 1}
}

// startedAgo lets a check have started earlier.
func startedAgo(d time.Duration) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		start := time.Now().Add(-d)
		def.Starts = map[string]time.Time{region: start}
		def.Check.Anchor = vigil.NewAnchor(def.Check.ID, start, def.Check.Interval)
	}
}

// firing gives a check one rule.
func firing(condition vigil.Condition) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		def.Rules = []vigil.Rule{{ID: uuid.New(), Condition: condition, Enabled: true}}
	}
}

func scheduleOf(def vigil.Definition) vigil.Schedule {
	s, _ := def.Schedule(region)
	return s
}

func TestWatch(t *testing.T) {
	t.Parallel()

	t.Run("ProbesSlotZeroAtOnceAndTheNextOnItsInstant", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			first := w.must(w.watch(turnOf(def, vigil.State{})))
			if !first.State.Slot.Equal(def.Starts[region]) || first.End != activities.Changed {
				t.Errorf("first turn: slot %v end %s, want %v and changed", first.State.Slot, first.End, def.Starts[region])
			}
			second := w.must(w.watch(turnOf(def, first.State)))
			want := scheduleOf(def).Next(def.Starts[region])
			if !second.State.Slot.Equal(want) || !w.runs[1].Equal(want) {
				t.Errorf("second slot %v probed at %v, want both at %v", second.State.Slot, w.runs[1], want)
			}
			if second.End != activities.Covered || second.Span != 1 {
				t.Errorf("second turn: %+v", second)
			}
		})
	})

	t.Run("RunsTheNewestMissedSlotAndNoneBeforeIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			time.Sleep(10*time.Minute + 7*time.Second)
			newest, _ := scheduleOf(def).Newest(time.Now())
			result := w.must(w.watch(turnOf(def, state)))
			if !result.State.Slot.Equal(newest) || len(w.runs) != 2 {
				t.Errorf("slot %v after %d probes, want %v after 2", result.State.Slot, len(w.runs), newest)
			}
		})
	})

	t.Run("FoldsTheStoredRowWhenTheSlotHasOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			slot := scheduleOf(def).Next(state.Slot)
			w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
			result := w.must(w.watch(turnOf(def, state)))
			if result.State.Health != vigil.Unhealthy || result.State.Failures != 1 || result.End != activities.Changed {
				t.Errorf("folded its own probe: %+v", result)
			}
		})
	})

	t.Run("RecoversTheRowsOfALostTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			lost := w.must(w.watch(turnOf(def, vigil.State{}))).State
			w.look = func(context.Context) vigil.Observation { return vigil.Observation{Error: "down"} }
			for range 3 {
				w.must(w.watch(turnOf(def, w.must(w.watch(turnOf(def, vigil.State{}))).State)))
			}
			turn := turnOf(def, lost)
			turn.Recover = true
			result := w.must(w.watch(turn))
			if want := len(w.rows) - 1; result.State.Failures != want {
				t.Errorf("%d failures in a row, want the %d that are stored", result.State.Failures, want)
			}
		})
	})

	t.Run("RebuildsALoopWithoutAStateFromTheRows", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(startedAgo(10 * time.Minute))
			for i := range 4 {
				slot := def.Starts[region].Add(time.Duration(i) * time.Minute)
				w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
			}
			w.look = func(context.Context) vigil.Observation { return vigil.Observation{Error: "down"} }
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if result.State.Failures != 5 || result.End != activities.Covered {
				t.Errorf("state %+v end %s, want 5 failures and no news", result.State, result.End)
			}
		})
	})

	t.Run("RebuildsNothingFromBeforeTheCheckWasDisabled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(firing(vigil.Condition{HealthStatus: "down"}))
			w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(-time.Hour)})
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if len(result.State.Firing) > 0 || len(w.runs) != 1 {
				t.Errorf("state %+v after %d probes: a result of another time counts", result.State, len(w.runs))
			}
		})
	})

	t.Run("EndsBehindTheResultThatMakesARuleFire", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(o *activities.WatcherOptions) { o.QuietWindow = time.Hour })
			def := w.define(firing(vigil.Condition{FailureThreshold: 3}))
			w.look = func(context.Context) vigil.Observation { return vigil.Observation{Error: "down"} }
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			turn := turnOf(def, result.State)
			turn.Span = 60
			result = w.must(w.watch(turn))
			if result.End != activities.Changed || result.State.Failures != 3 || !slices.Equal(result.State.Firing, []uuid.UUID{def.Rules[0].ID}) {
				t.Errorf("end %s with state %+v", result.End, result.State)
			}
		})
	})

	t.Run("TellsAnEpisodeThatALostTurnLeftBehind", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(firing(vigil.Condition{HealthStatus: "down"}))
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			for i, success := range []bool{true, false, false, true} {
				w.rows = append(w.rows, vigil.Result{
					CheckID: def.Check.ID, Region: region, Slot: state.Slot.Add(time.Duration(i+1) * time.Second),
					Observation: vigil.Observation{Success: success},
				})
			}
			turn := turnOf(def, state)
			turn.Recover = true
			began := w.must(w.watch(turn))
			if began.End != activities.Changed || !began.Behind || len(began.State.Firing) != 1 || !began.State.Slot.Equal(state.Slot.Add(2*time.Second)) {
				t.Fatalf("the beginning is told as %+v", began)
			}
			turn.State = began.State
			over := w.must(w.watch(turn))
			if over.End != activities.Changed || !over.Behind || len(over.State.Firing) != 0 || len(w.runs) != 1 {
				t.Fatalf("the end is told as %+v after %d probes", over, len(w.runs))
			}
			turn.State = over.State
			if rest := w.must(w.watch(turn)); rest.Behind || rest.End != activities.Covered || len(w.runs) != 2 {
				t.Errorf("the turn after it is %+v after %d probes", rest, len(w.runs))
			}
		})
	})

	t.Run("StartsEvaluationAnewWhenTheTypeChanges", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 2}))
			w.look = func(context.Context) vigil.Observation { return vigil.Observation{Error: "down"} }
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			result = w.must(w.watch(turnOf(def, result.State)))
			if len(result.State.Firing) != 1 {
				t.Fatalf("nothing fires: %+v", result.State)
			}
			changed := w.define(func(d *vigil.Definition) {
				*d = def
				d.Check.Type, d.Check.Revision = "other", 2
			})
			if result = w.must(w.watch(turnOf(changed, result.State))); result.State.Failures != 1 || len(result.State.Firing) != 0 {
				t.Errorf("state %+v: failures of another type count", result.State)
			}
		})
	})

	t.Run("SaysOnceThatItsSlotsBeganAnew", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			before := w.must(w.watch(turnOf(def, vigil.State{}))).State
			again := w.define(func(d *vigil.Definition) {
				start := time.Now().Add(90 * time.Second) // it is enabled again, but not yet due
				*d = def
				d.Check.Revision, d.Starts = 3, map[string]time.Time{region: start}
				d.Check.Anchor = vigil.NewAnchor(def.Check.ID, start, def.Check.Interval)
			})
			stop := make(chan struct{})
			close(stop)
			if result := w.must(w.watchUntil(turnOf(again, before), stop)); result.End != activities.HandOver || result.Restarted {
				t.Errorf("a turn without a result: %+v", result)
			}
			first := w.must(w.watch(turnOf(again, before)))
			if second := w.must(w.watch(turnOf(again, first.State))); !first.Restarted || second.Restarted {
				t.Errorf("anew with the first result %v, with the second %v", first.Restarted, second.Restarted)
			}
		})
	})

	t.Run("HandsOverWhileItWaitsAndFinishesAProbeInFlight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			stop := make(chan struct{})
			time.AfterFunc(5*time.Second, func() { close(stop) })
			waiting := w.must(w.watchUntil(turnOf(def, state), stop))
			if waiting.End != activities.HandOver || len(w.rows) != 1 {
				t.Errorf("end %s with %d rows, want a hand-over with 1", waiting.End, len(w.rows))
			}
			w.look = func(context.Context) vigil.Observation {
				time.Sleep(3 * time.Second)
				return vigil.Observation{Success: true}
			}
			late := make(chan struct{})
			time.AfterFunc(time.Until(scheduleOf(def).Next(state.Slot))+time.Second, func() { close(late) })
			probing := w.must(w.watchUntil(turnOf(def, state), late))
			if probing.End != activities.Covered || len(w.rows) != 2 {
				t.Errorf("end %s with %d rows: the probe in flight was not stored", probing.End, len(w.rows))
			}
		})
	})

	t.Run("SeesAChangeWithoutASignal", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			changed := time.Now().Add(5 * time.Second)
			time.AfterFunc(5*time.Second, func() {
				w.define(func(d *vigil.Definition) {
					d.Check.ID, d.Check.Revision, d.Check.Interval = def.Check.ID, 2, time.Second
					d.Check.Anchor = vigil.NewAnchor(def.Check.ID, time.Now(), time.Second)
				})
			})
			result := w.must(w.watch(turnOf(def, state)))
			if result.Revision != 2 || result.State.Slot.Sub(changed) > 3*time.Second {
				t.Errorf("revision %d at slot %v, want 2 within 3 s of %v", result.Revision, result.State.Slot, changed)
			}
		})
	})

	t.Run("EndsWhenTheCheckIsDisabledOrDeleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(func(d *vigil.Definition) { d.Check.Enabled = false })
			if result := w.must(w.watch(turnOf(def, vigil.State{}))); result.End != activities.Gone || len(w.runs) > 0 {
				t.Errorf("disabled: end %s, %d probes", result.End, len(w.runs))
			}
			live := w.define(nil)
			state := w.must(w.watch(turnOf(live, vigil.State{}))).State
			time.AfterFunc(5*time.Second, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.defs, live.Check.ID)
				w.gone = append(w.gone, vigil.Tombstone{CheckID: live.Check.ID, Region: region})
			})
			began := time.Now()
			if result := w.must(w.watch(turnOf(live, state))); result.End != activities.Gone || time.Since(began) > 10*time.Second {
				t.Errorf("deleted: end %s after %v", result.End, time.Since(began))
			}
		})
	})

	t.Run("MakesWayForANewerTurnButStoresAProbeInFlight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			w.look = func(context.Context) vigil.Observation {
				time.Sleep(4 * time.Second)
				return vigil.Observation{Success: true}
			}
			older := make(chan activities.TurnResult, 1)
			go func() { older <- w.must(w.watch(turnOf(def, vigil.State{}))) }()
			time.Sleep(time.Second)
			newer := turnOf(def, vigil.State{})
			newer.Recover = true
			result := w.must(w.watch(newer))
			if first := <-older; first.End != activities.Changed {
				t.Errorf("older turn ended %s, want its slot stored", first.End)
			}
			if len(w.rows) != 2 || !result.State.Slot.Equal(w.rows[1].Slot) || w.rows[1].Slot.Equal(w.rows[0].Slot) {
				t.Errorf("rows %+v: want two slots, each once", w.rows)
			}
		})
	})

	t.Run("StoresNothingOfACheckThatTheMachineCannotRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			w.look = func(context.Context) vigil.Observation {
				return vigil.Observation{Unavailable: true, Error: "the machine forbids it"}
			}
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			w.must(w.watch(turnOf(def, state)))
			if len(w.rows) > 0 || len(w.runs) != 2 || !w.runs[1].Equal(scheduleOf(def).Next(def.Starts[region])) {
				t.Errorf("%d rows after probes at %v, want none, and each slot tried once", len(w.rows), w.runs)
			}
		})
	})

	t.Run("FailsWhileTheDefinitionCannotBeRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			def := w.define(nil)
			w.away = true
			if _, err := w.watch(turnOf(def, vigil.State{})); err == nil {
				t.Error("a turn succeeded without a definition")
			}
		})
	})
}
