// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package dispatch_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// TestARevivedIncident tests that the sweep finds an incident without a workflow as soon as a change of its
// check finds none, and that the workflow which is started again has the name of the check.
func TestARevivedIncident(t *testing.T) {
	t.Parallel()
	const region = "eu-central-fra"
	p := workerstest.StartDispatching(t, func(c client.Client) []dispatch.Option {
		return []dispatch.Option{dispatch.WithNames(dispatch.NewNames(c, "vigil", time.Now, slog.New(slog.DiscardHandler)))}
	}, region)
	lose := func() {
		t.Helper()
		p.OK(p.Temporal.TerminateWorkflow(t.Context(), vigil.IncidentWorkflowID(p.Check.ID), "", "lost"))
	}
	named := func(after string) {
		t.Helper()
		workflow, err := p.Temporal.DescribeWorkflow(t.Context(), vigil.IncidentWorkflowID(p.Check.ID), "")
		p.OK(err)
		name, _ := workflow.TypedSearchAttributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(dispatch.AttributeCheckName))
		if name != p.Check.Name {
			t.Errorf("after %s the workflow has the name %q, want %q", after, name, p.Check.Name)
		}
	}
	stalled := func() int {
		t.Helper()
		found, err := p.Store.StalledIncidents(t.Context(), time.Now(), fleet.EverySweepShard(), 10)
		p.OK(err)
		return len(found)
	}
	p.Vote(region, true)
	incident := p.AwaitOpen(1)
	named("the first vote")

	// It is open for long, so that the sweep looks at it every ten minutes.
	_, err := p.Store.DB().NewRaw("UPDATE incidents SET swept_at = now(), sweep_wait_ms = 600000 WHERE id = ?", incident.ID).Exec(t.Context())
	p.OK(err)
	p.OK(p.Incidents.Refresh(t.Context(), p.Check.ID))
	if n := stalled(); n != 0 {
		t.Errorf("%d incidents are due although the workflow runs", n)
	}
	unreached, cancel := context.WithCancel(t.Context())
	cancel() // as after the time for a call to Temporal
	if err := p.Incidents.Refresh(unreached, p.Check.ID); err == nil {
		t.Error("a workflow that is not reached is refreshed")
	}
	if n := stalled(); n != 1 {
		t.Errorf("%d incidents are due, want the one whose workflow was not reached", n)
	}
	_, err = p.Store.DB().NewRaw("UPDATE incidents SET swept_at = now(), sweep_wait_ms = 600000 WHERE id = ?", incident.ID).Exec(t.Context())
	p.OK(err)
	lose()
	p.OK(p.Incidents.Refresh(t.Context(), p.Check.ID))
	if n := stalled(); n != 1 {
		t.Errorf("%d incidents are due, want the one without a workflow", n)
	}
	p.OK(p.Incidents.Revive(t.Context(), p.Org.ID, p.Check.ID, "", "")) // as the sweep does
	named("the sweep")

	lose()
	_, err = p.Incidents.Acknowledge(t.Context(), act(p, incident, "ada", ""))
	p.OK(err)
	named("the acknowledgement")
	lose()
	p.OK(p.Incidents.Revive(t.Context(), p.Org.ID, p.Check.ID, p.Check.Name, "")) // a check without a target
	named("a vote that is not handled")
	p.Vote(region, false)
	p.AwaitResolved()
}
