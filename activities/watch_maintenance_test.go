// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// windows is a store of maintenance in memory.
type windows struct {
	mu      sync.Mutex
	spans   []changedSpan
	changes int
}

// changedSpan is an occurrence with the number of its last change.
type changedSpan struct {
	maintenance.Span

	change int
}

func (m *windows) MaintenanceSpans(
	_ context.Context, endAfter, startBefore time.Time, cursor string,
) (spans []maintenance.Span, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, _ := strconv.Atoi(cursor)
	for _, w := range m.spans {
		if w.EndsAt.After(endAfter) && w.StartsAt.Before(startBefore) && w.change > since && (cursor != "" || !w.Removed) {
			spans = append(spans, w.Span)
		}
	}
	return spans, strconv.Itoa(m.changes), nil
}

func (m *windows) CheckMaintenance(
	_ context.Context, orgID uuid.UUID, at time.Time, checks ...uuid.UUID,
) (map[uuid.UUID][]maintenance.Span, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	running := make(map[uuid.UUID][]maintenance.Span)
	for _, w := range m.spans {
		for _, check := range checks {
			if w.OrgID == orgID && !w.Removed && w.Holds(at) && w.Scope.Covers(check, nil) {
				running[check] = append(running[check], w.Span)
			}
		}
	}
	return running, nil
}

// put stores an occurrence, or changes the one with its window and start.
func (m *windows) put(span maintenance.Span) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	m.spans = slices.DeleteFunc(m.spans, func(s changedSpan) bool {
		return s.WindowID == span.WindowID && s.StartsAt.Equal(span.StartsAt)
	})
	m.spans = append(m.spans, changedSpan{span, m.changes})
}

// spanOf is an occurrence about a check.
func spanOf(
	def vigil.Definition, starts, ends time.Time, probing maintenance.Probing, uptime maintenance.Uptime,
) maintenance.Span {
	return maintenance.Span{
		Occurrence: maintenance.Occurrence{StartsAt: starts, EndsAt: ends}, WindowID: uuid.New(), OrgID: def.Check.OrgID,
		Scope: maintenance.Scope{CheckIDs: []uuid.UUID{def.Check.ID}}, Probing: probing, Uptime: uptime,
	}
}

