package workflows_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/activities"
)

func TestCheckLoopReportsAVoteAfterItsFirstTurnAndWhenOtherRulesFire(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	fires := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.End, result.State.Health, result.State.Failures = activities.Changed, vigil.Unhealthy, 3
		result.State.Firing = []uuid.UUID{rule}
		return result, err
	}
	l.script = append(l.script, covered, covered, fires, fires, covered, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	minutes := func(n int) time.Time { return (time.Time{}).Add(time.Duration(n) * time.Minute) }
	want := []vigil.Vote{
		{Region: l.input.Region, Revision: 1, Slot: minutes(1)},
		{Region: l.input.Region, Revision: 1, Slot: minutes(3), Failures: 3, Firing: []uuid.UUID{rule}},
		{Region: l.input.Region, Revision: 1, Slot: minutes(5)},
	}
	if !reflect.DeepEqual(l.votes, want) {
		t.Errorf("told %+v, want %+v", l.votes, want)
	}
}

func TestCheckLoopReportsAgainWhenItsSlotsRestart(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	fires := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.State.Firing = []uuid.UUID{rule}
		return result, err
	}
	anew := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := fires(turn)
		result.Anew = true
		return result, err
	}
	l.script = append(l.script, fires, fires, anew, fires, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || !slices.Equal(l.votes[1].Firing, []uuid.UUID{rule}) || !l.votes[1].Slot.Equal((time.Time{}).Add(3*time.Minute)) {
		t.Errorf("told %+v, want what fires once before and once after", l.votes)
	}
}
