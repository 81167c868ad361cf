// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestRebuild(t *testing.T) {
	t.Parallel()

	t.Run("CountsAsManyFailuresAsTheLargestThresholdNeeds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 150}))
			for i := range 200 {
				slot := def.Starts[region].Add(time.Duration(i) * time.Second)
				w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
			}
			w.observe = fails
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			if state.Failures < 150 || !slices.Equal(state.Firing, []uuid.UUID{def.Rules[0].ID}) {
				t.Errorf("state %+v, want 150 failures or more and the rule to fire", state)
			}
		})
	})

	t.Run("ReadsAsManyResultsAsBothThresholdsNeed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 50, RecoveryThreshold: 100}))
			for i := range 200 { // 50 failures, and 98 results after them
				row := vigil.Result{CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(time.Duration(i) * time.Second)}
				row.Success = i < 52 || i > 101
				w.rows = append(w.rows, row)
			}
			w.observe = func(context.Context) vigil.Observation { return vigil.Observation{Success: true} }
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			if len(state.Matches) != 1 || state.Matches[0].Since < 98 || state.Matches[0].Failures != 50 {
				t.Errorf("matches %+v, want the rule held for at least 98 results after 50 failures", state.Matches)
			}
		})
	})

	t.Run("RemembersTheCertificateOfLongAgo", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{SSLDaysRemaining: new(7)}))
			for i := range 300 { // one with a certificate, and then no answer
				row := vigil.Result{CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(time.Duration(i) * time.Millisecond)}
				if i == 0 {
					row.Success, row.Metadata = true, map[string]any{vigil.MetadataCertDays: 3}
				}
				w.rows = append(w.rows, row)
			}
			w.observe = fails
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			if !slices.Equal(state.Firing, []uuid.UUID{def.Rules[0].ID}) || state.Failures < 299 {
				t.Errorf("state %+v, want the rule to fire", state)
			}
		})
	})

	t.Run("CountsTheWindowsOfABurnRateFromStoredResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			input := vigil.ConditionInput{Condition: []byte(
				`{"burn_rate": {"target_percentage": 99, "factor": 10, "window_seconds": 3600, "short_window_seconds": 300}}`)}
			condition, err := input.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			def := w.define(firing(condition))
			for i := range 3000 { // many more than are folded again; of the last hour 6 minutes fail
				slot := def.Starts[region].Add(time.Duration(i) * time.Second)
				row := vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot}
				row.Success = i < 2640
				w.rows = append(w.rows, row)
			}
			w.observe = fails
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			if !slices.Equal(state.Firing, []uuid.UUID{def.Rules[0].ID}) || state.Matches[0].Keys[0] != "burn_rate" {
				t.Errorf("firing %v, burns %+v", state.Firing, state.Burns)
			}
			asked := len(w.past)
			w.observe = func(context.Context) vigil.Observation { return vigil.Observation{Success: true} }
			if state = w.must(w.watch(turnOf(def, state))).State; len(state.Firing) != 1 || len(w.past) != asked {
				t.Errorf("firing %v after %d more reads", state.Firing, len(w.past)-asked)
			}
		})
	})

	succeeds := func(context.Context) vigil.Observation { return vigil.Observation{Success: true} }
	for name, test := range map[string]struct {
		voted   time.Duration // slot of the stored vote since the start of the schedule
		fires   bool          // in the stored vote
		observe func(context.Context) vigil.Observation
		want    bool
	}{
		"KnowsThatItsVoteIsStored":            {time.Second, false, succeeds, true},
		"ReportsWhenTheStoredVoteFires":       {time.Second, true, succeeds, false},
		"ReportsWhenTheStoredVoteIsOutOfDate": {time.Second, false, fails, false},
		"ReportsWhenTheVoteIsOfTheTimeBefore": {-time.Second, false, succeeds, false},
		"ReportsWhenThereIsNoVote":            {0, false, succeeds, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t)
				def := w.define(firing(vigil.Condition{FailureThreshold: 1}))
				w.rows = append(w.rows, vigil.Result{
					CheckID: def.Check.ID, Region: region, Slot: def.Starts[region], Observation: vigil.Observation{Success: true},
				})
				if test.voted != 0 {
					w.voted, w.votedFires = def.Starts[region].Add(test.voted), test.fires
				}
				w.observe = test.observe
				if got := w.must(w.watch(turnOf(def, vigil.State{}))).Reported; got != test.want {
					t.Errorf("voted %v, want %v", got, test.want)
				}
			})
		})
	}

	t.Run("KnowsTheSlotOfTheAnswerBeforeItsRows", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{DNSChanged: true}))
			answered := def.Starts[region].Add(-time.Hour) // before the check was disabled
			row := vigil.Result{CheckID: def.Check.ID, Region: region, Slot: answered}
			row.Success, row.Metadata = true, map[string]any{vigil.MetadataFingerprint: "A x:1"}
			w.rows = append(w.rows, row)
			for i := range 150 {
				w.rows = append(w.rows, vigil.Result{
					CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(time.Duration(i) * time.Millisecond),
				})
			}
			w.observe = func(context.Context) vigil.Observation {
				return vigil.Observation{Success: true, Metadata: map[string]any{vigil.MetadataFingerprint: "A x:2"}}
			}
			matches := w.must(w.watch(turnOf(def, vigil.State{}))).State.Matches
			if len(matches) != 1 || !matches[0].PreviousAnswer.Equal(answered) {
				t.Errorf("matches %+v, want one after the answer at %v", matches, answered)
			}
		})
	})
}

// StateBefore folds all results, as far as they are asked for.
func (w *watchFixture) StateBefore(_ context.Context, q vigil.PastQuery) (vigil.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past = append(w.past, q)
	var all, since, out vigil.State
	for _, row := range w.rows {
		if row.CheckID != q.CheckID || row.Region != q.Region || !row.Slot.Before(q.Before) {
			continue
		}
		if all, _ = vigil.Evaluate(nil, all, row); !row.Slot.Before(q.From) {
			since, _ = vigil.Evaluate(nil, since, row)
		}
	}
	if q.DNS {
		out.DNS, out.DNSSlot = all.DNS, all.DNSSlot
	}
	if q.Days {
		out.Days = since.Days
	}
	if q.Failures {
		out.Failures = since.Failures
	}
	for _, counts := range q.Burns {
		for _, row := range w.rows {
			if row.CheckID == q.CheckID && row.Region == q.Region && row.Slot.Before(q.Before) && !row.Slot.Before(q.From) {
				counts = counts.Add(row.Slot, 1, int64(map[bool]int{false: 1}[row.Success]))
			}
		}
		out = out.WithBurns(append(out.Burns[:0:0], counts))
	}
	return out, w.historyErr
}
