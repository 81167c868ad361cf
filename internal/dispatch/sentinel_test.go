// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"testing"

	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/workers/workerstest"
	"github.com/vigil-monitor/vigil/workflows"
)

// TestSentinel writes epochs to a sentinel of a real Temporal.
func TestSentinel(t *testing.T) {
	t.Parallel()
	p := workerstest.Start(t, "eu-central-fra")
	s := dispatch.NewSentinel(p.Temporal, "vigil")
	const generation = 3
	expect := func(want fleet.Sentinel) {
		t.Helper()
		got, err := s.Find(t.Context(), generation)
		if err != nil || got != want {
			t.Errorf("%+v (%v), want %+v", got, err, want)
		}
	}
	expect(fleet.Sentinel{})
	for range 2 { // an open one stays
		p.OK(s.Start(t.Context(), generation))
		expect(fleet.Sentinel{Found: true, Open: true})
	}
	for _, epoch := range []int64{7, 9, 8} { // the last one is late
		p.OK(s.Write(t.Context(), generation, epoch))
	}
	expect(fleet.Sentinel{Found: true, Open: true, Epoch: 9})
	written, err := s.FindWritten(t.Context(), generation)
	if want := (fleet.Sentinel{Found: true, Open: true, Epoch: 9}); err != nil || written != want {
		t.Errorf("after a write %+v (%v), want %+v", written, err, want)
	}
	described, err := p.Temporal.DescribeWorkflowExecution(t.Context(), workflows.SentinelID(generation), "")
	p.OK(err)
	if described.GetPendingWorkflowTask() != nil {
		t.Error("an epoch makes a workflow task")
	}
	run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	for range 2 {
		p.OK(s.Close(t.Context(), generation, run))
		expect(fleet.Sentinel{Found: true, Epoch: 9})
	}
	if closed, err := s.FindWritten(t.Context(), generation); err != nil || closed != (fleet.Sentinel{Found: true, Epoch: 9}) {
		t.Errorf("a closed one is %+v (%v)", closed, err)
	}
	p.OK(s.Start(t.Context(), generation))
	p.OK(s.Close(t.Context(), generation, run)) // of the earlier run
	expect(fleet.Sentinel{Found: true, Open: true})
}
