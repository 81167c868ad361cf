package workflows_test

import (
	"slices"
	"testing"
	"time"

	"vigil/activities"
	"vigil/workflows"
)

func TestCheckLoopCarriesStateFromTurnToTurnAndEndsWhenTheCheckIsGone(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered, covered, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 3 {
		t.Fatalf("%d turns, want 3", len(l.turns))
	}
	if !l.turns[0].Recover || l.turns[1].Recover || l.turns[2].Recover {
		t.Errorf("recover flags %v %v %v: only the first turn has no predecessor",
			l.turns[0].Recover, l.turns[1].Recover, l.turns[2].Recover)
	}
	if got, want := l.turns[2].State.Slot, (time.Time{}).Add(2*time.Minute); !got.Equal(want) {
		t.Errorf("third turn starts from slot %v, want %v", got, want)
	}
}

func TestCheckLoopGoesOnRecoveringWhileRowsAreLeft(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	behind := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Behind = true
		return result, err
	}
	l.script = append(l.script, covered, behind, covered, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if l.turns[1].Recover || !l.turns[2].Recover || l.turns[3].Recover {
		t.Errorf("recover flags %v %v %v", l.turns[1].Recover, l.turns[2].Recover, l.turns[3].Recover)
	}
}

func TestCheckLoopKeepsTheSpanOfALostTurnUnlessTheDefinitionIsNew(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	wide := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Span = 8
		return result, err
	}
	// The second turn is nudged, the third fails, the fifth is out of date.
	l.script = append(l.script, wide, wide, failing, wide, wide, gone)
	l.signal(l.holds+10*time.Second, workflows.SignalNudge, nil)
	l.signal(3*l.holds+20*time.Second, workflows.SignalReconfigure, int64(2))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	var spans []int
	for _, turn := range l.turns {
		spans = append(spans, turn.Span)
	}
	if want := []int{1, 8, 8, 8, 8, 1}; !slices.Equal(spans, want) {
		t.Errorf("spans %v, want %v", spans, want)
	}
}

func TestCheckLoopRepeatsAFailedTurnWithGrowingPauses(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	for range 10 {
		l.script = append(l.script, failing)
	}
	l.script = append(l.script, gone)
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 11 {
		t.Fatalf("%d turns, want 11", len(l.turns))
	}
	for i, turn := range l.turns {
		if !turn.Recover {
			t.Errorf("turn %d does not recover", i)
		}
	}
	// 1+2+4+8+16+32 s and four pauses of a minute, beside the turns.
	pauses := l.env.Now().Sub(began) - 11*l.holds
	if want := 63*time.Second + 4*time.Minute; pauses < want-time.Second || pauses > want+time.Second {
		t.Errorf("paused %v in all, want %v", pauses, want)
	}
}

func TestCheckLoopRepeatsATurnThatEndedByAnOldDefinitionWithGrowingPauses(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.Revision = 3
	old := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := gone(turn)
		result.Revision = 2
		return result, err
	}
	l.script = append(l.script, old, old, failing, old, covered, old, gone)
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	// 1+2+4+8 s, and 1 s after a turn that went well.
	pauses := l.env.Now().Sub(began) - time.Duration(len(l.turns))*l.holds
	if want := 16 * time.Second; len(l.turns) != 7 || pauses < want-time.Second || pauses > want+time.Second {
		t.Errorf("%d turns, paused %v in all, want 7 and %v", len(l.turns), pauses, want)
	}
}
