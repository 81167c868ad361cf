// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/workflows"
)

// drillSteps is the store of a drill that follows a script. Each call is made twice: the first
// time it fails after it has had its effect.
type drillSteps struct {
	steps []drills.Step // that FollowDrill returns
	stage error
	calls []string
	lost  bool
}

func (s *drillSteps) call(name string) error {
	if s.lost = !s.lost; s.lost {
		return errors.New("the answer was lost")
	}
	s.calls = append(s.calls, name)
	return nil
}

func (s *drillSteps) StageDrill(context.Context, uuid.UUID) ([]vigil.Loop, error) {
	if s.stage != nil {
		return nil, s.stage
	}
	return []vigil.Loop{{}}, s.call("stage")
}

func (s *drillSteps) FollowDrill(context.Context, uuid.UUID) (drills.Step, error) {
	if err := s.call("follow"); err != nil {
		return "", err
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, nil
}

func (s *drillSteps) HealDrill(context.Context, uuid.UUID) ([]vigil.Loop, error) {
	return []vigil.Loop{{}}, s.call("heal")
}

func (s *drillSteps) CloseDrill(context.Context, uuid.UUID, string, func([]byte) (string, error)) (drills.Drill, bool, error) {
	return drills.Drill{Receipt: &drills.Receipt{}}, true, s.call("close")
}

func (s *drillSteps) LoopsOf(context.Context, uuid.UUID) ([]vigil.Loop, error) { return nil, nil }
func (s *drillSteps) Apply(context.Context, vigil.Loop) error                  { return errors.New("away") }

func (s *drillSteps) Refresh(context.Context, uuid.UUID) error { return errors.New("away") }

// TestDrill leads drills through their steps, while every activity fails once.
func TestDrill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps []drills.Step
		stage error
		want  []string
	}{
		"Whole": {
			steps: []drills.Step{drills.Heal, drills.Close},
			want:  []string{"stage", "follow", "heal", "follow", "close"},
		},
		"ClosedByTheSweep": {steps: []drills.Step{drills.Close}, want: []string{"stage", "follow", "close"}},
		"NoChannelLeft":    {stage: vigil.Invalid("channel_ids", "none is left"), want: []string{"close"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, store := newTestEnv(), &drillSteps{steps: test.steps, stage: test.stage}
			acts := activities.NewDrills(activities.DrillsOptions{
				Store: store, Loops: store, Incidents: store, Log: slog.New(slog.DiscardHandler),
			})
			env.RegisterWorkflow(workflows.Drill)
			for name, act := range map[string]any{
				"StageDrill": acts.StageDrill, "FollowDrill": acts.FollowDrill, "HealDrill": acts.HealDrill, "CloseDrill": acts.CloseDrill,
			} {
				env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
			}
			env.ExecuteWorkflow(workflows.Drill, workflows.DrillInput{DrillID: uuid.New()})
			if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() {
				t.Fatal(err)
			}
			if !slices.Equal(store.calls, test.want) {
				t.Errorf("the steps are %v, want %v", store.calls, test.want)
			}
		})
	}
}
