// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

const (
	frankfurt = "eu-central-fra"
	singapore = "ap-southeast-sin"
	tokyo     = "ap-northeast-nrt"
)

// TestRegionsInUse tests that a region without loops costs no polls, and that its worker
// starts with the first work.
func TestRegionsInUse(t *testing.T) {
	t.Parallel()
	p := workerstest.Start(t, newark)
	demand := workers.NewDemand()
	var w regionWorker
	w.start(t, p, workers.RegionOptions{Name: "lazy", Regions: []string{frankfurt, newark, singapore, tokyo}, Demand: demand})
	polls := func(region string) bool {
		described, err := p.Temporal.DescribeTaskQueue(t.Context(), vigil.RegionQueue(region), enumspb.TASK_QUEUE_TYPE_ACTIVITY)
		p.OK(err)
		return len(described.GetPollers()) > 0
	}
	polled := func(region string) {
		t.Helper()
		eventually(t, "the worker of "+region+" polls", func() bool { return polls(region) })
	}
	polled(frankfurt) // the first
	polled(newark)    // it has a loop
	if polls(singapore) || polls(tokyo) {
		t.Error("the worker of a region that is not in use polls")
	}

	demand.Add(singapore)
	polled(singapore)
	if polls(tokyo) {
		t.Error("the worker of a region that is not in use polls")
	}

	check := p.Check
	check.ID, check.Name, check.Regions = uuid.Nil, "tea house", []string{tokyo}
	check, err := p.Store.CreateCheck(t.Context(), check, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
	p.OK(err)
	began := time.Now()
	loops := dispatch.NewLoops(p.Temporal, p.Store, slog.New(slog.DiscardHandler))
	p.OK(loops.Apply(t.Context(), vigil.Loop{
		CheckID: check.ID, OrgID: check.OrgID, Region: tokyo, Name: check.Name, Target: check.Target, Desired: check.Revision, Active: true,
	}))
	polled(tokyo)
	t.Logf("the worker polled %v after the first loop of its region was started elsewhere", time.Since(began))
	eventually(t, "the loop is probed", func() bool { return w.probes.Load() > 0 })
}
