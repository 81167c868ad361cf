// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/workflows"
)

const (
	// maxSentinelEvents is how long the history of a sentinel gets. A server keeps no more
	// than 10,000 signals of a run.
	maxSentinelEvents = 5000
	// sentinelPage is how many of its newest events are read: a control process that was
	// frozen may write an epoch late, behind newer ones.
	sentinelPage = 20
)

// Find returns what Temporal knows of the sentinel of a generation, by one request where it is
// not full.
func (s *Sentinel) Find(ctx context.Context, generation int64) (fleet.Sentinel, error) {
	found, _, err := s.find(ctx, generation, "")
	return found, err
}

// FindWritten is Find after a write, which only the host of Temporal takes that has the sentinel: one that had it, and was cut
// off, answers reads with what it had. It is an error where what was found is from before the write. A sentinel that is closed
// takes none.
func (s *Sentinel) FindWritten(ctx context.Context, generation int64) (fleet.Sentinel, error) {
	mark := workflows.SignalMark + rand.Text()
	err := s.temporal.SignalWorkflow(ctx, workflows.SentinelID(generation), "", mark, nil)
	if isNotFound(err) {
		return s.Find(ctx, generation)
	}
	if err != nil {
		return fleet.Sentinel{}, fmt.Errorf("write to the sentinel: %w", err)
	}
	found, marked, err := s.find(ctx, generation, mark)
	if err == nil && !marked {
		err = errors.New("what Temporal answered is from before a write that it has taken")
	}
	return found, err
}

// find reads the newest events, and whether one of them is the signal mark.
func (s *Sentinel) find(ctx context.Context, generation int64, mark string) (found fleet.Sentinel, marked bool, err error) {
	read, err := s.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx,
		&workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: s.namespace, MaximumPageSize: sentinelPage,
			Execution: &commonpb.WorkflowExecution{WorkflowId: workflows.SentinelID(generation)},
		})
	if isNotFound(err) {
		return fleet.Sentinel{}, false, nil
	}
	if err != nil {
		return fleet.Sentinel{}, false, fmt.Errorf("read the sentinel: %w", err)
	}
	found = fleet.Sentinel{Found: true, Open: true}
	for i, event := range read.GetHistory().GetEvents() { // the newest is the first
		if i == 0 {
			found.Open, found.Full = !closes(event), event.GetEventId() >= maxSentinelEvents
		}
		signal := event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName()
		marked = marked || signal != "" && signal == mark
		name, ok := strings.CutPrefix(signal, workflows.SignalEpoch)
		if epoch, err := strconv.ParseInt(name, 10, 64); ok && err == nil {
			found.Epoch = max(found.Epoch, epoch)
		}
	}
	if !found.Open || !found.Full {
		return found, marked, nil
	}
	described, err := s.temporal.DescribeWorkflowExecution(ctx, workflows.SentinelID(generation), "")
	if err != nil {
		return fleet.Sentinel{}, false, fmt.Errorf("describe the sentinel: %w", err)
	}
	found.RunID = described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	return found, marked, nil
}

// closes reports whether an event is the last one of a workflow.
func closes(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() { //nolint:exhaustive // the others do not
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}

// Write writes an epoch to the open sentinel of a generation. That is a signal, and one state
// transition: the first task of a sentinel is delayed, so that none is made for it.
func (s *Sentinel) Write(ctx context.Context, generation, epoch int64) error {
	name := workflows.SignalEpoch + strconv.FormatInt(epoch, 10)
	if err := s.temporal.SignalWorkflow(ctx, workflows.SentinelID(generation), "", name, nil); err != nil {
		return fmt.Errorf("write the epoch to the sentinel: %w", err)
	}
	return nil
}
