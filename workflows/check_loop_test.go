// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// loopTest runs a loop whose turns are scripted, in skipped time.
type loopTest struct {
	*testing.T
	env   *testEnv
	input workflows.LoopInput
	turns []activities.Turn
	votes []vigil.Vote
	// report answers report i of a vote, from 0; nil accepts all.
	report func(i int) error
	// script answers turn i; the last entry answers all that follow.
	script []func(activities.Turn) (activities.TurnResult, error)
	// holds delays the answer of a turn, so that signals reach it waiting.
	holds time.Duration
	// reporting is how long a report of a vote takes.
	reporting time.Duration
}

func newLoopTest(t *testing.T) *loopTest {
	t.Helper()
	l := &loopTest{T: t, env: newTestEnv(), holds: time.Minute}
	l.input = workflows.LoopInput{CheckID: uuid.New(), Region: "eu-central-fra", Revision: 1}
	l.env.RegisterWorkflow(workflows.CheckLoop)
	var watcher *activities.Watcher
	l.env.RegisterActivityWithOptions(watcher.Watch, activity.RegisterOptions{Name: "Watch"})
	l.env.RegisterActivityWithOptions(watcher.ReportVote, activity.RegisterOptions{Name: activities.NameReportVote})
	l.env.OnActivity(activities.NameReportVote, mock.Anything, mock.Anything, mock.Anything).Return(
		func(_ context.Context, _ uuid.UUID, vote vigil.Vote) error {
			l.votes = append(l.votes, vote)
			if l.report != nil {
				return l.report(len(l.votes) - 1)
			}
			return nil
		}).AfterFn(func() time.Duration { return l.reporting })
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

// together sends signals that reach the loop at once.
func (l *loopTest) together(after time.Duration, signals ...loopSignal) {
	l.env.RegisterDelayedCallback(func() {
		last := len(signals) - 1
		for _, s := range signals[:last] {
			l.env.SignalWorkflowSkippingWorkflowTask(s.name, s.arg)
		}
		l.env.SignalWorkflow(signals[last].name, signals[last].arg)
	}, after)
}

type loopSignal struct {
	name string
	arg  any
}

// covered is a turn whose slot has a result.
func covered(turn activities.Turn) (activities.TurnResult, error) {
	slot := turn.State.Slot.Add(time.Minute)
	return activities.TurnResult{
		End:      vigil.TurnCovered,
		State:    vigil.State{Slot: slot, Health: vigil.Healthy},
		Revision: turn.Revision, Span: 1,
		Next: slot.Add(time.Minute),
	}, nil
}

// unhealthy is a covered turn after which the given rules fire.
func unhealthy(rules ...uuid.UUID) func(activities.Turn) (activities.TurnResult, error) {
	return func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.End, result.State.Health, result.State.Failures = vigil.TurnChanged, vigil.Unhealthy, 3
		result.State.Firing = rules
		return result, err
	}
}

// goneBy ends the loop by a definition of that revision.
func goneBy(revision int64) func(activities.Turn) (activities.TurnResult, error) {
	return func(turn activities.Turn) (activities.TurnResult, error) {
		return activities.TurnResult{End: vigil.TurnGone, State: turn.State, Revision: revision}, nil
	}
}

func gone(turn activities.Turn) (activities.TurnResult, error) {
	return activities.TurnResult{End: vigil.TurnGone, State: turn.State, Revision: turn.Revision}, nil
}

func failing(activities.Turn) (activities.TurnResult, error) {
	return activities.TurnResult{}, errors.New("postgres is away")
}
