// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestDrillFrozenDelivery freezes the control process that makes an attempt of a
// delivery, beside another control process.
func TestDrillFrozenDelivery(t *testing.T) {
	timingtest.Parallel(t)
	const interval = 2 * time.Second
	site, second := newSwitchable(t), newSwitchable(t)
	hung, works := newHangingReceiver(t), newHangingReceiver(t)
	hung.hangs.Store(true)
	s := newCluster(t, "VIGIL_DELIVERY_SCHEDULE=1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s")
	other := launch(t, s.env, "worker", "--control")
	s.seed(newSwitchable(t).URL, 1, interval)
	// Two failures, because a single probe may time out on a busy machine.
	s.alerting("frozen", site.URL, hung.URL, 1, interval, 2)
	s.alerting("works", second.URL, works.URL, 1, interval, 2)
	p := notePauses(t)

	site.broken.Store(true)
	eventually(t, "an attempt is under way", func() bool { return hung.waiting.Load() == 1 })
	victim := s.control
	if strings.Contains(s.attemptedBy(), fmt.Sprintf("/%d/", other.cmd.Process.Pid)) {
		victim = other
	}
	victim.freeze()
	frozen := time.Now()
	hung.hangs.Store(false)
	second.broken.Store(true)
	eventually(t, "another incident is delivered", func() bool { return works.summarize().opened == 1 })
	incident := time.Since(frozen) - 2*interval // two slots until the rule fires
	eventuallyWithin(t, 2*waitLimit, "the message arrives by the other process", func() bool { return hung.summarize().opened == 1 })
	held := time.Since(frozen)
	victim.thaw()
	site.broken.Store(false)
	eventually(t, "the recovery arrives", func() bool { return hung.summarize().resolved == 1 })

	got := hung.summarize()
	figure(t, "delivery held by a frozen process", held, 45*time.Second, p.longest())
	figure(t, "another incident beside it", incident, 30*time.Second, p.longest())
	figure(t, "messages repeated after they were accepted", got.repeated, 0, 0)
	figure(t, "recoveries before their openings", got.outOfOrder, 0, 0)
	figure(t, "messages with another id, body or signature", hung.differentIDs()+got.changed+got.unsigned, 0, 0)
	const unknown = "SELECT count(*) FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id " +
		"WHERE d.channel_name = 'frozen' AND a.error_code = 'unknown'"
	if n := s.number(unknown); n != 1 {
		t.Errorf("%d attempts have an unknown outcome, want that of the frozen process", n)
	}
	if n := s.number("SELECT count(*) FROM incidents"); n != 2 {
		t.Errorf("%d incidents, want 2", n)
	}
}

// attemptedBy returns the identity of the worker that makes an attempt of a delivery.
func (s *cluster) attemptedBy() string {
	s.t.Helper()
	c := dialTemporal(s.t, s.temporal.ready.TemporalAddress, "vigil")
	defer c.Close()
	identity := ""
	eventually(s.t, "the attempt has a worker", func() bool {
		open := &workflowservice.ListWorkflowExecutionsRequest{Query: `ExecutionStatus = "Running" AND WorkflowType = "Delivery"`}
		listed, err := c.ListWorkflow(s.t.Context(), open)
		if err != nil || len(listed.GetExecutions()) == 0 {
			return false
		}
		described, err := c.DescribeWorkflowExecution(s.t.Context(), listed.GetExecutions()[0].GetExecution().GetWorkflowId(), "")
		if err != nil || len(described.GetPendingActivities()) == 0 {
			return false
		}
		identity = described.GetPendingActivities()[0].GetLastWorkerIdentity()
		return identity != ""
	})
	return identity
}
