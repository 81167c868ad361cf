// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// operatorBound is how long the platform may take after an operator has ended, reset or
// paused something in Temporal.
const operatorBound = 60 * time.Second

// operator acts on workflows the way the Temporal UI does.
type operator struct {
	*alertScenario
	temporal  temporal.Client
	namespace string
	slots     *cluster // reads the slots
}

// TestDrillOperator has an operator terminate, cancel and reset the workflows of loops,
// incidents and deliveries, and pause activities. The platform must be right again by
// itself, without a second incident and without a message that has another id.
func TestDrillOperator(t *testing.T) {
	timingtest.Parallel(t)
	dsn := database(t)
	p := up(t, dataDir(t), "DATABASE_URL="+dsn, "VIGIL_REGIONS="+clusterRegion, "VIGIL_QUIET_WINDOW=4s", "VIGIL_TURN_RATE=0.001", fastSchedule)
	o := newOperator(t, p, dsn)
	pauses := notePauses(t)
	var all sync.WaitGroup
	for _, act := range []func(){o.endLoops, o.resetLoop, o.pauseLoop, o.endIncidents, o.endDeliveries} {
		all.Go(act)
	}
	all.Wait()
	o.awaitDeliveries()

	l := o.slots.audit(time.Now())
	t.Logf("%s; %v", &l, pauses)
	l.exact(t)
	figure(t, "longest silence of a loop", l.silence, operatorBound, pauses.longest())
	episodes := len(o.checks) - 3 // those of endLoops and pauseLoop have none
	opened := o.counts(`SELECT 'all', count(*) FROM incidents`)["all"]
	got := o.receiver.summarize()
	t.Logf("%d episodes, %d incidents, receiver %+v", episodes, opened, got)
	figure(t, "incidents beyond one for each episode", opened-episodes, 0, 0)
	figure(t, "messages beyond one for each event", got.opened+got.resolved-2*episodes, 0, 0)
	if got.opened != episodes || got.resolved != episodes || got.outOfOrder != 0 || got.unsigned != 0 || got.changed != 0 {
		t.Errorf("the receiver got %+v, want %d incidents, opened and resolved once each", got, episodes)
	}
	p.stop()
}

// newOperator starts ten checks with a rule each.
func newOperator(t *testing.T, p *process, dsn string) *operator {
	t.Helper()
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	t.Cleanup(c.Close)
	db := openDatabase(t, dsn)
	api := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	o := &operator{
		alertScenario: newAlertScenario(t, api, dsn, 1, 10, 0, clusterRegion), temporal: c, namespace: p.ready.Namespace,
		slots: &cluster{t: t, dsn: dsn, db: db},
	}
	eventually(t, "every loop has a result", func() bool { return o.slots.loopsOn(nil) == len(o.checks) })
	o.slots.began = time.Now().Truncate(time.Microsecond)
	return o
}

func (o *operator) loopID(check int) string {
	return vigil.LoopID(uuid.MustParse(o.checks[check]), clusterRegion)
}

func (o *operator) incidentID(check int) string {
	return vigil.IncidentWorkflowID(uuid.MustParse(o.checks[check]))
}

func (o *operator) ok(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Error(err)
	}
}

// endLoops terminates the loop of check 0 and cancels that of check 1.
func (o *operator) endLoops() {
	o.ok(o.temporal.TerminateWorkflow(o.t.Context(), o.loopID(0), "", "an operator"))
	o.ok(o.temporal.CancelWorkflow(o.t.Context(), o.loopID(1), ""))
	began := time.Now()
	for check, what := range []string{"terminated", "canceled"} {
		o.awaitRunning(o.loopID(check), began)
		figure(o.t, "a "+what+" loop runs again", time.Since(began), operatorBound, 0)
	}
}

// resetLoop resets the loop of check 2 to an instant of an episode that is over.
func (o *operator) resetLoop() {
	const check = 2
	o.service.fail(path(check))
	o.awaitIncidents(check, 1, "active")
	then, run := o.lastTask(o.loopID(check))
	o.service.repair(path(check))
	o.awaitIncidents(check, 1, "resolved")
	o.reset(o.loopID(check), run, then)
	began := time.Now()
	o.awaitResults(check, began)
	figure(o.t, "a loop that was reset stores results", time.Since(began), operatorBound, 0)
}

// pauseLoop pauses the turn of check 3. It is under way and has no second attempt, so it
// ends, and the next turn is another activity.
func (o *operator) pauseLoop() {
	const check = 3
	service := o.temporal.WorkflowService()
	execution := &commonpb.WorkflowExecution{WorkflowId: o.loopID(check)}
	_, err := service.PauseActivity(o.t.Context(), &workflowservice.PauseActivityRequest{
		Namespace: o.namespace, Execution: execution, Activity: &workflowservice.PauseActivityRequest_Type{Type: "Watch"}, Reason: "an operator",
	})
	o.ok(err)
	began := time.Now()
	o.awaitResults(check, began.Add(5*time.Second)) // more than the turn that was paused
	figure(o.t, "a loop whose turn was paused stores results", time.Since(began), operatorBound, 0)
	_, err = service.PauseWorkflowExecution(o.t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: o.namespace, WorkflowId: o.loopID(check), RequestId: uuid.NewString(),
	})
	if _, off := errors.AsType[*serviceerror.Unimplemented](err); !off {
		o.t.Errorf("pausing a workflow is not refused by this server: %v", err)
	}
}

