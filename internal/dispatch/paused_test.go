// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"log/slog"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil/internal/dispatch"
)

// TestWarnPaused tests that a paused activity of an incident is logged with what makes it
// go on.
func TestWarnPaused(t *testing.T) {
	t.Parallel()
	const id = "incident/7"
	paused := described{answer: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
		PendingActivities: []*workflowpb.PendingActivityInfo{
			{ActivityId: "3", ActivityType: &commonpb.ActivityType{Name: "Open"}, Attempt: 4, Paused: true},
		},
	}}
	for name, test := range map[string]struct {
		temporal described
		fails    bool
		log      string // "" for nothing
	}{
		"RetryingActivity": {paused, false, "temporal activity unpause --workflow-id incident/7 --activity-id 3"},
		"NoWorkflow":       {described{err: serviceerror.NewNotFound("no")}, false, ""},
		"TemporalIsAway":   {described{err: serviceerror.NewUnavailable("no")}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			incidents := dispatch.NewIncidents(test.temporal, nil, slog.New(slog.NewTextHandler(&lines, nil)))
			if err := incidents.WarnPaused(t.Context(), id); (err != nil) != test.fails {
				t.Errorf("%v, want an error: %v", err, test.fails)
			}
			if !strings.Contains(lines.String(), test.log) || test.log == "" && lines.Len() > 0 {
				t.Errorf("logged %q, want %q", lines.String(), test.log)
			}
		})
	}
}
