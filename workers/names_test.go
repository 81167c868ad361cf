// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// TestNamesInTemporal tests that operators find workflows by the names of checks, also
// after a rename, and that nothing shows a name while names are not shown.
func TestNamesInTemporal(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	var names *dispatch.Names
	p := workerstest.StartDispatching(t, func(temporal client.Client) []dispatch.Option {
		names = dispatch.NewNames(temporal, "vigil", time.Now, quiet)
		return []dispatch.Option{dispatch.WithNames(names)}
	}, newark)
	found := func(query string) []string {
		t.Helper()
		list, err := p.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		p.OK(err)
		var types []string
		for _, one := range list.GetExecutions() {
			types = append(types, one.GetType().GetName())
		}
		return types
	}
	named := func(name string) string {
		return fmt.Sprintf("%s = %q AND ExecutionStatus = 'Running'", dispatch.AttributeCheckName, name)
	}
	loop := func() vigil.Loop {
		t.Helper()
		loops, err := p.Store.Loops(t.Context(), p.Org.ID, p.Check.ID)
		p.OK(err)
		if len(loops) != 1 {
			t.Fatalf("%d loops", len(loops))
		}
		return loops[0]
	}
	loops := dispatch.NewLoops(p.Temporal, p.Store, quiet, dispatch.WithNames(names))

	p.Vote(newark, true)
	p.AwaitOpen(1)
	eventually(t, "the incident and its delivery are found by the name", func() bool {
		return len(found(fmt.Sprintf("%s = 'shop'", dispatch.AttributeCheckName))) == 2
	})

	w := regionWorker{showNames: names.Shown}
	w.start(t, p, workers.RegionOptions{Name: "namer", Regions: []string{newark}})
	p.OK(loops.Apply(t.Context(), loop()))
	eventually(t, "the loop is found by the name", func() bool { return slices.Contains(found(named("shop")), "CheckLoop") })

	_, err := p.Store.UpdateCheck(t.Context(), p.Org.ID, p.Check.ID, account.PlanOf(account.TierEnterprise, time.Second),
		func(check *vigil.Check) error {
			check.Name, check.Interval = "corner store", time.Second
			return nil
		})
	p.OK(err)
	p.OK(loops.Apply(t.Context(), loop()))
	eventually(t, "the loop is found by its new name", func() bool { return slices.Contains(found(named("corner store")), "CheckLoop") })
	// The run before and the one after it are two records, which Temporal writes one after the other.
	eventually(t, "it is not found by the old name", func() bool { return !slices.Contains(found(named("shop")), "CheckLoop") })

	w.stop()
	var sealed regionWorker // as with encrypted payloads
	sealed.start(t, p, workers.RegionOptions{Name: "sealed", Regions: []string{newark}})
	eventually(
		t,
		"the loop does not show the name any more",
		func() bool { return !slices.Contains(found(named("corner store")), "CheckLoop") },
	)

	other := p.Check
	other.ID, other.Name = [16]byte{}, "hidden"
	other, err = p.Store.CreateCheck(t.Context(), other, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
	p.OK(err)
	silent := dispatch.NewLoops(p.Temporal, p.Store, quiet)
	p.OK(silent.Apply(t.Context(), vigil.Loop{
		CheckID: other.ID, OrgID: p.Org.ID, Region: newark, Name: other.Name, Desired: other.Revision, Active: true,
	}))
	eventually(t, "the loop without a name runs", func() bool {
		return len(found(fmt.Sprintf("%s = %q", dispatch.AttributeCheck, other.ID.String()))) == 1
	})
	if shown := found(fmt.Sprintf("%s = 'hidden'", dispatch.AttributeCheckName)); len(shown) != 0 {
		t.Errorf("a name is shown: %v", shown)
	}
}
