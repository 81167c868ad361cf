package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// loopTest runs a loop whose turns are scripted, in skipped time.
type loopTest struct {
	*testing.T
	env   *testsuite.TestWorkflowEnvironment
	input workflows.LoopInput
	turns []activities.Turn
	votes []vigil.Vote
	// script answers turn i; the last entry answers all that follow.
	script []func(activities.Turn) (activities.TurnResult, error)
	// holds delays the answer of a turn, so that signals reach it waiting.
	holds time.Duration
}

func newLoopTest(t *testing.T) *loopTest {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	l := &loopTest{T: t, env: suite.NewTestWorkflowEnvironment(), holds: time.Minute}
	l.input = workflows.LoopInput{CheckID: uuid.New(), Region: "eu-central-fra", Revision: 1}
	l.env.RegisterWorkflow(workflows.CheckLoop)
	var watcher *activities.Watcher
	l.env.RegisterActivityWithOptions(watcher.Watch, activity.RegisterOptions{Name: "Watch"})
	l.env.RegisterActivityWithOptions(watcher.ReportVote, activity.RegisterOptions{Name: "Tell"})
	l.env.OnActivity("Tell", mock.Anything, mock.Anything, mock.Anything).Return(
		func(_ context.Context, _ uuid.UUID, vote vigil.Vote) error {
			l.votes = append(l.votes, vote)
			return nil
		})
	l.env.OnActivity("Watch", mock.Anything, mock.Anything).Return(
		func(_ context.Context, turn *activities.Turn) (*activities.TurnResult, error) {
			i := len(l.turns)
			l.turns = append(l.turns, *turn)
			result, err := l.script[min(i, len(l.script)-1)](*turn)
			return &result, err
		}).After(l.holds)
	return l
}

func (l *loopTest) run() error {
	l.Helper()
	l.env.ExecuteWorkflow(workflows.CheckLoop, &l.input)
	if !l.env.IsWorkflowCompleted() {
		l.Fatal("the loop has not completed")
	}
	return l.env.GetWorkflowError()
}

func (l *loopTest) signal(after time.Duration, name string, arg any) {
	l.env.RegisterDelayedCallback(func() { l.env.SignalWorkflow(name, arg) }, after)
}

// covered is a turn whose slot has a result.
func covered(turn activities.Turn) (activities.TurnResult, error) {
	slot := turn.State.Slot.Add(time.Minute)
	return activities.TurnResult{
		End:      activities.Covered,
		State:    vigil.State{Slot: slot, Health: vigil.Healthy},
		Revision: turn.Revision, Span: 1,
		Next: slot.Add(time.Minute), Until: slot.Add(time.Minute), Deadline: 10 * time.Second,
	}, nil
}

func gone(turn activities.Turn) (activities.TurnResult, error) {
	return activities.TurnResult{End: activities.Gone, State: turn.State, Revision: turn.Revision}, nil
}

func failing(activities.Turn) (activities.TurnResult, error) {
	return activities.TurnResult{}, errors.New("postgres is away")
}

func TestCheckLoop(t *testing.T) {
	t.Parallel()

	t.Run("CarriesStateFromTurnToTurnAndEndsWhenTheCheckIsGone", func(t *testing.T) {
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
	})

	t.Run("ContinuesAsNewAfter250TurnsWithItsState", func(t *testing.T) {
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
	})

	t.Run("GivesUpATurnForANewerRevisionAndIgnoresAnOlder", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.script = append(l.script, covered, gone)
		l.signal(10*time.Second, workflows.SignalReconfigure, int64(1))
		l.signal(20*time.Second, workflows.SignalReconfigure, int64(3))
		began := l.env.Now()
		if err := l.run(); err != nil {
			t.Fatal(err)
		}
		last := l.turns[len(l.turns)-1]
		if last.Revision != 3 || !last.Recover {
			t.Errorf("the turn after the signal has revision %d, recover %v; want 3, true", last.Revision, last.Recover)
		}
		if took := l.env.Now().Sub(began); took > 20*time.Second+l.holds+time.Second {
			t.Errorf("took %v: the turn was not given up", took)
		}
	})

	t.Run("KeepsTheSpanOfALostTurnUnlessTheDefinitionIsNew", func(t *testing.T) {
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
	})

	t.Run("StopsAtOnce", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.script = append(l.script, covered)
		l.signal(10*time.Second, workflows.SignalStop, nil)
		began := l.env.Now()
		if err := l.run(); err != nil {
			t.Fatal(err)
		}
		if took := l.env.Now().Sub(began); took >= l.holds {
			t.Errorf("took %v to stop, the turn held it", took)
		}
	})

	t.Run("StopCountsFromTheRevisionOn", func(t *testing.T) {
		t.Parallel()
		for name, test := range map[string]struct {
			stop  any
			stops bool
		}{
			"Older": {int64(2), false}, "OwnRevision": {int64(3), true}, "Newer": {int64(4), true},
			"OfACheckThatIsGone": {int64(0), true}, "WithoutARevision": {nil, true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLoopTest(t)
				l.input.Revision = 3
				l.script = append(l.script, covered, gone)
				l.signal(10*time.Second, workflows.SignalStop, test.stop)
				began := l.env.Now()
				if err := l.run(); err != nil {
					t.Fatal(err)
				}
				if took := l.env.Now().Sub(began); took < l.holds != test.stops {
					t.Errorf("ran for %v", took)
				}
			})
		}
	})

	t.Run("OfStopsAndRevisionsThatComeTogetherTheNewestCounts", func(t *testing.T) {
		t.Parallel()
		for name, test := range map[string]struct {
			stop   any
			goesOn bool
		}{"AddedAgain": {int64(2), true}, "AddedAgainAfterAStopWithoutARevision": {nil, true}, "RemovedOnceMore": {int64(4), false}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLoopTest(t)
				l.script = append(l.script, gone)
				l.env.RegisterDelayedCallback(func() {
					l.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalStop, test.stop)
					l.env.SignalWorkflow(workflows.SignalReconfigure, int64(3))
				}, 10*time.Second)
				if err := l.run(); err != nil {
					t.Fatal(err)
				}
				// The turn that was under way is given up either way.
				if goesOn := len(l.turns) > 0; goesOn != test.goesOn {
					t.Errorf("goes on: %v", goesOn)
				}
			})
		}
	})

	t.Run("RepeatsAFailedTurnWithGrowingPauses", func(t *testing.T) {
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
	})

	t.Run("RepeatsATurnThatEndedByAnOldDefinitionWithGrowingPauses", func(t *testing.T) {
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
	})

	t.Run("AnswersWhereItStands", func(t *testing.T) {
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
	})

	t.Run("TellsAfterItsFirstTurnAndWhenOtherRulesFire", func(t *testing.T) {
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
	})

	t.Run("TellsAgainWhenItsSlotsBeganAnew", func(t *testing.T) {
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
			result.Restarted = true
			return result, err
		}
		l.script = append(l.script, fires, fires, anew, fires, gone)
		if err := l.run(); err != nil {
			t.Fatal(err)
		}
		if len(l.votes) != 2 || !slices.Equal(l.votes[1].Firing, []uuid.UUID{rule}) || !l.votes[1].Slot.Equal((time.Time{}).Add(3*time.Minute)) {
			t.Errorf("told %+v, want what fires once before and once after", l.votes)
		}
	})

	t.Run("GoesOnRecoveringWhileRowsAreLeft", func(t *testing.T) {
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
	})
}
