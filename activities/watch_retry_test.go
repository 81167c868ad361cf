// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// retrying makes a check retry.
func retrying(retry vigil.Retry) func(*vigil.Definition) {
	return func(def *vigil.Definition) { def.Check.Retry = retry }
}

// sees returns a probe that takes a second and sees these one after the other, and the last
// one for ever.
func sees(seen ...vigil.Observation) func(context.Context) vigil.Observation {
	next := 0
	return func(context.Context) vigil.Observation {
		time.Sleep(time.Second) // sleep: a slow target
		one := seen[min(next, len(seen)-1)]
		next++
		one.ResponseTime = time.Second
		return one
	}
}

func failure(text string) vigil.Observation { return vigil.Observation{Error: text} }

// attempts is the metadata of a result of several attempts.
func attempts(errors ...string) map[string]any {
	list := make([]any, len(errors))
	for i, text := range errors {
		list[i] = map[string]any{"error": text, "response_time_ms": 1000.0}
	}
	return map[string]any{"attempts": list}
}

// start runs a turn in the background.
func (w *watchFixture) start(turn activities.Turn, prepare func(*testsuite.TestActivityEnvironment)) <-chan ended {
	end := make(chan ended, 1)
	go func() {
		result, err := w.watchWith(turn, prepare)
		end <- ended{result, err, time.Now()}
	}()
	return end
}

// test runs a test by hand.
func (w *watchFixture) test(def vigil.Definition, dry bool) (activities.TestAnswer, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Hour)
	env.RegisterActivityWithOptions(w.watcher.Test, activity.RegisterOptions{Name: "Test"})
	var answer activities.TestAnswer
	value, err := env.ExecuteActivity("Test", activities.TestRequest{CheckID: def.Check.ID, Region: region, Revision: 1, DryRun: dry})
	if err != nil {
		return answer, err
	}
	return answer, value.Get(&answer)
}

// begun is when the probes began, counted from an instant.
func (w *watchFixture) begun(from time.Time) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var at []time.Duration
	for _, run := range w.runs {
		at = append(at, run.Sub(from))
	}
	return at
}

