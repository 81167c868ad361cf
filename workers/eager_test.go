// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"log/slog"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// TestEagerStart tests that the first workflow tasks of a loop and of a delivery do not go
// through a task queue, and that a loop which runs already is signalled instead.
func TestEagerStart(t *testing.T) {
	t.Parallel()
	p := workerstest.StartDispatching(t, func(client.Client) []dispatch.Option {
		return []dispatch.Option{dispatch.WithEagerStart()}
	}, newark)
	events := func(workflow string) (all []*historypb.HistoryEvent) {
		t.Helper()
		read := p.Temporal.GetWorkflowHistory(t.Context(), workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for read.HasNext() {
			event, err := read.Next()
			p.OK(err)
			all = append(all, event)
		}
		return all
	}
	eager := func(workflow string) bool {
		t.Helper()
		return events(workflow)[0].GetWorkflowExecutionStartedEventAttributes().GetEagerExecutionAccepted()
	}

	var w regionWorker
	w.start(t, p, workers.RegionOptions{Name: "eager", Regions: []string{newark}})
	loops := dispatch.NewLoops(p.Temporal, p.Store, slog.New(slog.DiscardHandler), dispatch.WithEagerStart())
	rows, err := p.Store.Loops(t.Context(), p.Org.ID, p.Check.ID)
	p.OK(err)
	p.OK(loops.Apply(t.Context(), rows[0]))
	loop := vigil.LoopID(p.Check.ID, newark)
	if !eager(loop) {
		t.Error("the first workflow task of the loop went through its task queue")
	}
	rows[0].Desired++
	p.OK(loops.Apply(t.Context(), rows[0])) // it runs, although the row says that it does not
	signals := 0
	for _, event := range events(loop) {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			signals++
		}
	}
	if signals != 1 {
		t.Errorf("the loop has %d signals, want that of its new revision", signals)
	}

	p.Vote(newark, true)
	p.AwaitOpen(1)
	var delivery string
	eventually(t, "the delivery is found", func() bool {
		list, err := p.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Delivery'"})
		p.OK(err)
		if len(list.GetExecutions()) == 1 {
			delivery = list.GetExecutions()[0].GetExecution().GetWorkflowId()
		}
		return delivery != ""
	})
	if !eager(delivery) {
		t.Error("the first workflow task of the delivery went through its task queue")
	}
}
