// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/workflows"
)

// recorded are the histories that were recorded from real runs: those of the drills, and those
// beside the data directories from which the upgrade drill starts.
func recorded(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"testdata/history/*.json", "../e2e/testdata/upgrade/*/histories/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Fatalf("no recorded history %s: nothing is proved", pattern)
		}
		files = append(files, found...)
	}
	return files
}

// TestReplay runs today's code over recorded histories. A failure means that workflows under
// way would break: bring the change in behind workflow.GetVersion, never by recording them
// again.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, file := range recorded(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(workflows.CheckLoop, workflow.RegisterOptions{Name: "CheckLoop"})
			replayer.RegisterWorkflowWithOptions(workflows.Incident, workflow.RegisterOptions{Name: "Incident"})
			replayer.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: "Delivery"})
			replayer.RegisterWorkflowWithOptions(workflows.Recovery, workflow.RegisterOptions{Name: "Recovery"})
			replayer.RegisterWorkflowWithOptions(workflows.Drill, workflow.RegisterOptions{Name: "Drill"})
			quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, file); err != nil {
				t.Fatal(err)
			}
		})
	}
}