// endIncidents terminates, cancels and resets the workflows of the open incidents of the
// checks 4 to 6.
func (o *operator) endIncidents() {
	const first, last = 4, 6
	o.eachOpen(first, last)
	o.ok(o.temporal.TerminateWorkflow(o.t.Context(), o.incidentID(first), "", "an operator"))
	o.ok(o.temporal.CancelWorkflow(o.t.Context(), o.incidentID(first+1), ""))
	o.resetToStart(o.incidentID(last))
	began := time.Now()
	for check, what := range map[int]string{first: "terminated", first + 1: "canceled"} {
		o.awaitRunning(o.incidentID(check), began) // no vote comes meanwhile
		figure(o.t, "a "+what+" incident workflow runs again", time.Since(began), operatorBound, 0)
	}
	o.eachResolved(first, last, "incidents whose workflows were ended or reset are resolved")
}

// endDeliveries does so with deliveries of the checks 7 to 9, while their receiver fails.
func (o *operator) endDeliveries() {
	const first, last = 7, 9
	o.receiver.setFailing(100)
	o.eachOpen(first, last)
	var ids []string
	for check := first; check <= last; check++ {
		ids = append(ids, o.deliveryID(check))
	}
	o.ok(o.temporal.TerminateWorkflow(o.t.Context(), ids[0], "", "an operator"))
	o.ok(o.temporal.CancelWorkflow(o.t.Context(), ids[1], ""))
	o.resetToStart(ids[2])
	o.receiver.setFailing(0)
	began := time.Now()
	for check := first; check <= last; check++ {
		o.awaitDelivered(check)
	}
	figure(o.t, "deliveries whose workflows were ended or reset arrive", time.Since(began), operatorBound, 0)
	o.eachResolved(first, last, "their incidents are resolved")
}

// eachOpen opens an incident for every check from first to last.
func (o *operator) eachOpen(first, last int) {
	for check := first; check <= last; check++ {
		o.service.fail(path(check))
	}
	for check := first; check <= last; check++ {
		o.awaitIncidents(check, 1, "active")
	}
}

// eachResolved repairs the checks and records how long their incidents take.
func (o *operator) eachResolved(first, last int, what string) {
	began := time.Now()
	for check := first; check <= last; check++ {
		o.service.repair(path(check))
	}
	for check := first; check <= last; check++ {
		o.awaitIncidents(check, 1, "resolved")
	}
	figure(o.t, what, time.Since(began), operatorBound, 0)
}

// awaitRunning waits until a run of the workflow that began after an instant is open.
func (o *operator) awaitRunning(id string, after time.Time) {
	o.await("a new run of "+id, func(ctx context.Context) bool {
		described, err := o.temporal.DescribeWorkflowExecution(ctx, id, "")
		info := described.GetWorkflowExecutionInfo()
		return err == nil && info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetStartTime().AsTime().After(after)
	})
}

// awaitResults waits until the check has a result of a slot after an instant.
func (o *operator) awaitResults(check int, after time.Time) {
	o.await(fmt.Sprintf("a result of check %d", check), func(context.Context) bool {
		const newer = "SELECT count(*) FROM check_regions WHERE check_id = $1 AND last_scheduled > $2"
		return o.slots.number(newer, o.checks[check], after) == 1 //nolint:contextcheck // number has the test's
	})
}

func (o *operator) awaitDelivered(check int) {
	o.await(fmt.Sprintf("the message of check %d", check), func(context.Context) bool {
		const delivered = "SELECT count(*) FROM deliveries WHERE check_id = $1 AND status = 'delivered'"
		return o.slots.number(delivered, o.checks[check]) > 0 //nolint:contextcheck // number has the test's
	})
}

// await is eventually for other goroutines than that of the test.
func (o *operator) await(what string, holds func(context.Context) bool) {
	defer timingtest.Waiting(o.t, what)()
	deadline := time.Now().Add(2 * operatorBound)
	for !holds(o.t.Context()) {
		if time.Now().After(deadline) {
			o.t.Errorf("after %v, this is not there: %s", 2*operatorBound, what)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// deliveryID waits for the delivery of a check, which fails at least once, and returns the
// ID of its workflow.
func (o *operator) deliveryID(check int) string {
	var incident, channel uuid.UUID
	o.await("an attempt", func(ctx context.Context) bool {
		return o.slots.db.QueryRowContext(ctx, "SELECT incident_id, channel_id FROM deliveries WHERE check_id = $1 AND attempts > 0",
			o.checks[check]).Scan(&incident, &channel) == nil
	})
	return vigil.DeliveryWorkflowID(incident, channel)
}

// lastTask returns the last completed workflow task of a workflow, and its run.
func (o *operator) lastTask(id string) (event int64, run string) {
	described, err := o.temporal.DescribeWorkflowExecution(o.t.Context(), id, "")
	o.ok(err)
	run = described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	events := o.temporal.GetWorkflowHistory(o.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		next, err := events.Next()
		if err != nil {
			o.t.Error(err)
			break
		}
		if next.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			event = next.GetEventId()
		}
	}
	return event, run
}

// resetToStart resets the newest run of a workflow to its first workflow task.
func (o *operator) resetToStart(id string) {
	described, err := o.temporal.DescribeWorkflowExecution(o.t.Context(), id, "")
	o.ok(err)
	run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	events := o.temporal.GetWorkflowHistory(o.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		next, err := events.Next()
		if err != nil {
			o.t.Error(err)
			return
		}
		if next.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			o.reset(id, run, next.GetEventId())
			return
		}
	}
	o.t.Errorf("%s has no workflow task", id)
}

func (o *operator) reset(id, run string, event int64) {
	_, err := o.temporal.ResetWorkflowExecution(o.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: o.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "an operator", WorkflowTaskFinishEventId: event, RequestId: uuid.NewString(),
	})
	if err != nil {
		o.t.Errorf("reset %s to event %d: %v", id, event, err)
	}
}
