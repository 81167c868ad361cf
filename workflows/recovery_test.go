// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// recoveryRun runs the workflow of a recovery, whose activities return the reports in turn; nil is
// one that fails once.
func recoveryRun(t *testing.T, suggested bool, reports ...*activities.RecoveryReport) (*testEnv, workflows.RecoveryInput) {
	t.Helper()
	env := newTestEnv()
	in := workflows.RecoveryInput{RecoveryID: uuid.New()}
	env.RegisterActivityWithOptions(func(_ context.Context, id uuid.UUID) (activities.RecoveryReport, error) {
		if id != in.RecoveryID {
			t.Errorf("an activity works on %s, want %s", id, in.RecoveryID)
		}
		report := reports[0]
		reports = reports[1:]
		if report == nil {
			return activities.RecoveryReport{}, context.DeadlineExceeded
		}
		return *report, nil
	}, activity.RegisterOptions{Name: "Recover"})
	env.SetContinueAsNewSuggested(suggested)
	env.ExecuteWorkflow(workflows.Recovery, in)
	if len(reports) != 0 {
		t.Errorf("%d activities were not asked for", len(reports))
	}
	return env, in
}

// TestRecoveryGoesOnUntilItIsDone tests that parts follow one another, and that one that fails is repeated.
func TestRecoveryGoesOnUntilItIsDone(t *testing.T) {
	t.Parallel()
	env, _ := recoveryRun(
		t,
		false,
		&activities.RecoveryReport{Total: 3, Sent: 1},
		nil,
		&activities.RecoveryReport{Done: true, Total: 3, Sent: 3},
	)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for _, options := range env.named("Recover") {
		if options.HeartbeatTimeout != 20*time.Second || options.StartToCloseTimeout != 2*time.Minute {
			t.Errorf("a part has the options %+v", options)
		}
	}
}

// TestRecoveryContinuesAsNew tests that a long recovery gets another history.
func TestRecoveryContinuesAsNew(t *testing.T) {
	t.Parallel()
	env, in := recoveryRun(t, true, &activities.RecoveryReport{Total: 3, Sent: 1})
	if next := continued[workflows.RecoveryInput](t, env.GetWorkflowError(), "Recovery"); next != in {
		t.Errorf("goes on with %+v", next)
	}
}
