// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestCheckLoopContinuesAsNewAfter250TurnsWithItsState(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered)
	in := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
	if len(l.turns) != 250 {
		t.Errorf("%d turns before it continued, want 250", len(l.turns))
	}
	if want := (time.Time{}).Add(250 * time.Minute); !in.State.Slot.Equal(want) || in.Plan == nil {
		t.Errorf("carries slot %v and plan %v, want %v and the plan", in.State.Slot, in.Plan, want)
	}
}

func TestCheckLoopContinuesAsNewAfter50WideTurns(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	widening := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		if result.Span = 1; len(l.turns) >= 60 {
			result.Span = 2
		}
		return result, err
	}
	l.script = append(l.script, widening)
	in := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
	if len(l.turns) != 60 || in.Plan == nil || in.Plan.Span != 2 {
		t.Errorf("%d turns before it continued with the plan %+v, want 60 and two slots", len(l.turns), in.Plan)
	}
}

func TestCheckLoopAnswersTheStateQuery(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Span, result.Reason = 7, vigil.TurnBudget
		return result, err
	}, gone)
	var state vigil.LoopState
	l.env.RegisterDelayedCallback(func() {
		value, err := l.env.QueryWorkflow(workflows.QueryState)
		if err != nil {
			t.Error(err)
			return
		}
		if err := value.Get(&state); err != nil {
			t.Error(err)
		}
	}, l.holds+10*time.Second)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if state.Health != vigil.Healthy || state.Turns != 2 || state.Revision != 1 || state.Next.IsZero() ||
		state.TurnSlots != 7 || state.TurnReason != vigil.TurnBudget {
		t.Errorf("state %+v", state)
	}
}

func TestCheckLoopContinuesAsNewWhenTheServerSuggestsIt(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	l.input.Label = "front page"
	l.env.SetContinueAsNewSuggested(true)
	l.script = append(l.script, unhealthy(rule))
	in := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
	if len(l.turns) != 1 {
		t.Errorf("%d turns before it continued, want one", len(l.turns))
	}
	if in.CheckID != l.input.CheckID || in.Region != l.input.Region || in.Revision != 1 || in.Label != "front page" {
		t.Errorf("continues with the ids of %+v, want those of %+v", in, l.input)
	}
	if !in.Reported || !slices.Equal(in.Firing, []uuid.UUID{rule}) {
		t.Errorf("carries the vote %v %v, want that the rule fires", in.Reported, in.Firing)
	}
}

func TestCheckLoopTakesSignalsThatWaitWhenItContinuesAsNew(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.env.SetContinueAsNewSuggested(true)
	l.script = append(l.script, covered)
	l.together(10*time.Second, loopSignal{workflows.SignalReconfigure, int64(2)},
		loopSignal{workflows.SignalReconfigure, int64(4)}, loopSignal{workflows.SignalReconfigure, int64(3)})
	if in := continued[workflows.LoopInput](t, l.run(), "CheckLoop"); in.Revision != 4 || in.Plan != nil {
		t.Errorf("continues with revision %d and plan %v, want the newest and none", in.Revision, in.Plan)
	}
}

func TestCheckLoopThatIsStoppedDoesNotContinueAsNew(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.env.SetContinueAsNewSuggested(true)
	l.script = append(l.script, covered)
	l.signal(10*time.Second, workflows.SignalStop, nil)
	if err := l.run(); err != nil {
		t.Errorf("ended with %v, want no error", err)
	}
}

func TestCheckLoopShowsOperatorsWhereItStands(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.Label = "front page"
	l.script = append(l.script, covered, unhealthy(uuid.New()), gone)
	var shown []string
	for i := range 3 {
		l.env.RegisterDelayedCallback(func() {
			details, err := l.env.details()
			if err != nil {
				t.Error(err)
			}
			shown = append(shown, details)
		}, time.Duration(i)*l.holds+10*time.Second)
	}
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"front page\n\nin its first turn, no result reported yet",
		"front page\n\n**healthy** at 0001-01-01T00:01:00Z",
		"front page\n\n**unhealthy**, 3 failed in a row, the last at 0001-01-01T00:02:00Z",
	}
	if !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}

func TestCheckLoopWithoutALabelShowsItsStateOnly(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if details, err := l.env.details(); err != nil || details != "in its first turn, no result reported yet" {
		t.Errorf("shown %q, %v", details, err)
	}
}

func TestCheckLoopFailsWithoutItsQuery(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.env.refusal = errors.New("no queries here")
	l.script = append(l.script, gone)
	if err := l.run(); err == nil || !strings.Contains(err.Error(), "set the query handler: no queries here") {
		t.Errorf("ended with %v", err)
	}
	if len(l.turns) != 0 {
		t.Errorf("%d turns, want none", len(l.turns))
	}
}

// The names are on the wire: workflows that run today are signaled by them.
func TestMessagesKeepTheirNames(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		workflows.SignalReconfigure: "reconfigure",
		workflows.SignalNudge:       "nudge",
		workflows.SignalStop:        "stop",
		workflows.QueryState:        "state",
		workflows.SignalVote:        "vote",
		workflows.SignalRefresh:     "refresh",
		workflows.UpdateAcknowledge: "acknowledge",
		workflows.UpdateResolve:     "resolve",
		workflows.AttributeIncident: "VigilIncident",
		workflows.AttributeDelivery: "VigilDelivery",
	} {
		if got != want {
			t.Errorf("%s is called %s", want, got)
		}
	}
}
