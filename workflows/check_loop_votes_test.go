// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestCheckLoopReportsAVoteAfterItsFirstTurnAndWhenOtherRulesFire(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	fires := unhealthy(rule)
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
		t.Errorf("reported %+v, want %+v", l.votes, want)
	}
}

func TestCheckLoopReportsWhatMadeTheRulesFire(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	match := vigil.Match{Rule: rule, Keys: []string{vigil.KeySSLDaysRemaining}, Days: new(9)}
	l.script = append(l.script, covered, func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := unhealthy(rule)(turn)
		result.State.Matches = []vigil.Match{match}
		return result, err
	}, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || l.votes[0].Matches != nil || !reflect.DeepEqual(l.votes[1].Matches, []vigil.Match{match}) {
		t.Errorf("reported %+v, want the match with the second vote", l.votes)
	}
}

func TestCheckLoopReportsAgainWhenItsSlotsRestart(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	fires := unhealthy(rule)
	restarted := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := fires(turn)
		result.Restarted = true
		return result, err
	}
	l.script = append(l.script, fires, fires, restarted, fires, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || !slices.Equal(l.votes[1].Firing, []uuid.UUID{rule}) || !l.votes[1].Slot.Equal((time.Time{}).Add(3*time.Minute)) {
		t.Errorf("reported %+v, want what fires once before and once after", l.votes)
	}
}

// rejected fails the first report of a vote for good.
func rejected(i int) error {
	if i == 0 {
		return temporal.NewNonRetryableApplicationError("the vote is refused", "test", nil)
	}
	return nil
}

func TestCheckLoopRepeatsAReportThatFailedAfterTheNextTurn(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.report = rejected
	l.script = append(l.script, covered, covered, covered, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || !l.votes[1].Slot.Equal((time.Time{}).Add(2*time.Minute)) {
		t.Errorf("reported %+v, want the vote of the second turn after that of the first", l.votes)
	}
	if warnings := l.env.logs.warnings(); len(warnings) != 1 || !contains(warnings[0], " error=", "the vote is refused") {
		t.Errorf("logged %q, want why the report failed", warnings)
	}
}

// A turn that is given up ends by no definition, so there is no revision to report.
func TestCheckLoopReportsNothingAfterATurnThatItGaveUp(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.report = rejected
	l.script = append(l.script, covered, covered, covered, gone) // the second is given up
	l.signal(l.holds+10*time.Second, workflows.SignalNudge, nil)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || !l.votes[1].Slot.Equal((time.Time{}).Add(2*time.Minute)) {
		t.Errorf("reported %+v, want one vote for each turn that ended", l.votes)
	}
}

func TestCheckLoopReportsNoVoteBeforeItsFirstResult(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	handedOver := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.State = turn.State
		return result, err
	}
	l.script = append(l.script, handedOver, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 0 {
		t.Errorf("reported %+v without a result", l.votes)
	}
}

func TestCheckLoopThatContinuesDoesNotRepeatItsVote(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	l.input.Reported, l.input.Firing = true, []uuid.UUID{rule}
	l.script = append(l.script, unhealthy(rule), gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 0 {
		t.Errorf("reported %+v again", l.votes)
	}
}

func TestCheckLoopDoesNotRepeatTheVoteOfALoopThatWasLost(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	voted := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Restarted, result.Voted = true, true
		return result, err
	}
	l.script = append(l.script, voted, covered, unhealthy(rule), gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 1 || !slices.Equal(l.votes[0].Firing, []uuid.UUID{rule}) {
		t.Errorf("reported %+v, want the rule that fires and nothing before", l.votes)
	}
}

func TestCheckLoopDoesNotRepeatTheVoteOfItsTurn(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	rule := uuid.New()
	reported := func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := unhealthy(rule)(turn)
		result.Reported = true
		return result, err
	}
	l.script = append(l.script, covered, reported, covered, gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 2 || len(l.votes[0].Firing) > 0 || len(l.votes[1].Firing) > 0 {
		t.Errorf("reported %+v, want the calm votes before and after that of the turn", l.votes)
	}
}

func TestCheckLoopReportsAVoteUntilItIsStored(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.report = func(i int) error {
		if i < 3 {
			return errors.New("postgres is away")
		}
		return nil
	}
	l.script = append(l.script, unhealthy(uuid.New(), uuid.New()), gone)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	options := l.env.named(activities.NameReportVote)
	if len(options) != 1 || len(l.votes) != 4 {
		t.Fatalf("%d reports with %d attempts, want one with four", len(options), len(l.votes))
	}
	summary := "2 rules fire, trace " + vigil.SlotTrace(l.input.CheckID, l.input.Region, l.votes[0].Slot)
	if options[0].StartToCloseTimeout != 10*time.Second || options[0].Summary != summary {
		t.Errorf("reported with the options %+v", options[0])
	}
	want := temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second}
	if got := options[0].RetryPolicy; got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("retries by %+v, want %+v", got, want)
	}
}

func TestCheckLoopRecoversAfterANudgeDuringAReport(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.reporting = time.Minute
	l.script = append(l.script, covered, gone)
	l.signal(l.holds+10*time.Second, workflows.SignalNudge, nil)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.votes) != 1 || !l.turns[1].Recover {
		t.Errorf("%d votes, recovers %v: want the report to end and the next turn to recover", len(l.votes), l.turns[1].Recover)
	}
}

func TestCheckLoopStopsDuringAReport(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.reporting = time.Hour
	l.script = append(l.script, covered)
	l.signal(l.holds+10*time.Second, workflows.SignalStop, nil)
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if took := seconds(l.env.Now().Sub(began)); took != l.holds+10*time.Second {
		t.Errorf("took %v, want 1m10s", took)
	}
}
