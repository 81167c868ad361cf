package workflows_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/workflows"
)

func TestCheckLoopContinuesAsNewAfter250TurnsWithItsState(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered)
	err := l.run()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](err)
	if !ok {
		t.Fatalf("ended with %v, want to continue as new", err)
	}
	if len(l.turns) != 250 {
		t.Errorf("%d turns before it continued, want 250", len(l.turns))
	}
	var in workflows.LoopInput
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
		t.Fatal(err)
	}
	if want := (time.Time{}).Add(250 * time.Minute); !in.State.Slot.Equal(want) || in.Plan == nil {
		t.Errorf("carries slot %v and plan %v, want %v and the plan", in.State.Slot, in.Plan, want)
	}
}

func TestCheckLoopAnswersTheStateQuery(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered, gone)
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
	if state.Health != vigil.Healthy || state.Turns != 2 || state.Revision != 1 || state.Next.IsZero() {
		t.Errorf("state %+v", state)
	}
}
