// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchDefinition tests which definition a turn works with.
func TestWatchDefinition(t *testing.T) {
	t.Parallel()

	t.Run("ResetsEvaluationWhenTheTypeChanges", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 2}))
			w.observe = fails
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

	t.Run("MarksOnlyTheFirstResultOfARestartedSchedule", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			before := w.must(w.watch(turnOf(def, vigil.State{}))).State
			again := w.define(func(d *vigil.Definition) {
				start := time.Now().Add(90 * time.Second) // enabled again, but not due yet
				*d = def
				d.Check.Revision, d.Starts = 3, map[string]time.Time{region: start}
				d.Check.Anchor = vigil.NewAnchor(def.Check.ID, start, def.Check.Interval)
			})
			stop := make(chan struct{})
			close(stop)
			if result := w.must(w.watchUntil(turnOf(again, before), stop)); result.End != vigil.TurnHandOver || result.Restarted {
				t.Errorf("a turn without a result: %+v", result)
			}
			first := w.must(w.watch(turnOf(again, before)))
			if second := w.must(w.watch(turnOf(again, first.State))); !first.Restarted || second.Restarted {
				t.Errorf("Restarted with the first result %v, with the second %v", first.Restarted, second.Restarted)
			}
		})
	})
}

// TestWatchDefinitionChanges tests how a turn reacts to a change of its definition.
func TestWatchDefinitionChanges(t *testing.T) {
	t.Parallel()

	t.Run("UsesAChangedDefinitionWithoutASignal", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
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
			w := newWatchFixture(t)
			def := w.define(func(d *vigil.Definition) { d.Check.Enabled = false })
			if result := w.must(w.watch(turnOf(def, vigil.State{}))); result.End != vigil.TurnGone || len(w.runs) > 0 {
				t.Errorf("disabled: end %s, %d probes", result.End, len(w.runs))
			}
			live := w.define(nil)
			state := w.must(w.watch(turnOf(live, vigil.State{}))).State
			time.AfterFunc(5*time.Second, func() { w.remove(live) })
			began := time.Now()
			if result := w.must(w.watch(turnOf(live, state))); result.End != vigil.TurnGone || time.Since(began) > 10*time.Second {
				t.Errorf("deleted: end %s after %v", result.End, time.Since(began))
			}
		})
	})

	t.Run("FailsWhileTheDefinitionCannotBeRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			def := w.define(nil)
			w.readErr = errors.New("postgres is down")
			_, err := w.watch(turnOf(def, vigil.State{}))
			if err == nil || !strings.Contains(err.Error(), "read the definition: postgres is down") {
				t.Errorf("a new loop's turn ended with %v, want the error of the store", err)
			}
		})
	})

	t.Run("FailsWithTheErrorOfTheStore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			def := w.define(nil)
			w.readErr = errors.New("postgres is down")
			turn := turnOf(def, vigil.State{Slot: time.Now()})
			if _, err := w.watch(turn); err == nil || !strings.Contains(err.Error(), "read the definition: postgres is down") {
				t.Errorf("error %v, want that of the store", err)
			}
		})
	})

	t.Run("EndsWithoutAPlanWhenTheCheckIsDeleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(func(d *vigil.Definition) { d.Check.Enabled = false })
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			want := activities.TurnResult{End: vigil.TurnGone, Revision: 1, Span: 1, By: "test"}
			if !reflect.DeepEqual(result, want) {
				t.Errorf("result %+v, want %+v", result, want)
			}
		})
	})
}
