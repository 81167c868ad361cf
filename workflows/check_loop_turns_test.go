// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
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

func TestCheckLoopForgetsTheSpanOfALostTurnForANewDefinition(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	wide := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Span = 8
		return result, err
	}
	l.script = append(l.script, wide, failing, gone, gone)
	// The third turn, which repeats the second, is given up.
	l.signal(2*l.holds+20*time.Second, workflows.SignalReconfigure, int64(2))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 4 || l.turns[2].Span != 8 || l.turns[3].Span != 1 {
		t.Errorf("turns %+v: want the span of 8 until the revision is new", l.turns)
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

// The longest window is six hours, and one hour for a turn of one slot. The longest probe has four attempts of ten
// minutes, with three pauses of 30 s.
func TestCheckLoopGivesATurnTheTimeOfItsWindow(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	wide := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Span = 30
		return result, err
	}
	l.script = append(l.script, covered, wide, failing, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	for i, options := range l.env.named("Watch") {
		window := time.Hour
		if i > 1 { // the plan for more slots is known
			window = 6 * time.Hour
		}
		if want := window + 41*time.Minute + 30*time.Second + 30*time.Second; options.StartToCloseTimeout != want {
			t.Errorf("turn %d has %v, want %v", i, options.StartToCloseTimeout, want)
		}
	}
}

// The server must not retry a turn: the loop itself repeats it, with what it knows by then.
func TestCheckLoopRunsEveryTurnOnce(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered, failing, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	for i, options := range l.env.named("Watch") {
		if options.RetryPolicy == nil || options.RetryPolicy.MaximumAttempts != 1 {
			t.Errorf("turn %d has the retry policy %+v, want one attempt", i, options.RetryPolicy)
		}
	}
}

func TestCheckLoopLearnsARevisionFromATurn(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	newer := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Revision = 5
		return result, err
	}
	l.script = append(l.script, newer, covered, gone)
	l.signal(l.holds+10*time.Second, workflows.SignalStop, int64(4))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 3 || l.turns[1].Revision != 5 {
		t.Errorf("turns %+v: want revision 5 from the second on, and no stop by revision 4", l.turns)
	}
}

func TestCheckLoopNamesTheWorkerOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	marked := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.By = "worker-1"
		return result, err
	}
	l.script = append(l.script, marked, failing, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if l.turns[0].By != "" || l.turns[1].By != "worker-1" || l.turns[2].By != "" {
		t.Errorf("turns name %q, %q and %q, want the worker in the second only", l.turns[0].By, l.turns[1].By, l.turns[2].By)
	}
}

func TestCheckLoopAsksAboutItsOwnCheckAndRegion(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.State = vigil.State{Slot: envStart, Health: vigil.Healthy}
	l.script = append(l.script, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	want := activities.Turn{
		CheckID: l.input.CheckID, Region: l.input.Region, Revision: 1, State: l.input.State, Span: 1, Recover: true,
	}
	if !reflect.DeepEqual(l.turns, []activities.Turn{want}) {
		t.Errorf("asked for %+v, want %+v", l.turns, want)
	}
}

func TestCheckLoopLogsWhyATurnIsRepeated(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.Revision = 2
	l.script = append(l.script, failing, goneBy(1), gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	warnings := l.env.logs.warnings()
	if len(warnings) != 2 || !contains(warnings[0], " error=", "postgres is away", "pause=1s") ||
		!contains(warnings[1], " error=", "older than the loop's revision", "pause=2s") {
		t.Errorf("logged %q", warnings)
	}
}

func TestCheckLoopEndsWhenAWorkerFindsNoCheck(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.Revision = 3
	l.script = append(l.script, goneBy(0))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 1 {
		t.Errorf("%d turns, want one", len(l.turns))
	}
}

// A plan without a reason.
func TestCheckLoopSaysHowManySlotsATurnCoversAndWhy(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	planned := func(span int, reason vigil.TurnReason) func(activities.Turn) (activities.TurnResult, error) {
		return func(turn activities.Turn) (activities.TurnResult, error) {
			result, err := covered(turn)
			result.Span, result.Reason = span, reason
			return result, err
		}
	}
	// The third turn is nudged, and the fifth has an old definition.
	l.script = append(l.script, planned(7, vigil.TurnBudget), planned(8, ""), planned(8, ""), planned(9, vigil.TurnWindow), covered, gone)
	l.signal(2*l.holds+10*time.Second, workflows.SignalNudge, nil)
	l.signal(3*l.holds+40*time.Second, workflows.SignalReconfigure, int64(2))
	type turns struct {
		slots  int
		reason vigil.TurnReason
	}
	var got []turns
	for _, at := range []time.Duration{
		0, l.holds, 2 * l.holds, 2*l.holds + 15*time.Second, 3*l.holds + 15*time.Second, 3*l.holds + 45*time.Second,
	} {
		l.env.RegisterDelayedCallback(func() {
			var state vigil.LoopState
			value, err := l.env.QueryWorkflow(workflows.QueryState)
			if err == nil {
				err = value.Get(&state)
			}
			if err != nil {
				t.Error(err)
			}
			got = append(got, turns{state.TurnSlots, state.TurnReason})
		}, at+5*time.Second)
	}
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	want := []turns{{1, vigil.TurnGrowing}, {7, vigil.TurnBudget}, {8, ""}, {8, vigil.TurnKept}, {9, vigil.TurnWindow}, {1, vigil.TurnGrowing}}
	if !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}