// TestWatchRetry tests what happens between the attempts of a slot.
func TestWatchRetry(t *testing.T) {
	t.Parallel()
	success := vigil.Observation{Success: true}

	t.Run("StoresOneRowWithTheAttemptsBeforeIt", func(t *testing.T) {
		t.Parallel()
		twice := vigil.Retry{Attempts: 2, Delay: 5 * time.Second}
		refused := vigil.Observation{Error: "refused", NetworkFailure: true}
		for name, c := range map[string]struct {
			retry    vigil.Retry
			sees     []vigil.Observation
			error    string
			metadata map[string]any
			at       []time.Duration
		}{
			"FirstSucceeds": {twice, []vigil.Observation{success}, "", nil, []time.Duration{0}},
			"SecondSucceeds": {
				twice, []vigil.Observation{failure("one"), success}, "", attempts("one"), []time.Duration{0, 6 * time.Second},
			},
			"AllFail": {
				twice,
				[]vigil.Observation{failure("one"), failure("two"), failure("three")},
				"three", attempts("one", "two"),
				[]time.Duration{0, 6 * time.Second, 12 * time.Second},
			},
			"WithoutDelay": {
				vigil.Retry{Attempts: 1},
				[]vigil.Observation{failure("one"), failure("two")},
				"two", attempts("one"),
				[]time.Duration{0, time.Second},
			},
			"NoRetry": {vigil.Retry{Delay: time.Second}, []vigil.Observation{failure("one")}, "one", nil, []time.Duration{0}},
			"WrongAnswerOnNetwork": {
				vigil.Retry{Attempts: 2, On: vigil.RetryNetwork}, []vigil.Observation{failure("status 500")}, "status 500", nil, []time.Duration{0},
			},
			"NetworkThenWrongAnswer": {
				vigil.Retry{Attempts: 2, On: vigil.RetryNetwork},
				[]vigil.Observation{refused, failure("status 500")},
				"status 500",
				attempts("refused"),
				[]time.Duration{0, time.Second},
			},
			"UnavailableOnRetry": {
				vigil.Retry{Attempts: 2},
				[]vigil.Observation{failure("one"), {Error: "no permission", Unavailable: true}},
				"one", nil,
				[]time.Duration{0, time.Second},
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWatchFixture(t)
					w.observe = sees(c.sees...)
					def := w.define(retrying(c.retry))
					began := time.Now()
					result := w.must(w.watch(turnOf(def, vigil.State{})))
					if len(w.rows) != 1 || result.End != vigil.TurnChanged {
						t.Fatalf("end %s with rows %+v", result.End, w.rows)
					}
					row := w.rows[0]
					if row.Success != (c.error == "") || row.Error != c.error || !reflect.DeepEqual(row.Metadata, c.metadata) {
						t.Errorf("stored %+v", row)
					}
					if !row.Slot.Equal(began) || !row.Time.Equal(began) || row.ResponseTime != time.Second {
						t.Errorf("slot %v, time %v, %v", row.Slot, row.Time, row.ResponseTime)
					}
					if got := w.begun(began); !reflect.DeepEqual(got, c.at) {
						t.Errorf("probed at %v, want %v", got, c.at)
					}
					if n := w.watcher.Probing(); n != 0 {
						t.Errorf("%d places are held", n)
					}
				})
			})
		}
	})

	t.Run("TheDeadlineIsThatOfAllAttempts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(retrying(vigil.Retry{Attempts: 2, Delay: 5 * time.Second}))
			w.must(w.watch(turnOf(def, vigil.State{})))
			const want = 3*probeDeadline + 10*time.Second
			if got := w.written[0].Deadline; got != want {
				t.Errorf("row %v, want %v", got, want)
			}
		})
	})

	t.Run("ItsDelayHoldsNoPlace", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			w.observe = sees(failure("one"), success)
			def := w.define(retrying(vigil.Retry{Attempts: 1, Delay: 10 * time.Second}))
			end := w.start(turnOf(def, vigil.State{}), plain)
			time.Sleep(5 * time.Second)
			if n := w.watcher.Probing(); n != 0 {
				t.Errorf("%d places are held", n)
			}
			if got := <-end; got.err != nil || len(w.rows) != 1 {
				t.Errorf("%+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("ItWaitsForAPlaceLikeAnyProbe", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Probes = fair.New(places(1)) })
			w.observe = sees(failure("one"), success)
			def := w.define(retrying(vigil.Retry{Attempts: 1, Delay: 10 * time.Second}))
			began := time.Now()
			end := w.start(turnOf(def, vigil.State{}), plain)
			time.Sleep(5 * time.Second)
			held := w.watcher.Probes.Join(fair.Claim{Organization: "another"})
			time.Sleep(10 * time.Second)
			if n := len(w.begun(began)); n != 1 {
				t.Errorf("%d probes while another one has the place", n)
			}
			held.Leave()
			if got := <-end; got.err != nil || len(w.rows) != 1 || !w.rows[0].Success || w.begun(began)[1] != 15*time.Second {
				t.Errorf("%+v, %v; probed at %v", got.result, got.err, w.begun(began))
			}
		})
	})

	t.Run("TheFailureIsStoredWhenTheNextSlotComesFirst", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			busy   time.Duration // until then another probe has the only place
			probes int
		}{
			"BeforeTheDelay":        {55 * time.Second, 1},
			"WhileItWaitsForAPlace": {0, 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Probes = fair.New(places(1)) })
					w.observe = sees(failure("one"), success)
					def := w.define(retrying(vigil.Retry{Attempts: 1, Delay: 10 * time.Second}))
					next := scheduleOf(def).Next(time.Now())
					turn := turnOf(def, vigil.State{})
					held := w.watcher.Probes.Join(fair.Claim{Organization: "another"})
					if c.busy == 0 {
						held.Leave()
					} else {
						time.AfterFunc(time.Until(next)-5*time.Second, func() { held.Leave() })
					}
					end := w.start(turn, plain)
					if c.busy == 0 {
						time.Sleep(5 * time.Second)
						held = w.watcher.Probes.Join(fair.Claim{Organization: "another"})
						time.AfterFunc(time.Hour, func() { held.Leave() })
					}
					got := <-end
					if got.err != nil || len(w.rows) != 1 || w.rows[0].Error != "one" || w.rows[0].Metadata != nil || len(w.runs) != c.probes {
						t.Errorf("%+v, %v; rows %+v", got.result, got.err, w.rows)
					}
					if got.at.After(next) {
						t.Errorf("it ended at %v, after the next slot at %v", got.at, next)
					}
				})
			})
		}
	})

	t.Run("ATestThatIsStoredRetries", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(retrying(vigil.Retry{Attempts: 2, Delay: 5 * time.Second}))
			for _, dry := range []bool{false, true} {
				w.set(func() { w.observe, w.runs = sees(failure("one"), success), nil })
				answer, err := w.test(def, dry)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprint(true, attempts("one"), 2)
				if dry {
					want = fmt.Sprint(false, map[string]any{"test": true}, 1)
				}
				if got := fmt.Sprint(answer.Success, answer.Metadata, len(w.runs)); got != want {
					t.Errorf("dry run %v: %s, want %s", dry, got, want)
				}
			}
			if len(w.rows) != 1 || w.written[0].Deadline != 3*probeDeadline+10*time.Second {
				t.Errorf("written %+v", w.written)
			}
		})
	})
}
