// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/workflows"
)

// TestReplay runs today's code over histories that were recorded from real runs.
// A failure means that workflows under way would break: bring the change in
// behind workflow.GetVersion, never by recording them again.
func TestReplay(t *testing.T) {
	t.Parallel()
	const folder = "testdata/history"
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatal("no recorded history: nothing is proved")
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(workflows.CheckLoop, workflow.RegisterOptions{Name: "CheckLoop"})
			replayer.RegisterWorkflowWithOptions(workflows.Incident, workflow.RegisterOptions{Name: "Incident"})
			replayer.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: "Delivery"})
			quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, filepath.Join(folder, entry.Name())); err != nil {
				t.Fatal(err)
			}
		})
	}
}
