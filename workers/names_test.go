package workers_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"vigil/activities"
	"vigil/workers"
)

// TestRegisteredNamesAreThoseOfRecordedHistories compares what the workers
// register with what recorded workflows ask for. Replay alone registers no
// activities: it would not notice that one under way finds no worker any more.
func TestRegisteredNamesAreThoseOfRecordedHistories(t *testing.T) {
	t.Parallel()
	registered := registrations(t)
	paths, err := filepath.Glob("../workflows/testdata/history/*.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(map[string]bool)
	for _, path := range paths {
		workflowType, activityTypes := historyNames(t, path)
		recorded[workflowType] = true
		names, ok := registered[workflowType]
		if !ok {
			t.Errorf("%s: no worker registers the workflow %s", path, workflowType)
			continue
		}
		if len(activityTypes) == 0 {
			t.Errorf("%s: no activity is recorded, nothing is proved", path)
		}
		for _, name := range activityTypes {
			if !slices.Contains(names, name) {
				t.Errorf("%s: the worker of the workflow %s registers %v, and not %s", path, workflowType, names, name)
			}
		}
	}
	for workflowType := range registered {
		if !recorded[workflowType] {
			t.Errorf("no history of the workflow %s is recorded", workflowType)
		}
	}
}

// historyNames returns the workflow type of a recorded history, and the types of
// the activities that it scheduled.
func historyNames(t *testing.T, path string) (workflowType string, activityTypes []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type named struct {
		Name string `json:"name"`
	}
	var history struct {
		Events []struct {
			Started struct {
				WorkflowType named `json:"workflowType"`
			} `json:"workflowExecutionStartedEventAttributes"`
			Scheduled struct {
				ActivityType named `json:"activityType"`
			} `json:"activityTaskScheduledEventAttributes"`
		} `json:"events"`
	}
	if err := json.Unmarshal(text, &history); err != nil {
		t.Fatal(err)
	}
	for _, event := range history.Events {
		if name := event.Started.WorkflowType.Name; name != "" {
			workflowType = name
		}
		if name := event.Scheduled.ActivityType.Name; name != "" && !slices.Contains(activityTypes, name) {
			activityTypes = append(activityTypes, name)
		}
	}
	return workflowType, activityTypes
}

// registrations returns, for each workflow type, the activity types that the
// same worker registers.
func registrations(t *testing.T) map[string][]string {
	t.Helper()
	type registration struct{ workflows, activities []string }
	var all []*registration
	recorder, err := temporal.NewSimplePlugin(temporal.SimplePluginOptions{
		Name: "registrations",
		ConfigureWorker: func(_ context.Context, options worker.PluginConfigureWorkerOptions) error {
			w := &registration{}
			all = append(all, w)
			options.WorkerRegistryOptions.OnRegisterWorkflow = func(_ any, o workflow.RegisterOptions) {
				w.workflows = append(w.workflows, o.Name)
			}
			options.WorkerRegistryOptions.OnRegisterActivity = func(_ any, o activity.RegisterOptions) {
				w.activities = append(w.activities, o.Name)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	c, err := client.NewLazyClient(client.Options{
		HostPort: "127.0.0.1:1", Namespace: "vigil", Logger: log.NewStructuredLogger(quiet), Plugins: []client.Plugin{recorder},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	regions := workers.NewRegions(c, workers.RegionOptions{
		Name: "regions", Regions: []string{"eu-central-fra"}, Watcher: &activities.Watcher{}, Log: quiet,
		Deployment: workers.Deployment{Name: "vigil", BuildID: "1"}, // of a versioned build, all workers start at once
	})
	if err := regions.Start(t.Context()); err == nil {
		t.Fatal("the workers started without Temporal")
	}
	workers.NewControl(c, workers.ControlOptions{Name: "control", Incidents: &activities.Incidents{}, Deliveries: &activities.Deliveries{}})
	byWorkflow := make(map[string][]string)
	for _, w := range all {
		for _, workflowType := range w.workflows {
			byWorkflow[workflowType] = w.activities
		}
	}
	return byWorkflow
}
