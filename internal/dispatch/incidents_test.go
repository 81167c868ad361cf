// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package dispatch_test

import (
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

func TestIncidents(t *testing.T) {
	t.Parallel()
	const fra, ewr = "eu-central-fra", "na-east-ewr"
	p := workerstest.Start(t, fra, ewr)

	// From the vote to the receiver, which is down for a while.
	p.AnswerWith(http.StatusInternalServerError)
	p.Vote(fra, true)
	incident := p.AwaitOpen(1)
	got, err := p.Incidents.Acknowledge(t.Context(), act(p, incident, "ada", ""))
	if err != nil || got.Status != vigil.IncidentAcknowledged || got.AcknowledgedBy != "ada" {
		t.Fatalf("acknowledged: %+v, %v", got, err)
	}
	if again, err := p.Incidents.Acknowledge(t.Context(), act(p, incident, "bob", "")); err != nil || again.AcknowledgedBy != "ada" {
		t.Errorf("acknowledged again: %+v, %v", again, err)
	}
	p.Vote(fra, false)
	p.AwaitResolved()
	p.AnswerWith(http.StatusOK)
	if accepted := p.AwaitAccepted(2); !slices.Equal(accepted, []string{"incident.triggered", "incident.resolved"}) {
		t.Errorf("the receiver accepted %v", accepted)
	}
	if _, err := p.Incidents.Acknowledge(t.Context(), act(p, incident, "ada", "")); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("acknowledged after the end: %v", err)
	}
	p.AwaitIdle()

	// A redelivery is one more message with the same body.
	deliveries, _, err := p.Store.Deliveries(t.Context(), p.Org.ID, listing.DeliveryFilter{Page: listing.Page{Limit: 10}})
	p.OK(err)
	p.OK(p.Incidents.Redeliver(t.Context(), p.Org.ID, deliveries[0].ID))
	p.AwaitAccepted(3)

	// Resolved manually: the latch holds until no region fires.
	p.Vote(fra, true)
	incident = p.AwaitOpen(2)
	got, err = p.Incidents.Resolve(t.Context(), act(p, incident, "ada", "known"))
	if err != nil || got.Open() || !got.Latched || got.Note != "known" {
		t.Fatalf("resolved: %+v, %v", got, err)
	}
	if _, err := p.Incidents.Resolve(t.Context(), act(p, incident, "bob", "")); err != nil {
		t.Errorf("resolved again: %v", err)
	}

	// Temporal loses the workflow: the latch is in Postgres, and holds.
	p.OK(p.Temporal.TerminateWorkflow(t.Context(), vigil.IncidentWorkflowID(p.Check.ID), "", "lost"))
	p.OK(p.Incidents.Revive(t.Context(), p.Org.ID, p.Check.ID, "shop", ""))
	p.Vote(fra, true)
	p.Vote(fra, false)
	p.AwaitIdle()
	if _, n, err := p.Store.Incidents(
		t.Context(),
		p.Org.ID,
		listing.IncidentFilter{Page: listing.Page{Limit: 10}},
	); err != nil ||
		n.Total != 2 {
		t.Errorf("%d incidents, %v", n.Total, err)
	}

	// Temporal loses the workflow of an open incident: resolving starts another.
	p.Vote(fra, true)
	incident = p.AwaitOpen(3)
	p.OK(p.Temporal.TerminateWorkflow(t.Context(), vigil.IncidentWorkflowID(p.Check.ID), "", "lost"))
	if got, err = p.Incidents.Resolve(t.Context(), act(p, incident, "ada", "")); err != nil || got.Open() {
		t.Errorf("resolved without its workflow: %+v, %v", got, err)
	}
	p.Vote(fra, false)
	p.AwaitIdle()

	// Look does nothing for a check without a workflow.
	p.OK(p.Incidents.Refresh(t.Context(), p.Check.ID))
	_, err = p.Temporal.DescribeWorkflowExecution(t.Context(), vigil.IncidentWorkflowID(uuid.New()), "")
	if _, ok := err.(*serviceerror.NotFound); !ok { //nolint:errorlint // as the client returns it
		t.Errorf("got %v", err)
	}

	// 64 votes of an episode at once, repeatedly: each episode is one incident.
	rounds := 40
	switch {
	case os.Getenv("VIGIL_DRILL") == "full":
		rounds = 200
	case testing.Short():
		rounds = 10
	}
	race(p, rounds, fra, ewr)
}

// act is what a user does to an incident.
func act(p *workerstest.ControlPlane, incident vigil.Incident, by, note string) vigil.UserAction {
	return vigil.UserAction{OrgID: p.Org.ID, IncidentID: incident.ID, By: by, Note: note}
}

// race counts the incidents of so many episodes of 64 votes each.
func race(p *workerstest.ControlPlane, rounds int, regions ...string) {
	p.Helper()
	_, extent, err := p.Store.Incidents(p.Context(), p.Org.ID, listing.IncidentFilter{Page: listing.Page{Limit: 1}})
	p.OK(err)
	before := extent.Total
	began := time.Now()
	for round := range rounds {
		var wait sync.WaitGroup
		errs := make([]error, 64)
		for n := range errs {
			vote := p.NewVote(regions[n%len(regions)], true)
			wait.Go(func() { errs[n] = p.Report(p.Context(), vote) })
		}
		wait.Wait()
		for _, err := range errs {
			p.OK(err)
		}
		p.AwaitOpen(before + round + 1)
		for _, region := range regions {
			p.Vote(region, false)
		}
		p.AwaitResolved()
	}
	_, extent, err = p.Store.Incidents(p.Context(), p.Org.ID, listing.IncidentFilter{Page: listing.Page{Limit: 1}})
	p.OK(err)
	after := extent.Total
	p.Logf("%d episodes of 64 votes in %v: %d incidents", rounds, time.Since(began).Round(time.Millisecond), after-before)
	if after-before != rounds {
		p.Errorf("%d incidents of %d episodes", after-before, rounds)
	}
}