func TestWatchInMaintenance(t *testing.T) {
	t.Parallel()

	t.Run("PassesOverPausedSlotsFromTheStartToBeforeTheEnd", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			first := scheduleOf(def).Next(def.Starts[region])
			slots := []time.Time{first}
			for len(slots) < 5 {
				slots = append(slots, scheduleOf(def).Next(slots[len(slots)-1]))
			}
			// Slots 1 and 2 are inside: one at the start, one 1 µs before the end. Slot 3 is at the end of another.
			w.windows.put(spanOf(def, slots[1], slots[2].Add(time.Microsecond), maintenance.ProbingPause, maintenance.UptimeExclude))
			w.windows.put(spanOf(def, slots[0].Add(time.Microsecond), slots[3], maintenance.ProbingContinue, maintenance.UptimeInclude))
			for i := range slots {
				result := w.must(w.watch(turn))
				if !result.State.Slot.Equal(slots[i]) || result.End != vigil.TurnCovered {
					t.Errorf("turn %d: slot %v, want %v; end %s", i, result.State.Slot, slots[i], result.End)
				}
				turn = turnOf(def, result.State)
			}
			want := []time.Time{def.Starts[region], slots[0], slots[3], slots[4]}
			if !slices.EqualFunc(w.runs, want, time.Time.Equal) || len(w.written) != len(want) {
				t.Errorf("probed at %v, want %v", w.runs, want)
			}
			if turn.State.Unstored || turn.State.Health != vigil.Healthy {
				t.Errorf("state %+v", turn.State)
			}
		})
	})

	t.Run("GoesOnWhenItIsEndedOrDeleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			deleted := spanOf(def, time.Now(), time.Now().Add(24*time.Hour), maintenance.ProbingPause, maintenance.UptimeExclude)
			ended := deleted
			ended.WindowID = uuid.New()
			w.windows.put(deleted)
			w.windows.put(ended)
			turn = turnOf(def, w.must(w.watch(turn)).State)
			if len(w.runs) != 1 || !turn.State.Unstored {
				t.Errorf("%d probes, state %+v", len(w.runs), turn.State)
			}
			deleted.Removed, ended.EndsAt = true, time.Now().Add(time.Second)
			w.windows.put(deleted)
			w.windows.put(ended)
			if result := w.must(w.watch(turn)); len(w.runs) != 2 || result.State.Unstored {
				t.Errorf("%d probes, state %+v", len(w.runs), result.State)
			}
		})
	})

	t.Run("KeepsWhatFiresButNotFromBeforeTheCheckWasEnabled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 1}))
			w.observe = fails
			turn := w.started(def)
			w.windows.put(spanOf(def, time.Now(), time.Now().Add(24*time.Hour), maintenance.ProbingPause, maintenance.UptimeExclude))
			result := w.must(w.watch(turn))
			if len(result.State.Firing) != 1 || result.State.Failures != 1 || result.Restarted {
				t.Errorf("inside: %+v", result)
			}
			time.Sleep(time.Second)
			again := w.revise(def, func(d *vigil.Definition) { d.Starts = map[string]time.Time{region: time.Now()} })
			result = w.must(w.watch(turnOf(again, result.State)))
			if len(result.State.Firing) != 0 || result.State.Failures != 0 || !result.Restarted || len(w.runs) != 1 {
				t.Errorf("enabled again: %+v after %d probes", result, len(w.runs))
			}
		})
	})

	t.Run("MarksResultsByTheirSlots", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			slot := scheduleOf(def).Next(def.Starts[region])
			w.windows.put(spanOf(def, slot, slot.Add(time.Microsecond), maintenance.ProbingContinue, maintenance.UptimeExclude))
			w.windows.put(spanOf(def, slot.Add(time.Second), slot.Add(time.Hour), maintenance.ProbingContinue, maintenance.UptimeInclude))
			for range 2 {
				turn = turnOf(def, w.must(w.watch(turn)).State)
			}
			var marks []bool
			for _, row := range w.written {
				marks = append(marks, row.Excluded)
			}
			if want := []bool{false, true, false}; !slices.Equal(marks, want) {
				t.Errorf("excluded %v, want %v", marks, want)
			}
		})
	})

	t.Run("LoadsOccurrencesThatComeNearWithoutAChange", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			w.windows.put(
				spanOf(def, time.Now().Add(20*time.Hour), time.Now().Add(30*time.Hour), maintenance.ProbingPause, maintenance.UptimeExclude),
			)
			time.Sleep(20*time.Hour + 2*time.Minute)
			probes := len(w.runs)
			if result := w.must(w.watch(turn)); len(w.runs) != probes || !result.State.Unstored {
				t.Errorf("%d probes, state %+v", len(w.runs)-probes, result.State)
			}
		})
	})
}

// TestLateResultsInMaintenance proves that results which arrive long after a window has ended are those of the window: an agent
// was cut off by what the maintenance did.
func TestLateResultsInMaintenance(t *testing.T) {
	t.Parallel()
	for probing, stored := range map[maintenance.Probing]int{maintenance.ProbingPause: 1, maintenance.ProbingContinue: 3} {
		t.Run(string(probing), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, store := sentFixture(t)
				def := w.define(placed(vigil.Condition{FailureThreshold: 1}))
				schedule, _ := def.Schedule(office)
				first := schedule.First()
				second := schedule.Next(first)
				w.windows.put(spanOf(def, first, second.Add(time.Second), probing, maintenance.UptimeExclude))
				now := second.Add(5 * time.Hour)
				time.Sleep(time.Until(now)) // sleep: in a bubble only
				for _, slot := range []time.Time{first, second} {
					store.send(def.Check.ID, slot, vigil.Observation{Error: "down"})
				}
				newest := schedule.Due(first, now)
				store.send(def.Check.ID, newest, vigil.Observation{Success: true})
				turn := sentTurn(def, vigil.State{}, 1)
				for turn.State.Slot.Before(newest) {
					turn = sentTurn(def, w.must(w.watch(turn)).State, 1)
				}
				for _, row := range w.rows {
					if row.Excluded != row.Slot.Before(newest) {
						t.Errorf("the result of %v is excluded %v", row.Slot, row.Excluded)
					}
				}
				if len(w.rows) != stored {
					t.Errorf("%d results, want %d", len(w.rows), stored)
				}
			})
		})
	}
}
