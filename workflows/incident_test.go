// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// incidentTest runs the workflow of a check's incidents in skipped time. It is the
// store of the workflow's activities, in memory: what Postgres makes of the same
// calls is tested there.
type incidentTest struct {
	*testing.T
	env      *testEnv
	input    workflows.IncidentInput
	standing vigil.IncidentContext
	gone     bool
	rule     uuid.UUID
	slot     time.Time
	// transitions is what happened, in order: opened, acknowledged, resolved
	// automatic, latched, unlatched.
	transitions []string
	ids         []uuid.UUID
	// openings, closings and latches are what the store was asked to write, and
	// reads how often the standing was read.
	openings []vigil.OpenRequest
	closings []vigil.ResolveRequest
	latches  []activities.LatchState
	reads    int
	// changes are those of the rules that the store was asked to make, and changed is called
	// for each.
	changes []vigil.RulesRequest
	changed func(vigil.RulesRequest)
	// answers are those to updates.
	answers []string
	// acknowledgements are those that the store was asked for.
	acknowledgements []vigil.AcknowledgeRequest
	// request is that of updates, without the incident.
	request workflows.Request
	// failures fails the next calls of the store, broken all calls of the named
	// method for good.
	failures int
	broken   string
	// busy is called when an incident was opened or resolved, before the
	// workflow knows.
	busy func()
	// read is called when the standing was read, before the workflow knows,
	// reading before it is read.
	read, reading func()
	// instead answers an opening in place of the store.
	instead func(vigil.OpenRequest) (vigil.IncidentOutcome, bool)
}

func newIncidentTest(t *testing.T, policy vigil.RegionPolicy, regions ...string) *incidentTest {
	t.Helper()
	e := &incidentTest{T: t, env: newTestEnv(), rule: uuid.New()}
	e.input.CheckID = uuid.New()
	e.request.TextID = uuid.New()
	e.slot = envStart
	e.standing = vigil.IncidentContext{Enabled: true, Revision: 1, Rules: []vigil.RulePolicy{{ID: e.rule, Policy: policy}}}
	for _, region := range regions {
		e.standing.Regions = append(e.standing.Regions, vigil.RegionVote{Region: region})
	}
	e.busy, e.read, e.reading = func() {}, func() {}, func() {}
	e.instead = func(vigil.OpenRequest) (vigil.IncidentOutcome, bool) { return vigil.IncidentOutcome{}, false }
	e.env.RegisterWorkflow(workflows.Incident)
	acts := activities.NewIncidents(activities.IncidentsOptions{Store: e, Deliveries: e, Log: slog.New(slog.DiscardHandler)})
	for name, act := range map[string]any{
		activities.NameReadContext: acts.ReadContext, "Open": acts.Open, "Acknowledge": acts.Acknowledge, "Resolve": acts.Resolve,
		"KeepLatch": acts.KeepLatch, "ChangeRules": acts.ChangeRules,
	} {
		e.env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	return e
}

func (e *incidentTest) IncidentContext(context.Context, uuid.UUID) (vigil.IncidentContext, error) {
	e.reads++
	if e.gone {
		e.read()
		return vigil.IncidentContext{}, vigil.NotFound("check")
	}
	e.reading()
	out := e.standing
	out.Regions = slices.Clone(out.Regions)
	e.read()
	return out, e.fail("Standing")
}

func (e *incidentTest) fail(method string) error {
	if e.broken == method {
		return temporal.NewNonRetryableApplicationError("the store is broken", "test", nil)
	}
	if e.failures > 0 {
		e.failures--
		return errors.New("postgres is away")
	}
	return nil
}

func (e *incidentTest) OpenIncident(_ context.Context, opening vigil.OpenRequest) (vigil.IncidentOutcome, error) {
	if err := e.fail("OpenIncident"); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	e.openings = append(e.openings, opening)
	if out, ok := e.instead(opening); ok {
		return out, nil
	}
	if e.standing.Incident == nil {
		e.transitions = append(e.transitions, "opened")
		e.ids = append(e.ids, opening.ID)
		e.standing.Incident = &vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentActive, Rules: e.opened(opening.Rules)}
		e.busy()
	}
	return vigil.IncidentOutcome{Incident: *e.standing.Incident}, nil
}

func (e *incidentTest) AcknowledgeIncident(_ context.Context, request vigil.AcknowledgeRequest) (vigil.IncidentOutcome, error) {
	e.acknowledgements = append(e.acknowledgements, request)
	if e.standing.Incident.Status == vigil.IncidentActive {
		e.transitions = append(e.transitions, "acknowledged")
	}
	e.standing.Incident.Status = vigil.IncidentAcknowledged
	return vigil.IncidentOutcome{Incident: *e.standing.Incident}, nil
}

func (e *incidentTest) ResolveIncident(_ context.Context, closing vigil.ResolveRequest) (vigil.IncidentOutcome, error) {
	if err := e.fail("ResolveIncident"); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	if e.standing.Incident == nil {
		return vigil.IncidentOutcome{}, vigil.NotFound("incident")
	}
	e.closings = append(e.closings, closing)
	e.transitions = append(e.transitions, "resolved "+string(closing.Resolution))
	e.standing.Incident = nil
	if closing.Latch {
		e.standing.Latch = &vigil.Latch{IncidentID: closing.ID, Quiet: closing.Quiet, Rules: closing.LatchedRules}
	}
	e.busy()
	return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: closing.ID, Status: vigil.IncidentResolved}}, nil
}

func (e *incidentTest) KeepLatch(_ context.Context, latch vigil.Latch, over bool) error {
	if err := e.fail("KeepLatch"); err != nil {
		return err
	}
	e.latches = append(e.latches, activities.LatchState{ID: latch.IncidentID, Quiet: latch.Quiet, LatchedRules: latch.Rules, Ended: over})
	e.standing.Latch = &latch
	if over {
		e.standing.Latch = nil
		e.transitions = append(e.transitions, "unlatched")
	}
	return nil
}

func (e *incidentTest) Send(context.Context, vigil.PendingDelivery) error { return nil }

// at runs something at an instant after the start.
func (e *incidentTest) at(after time.Duration, do func()) { e.env.RegisterDelayedCallback(do, after) }

// vote lets a region say whether the rule fires, as its loop does: the row first.
func (e *incidentTest) vote(region string, fires bool) {
	e.env.SignalWorkflow(workflows.SignalVote, e.store(region, fires))
}

// store is a vote whose loop has died before it reported it.
func (e *incidentTest) store(region string, fires bool) vigil.Vote {
	e.slot = e.slot.Add(time.Second)
	vote := vigil.Vote{Region: region, Revision: e.standing.Revision, Slot: e.slot}
	if fires {
		vote.Firing = []uuid.UUID{e.rule}
	}
	for i := range e.standing.Regions {
		if r := &e.standing.Regions[i]; r.Region == region {
			r.Voted, r.Vote, r.Silent = true, vote, false
		}
	}
	return vote
}

func (e *incidentTest) look() { e.env.SignalWorkflow(workflows.SignalRefresh, nil) }

// update asks something of the open incident, or of the one given, and expects
// that it is done, failed or rejected.
func (e *incidentTest) update(name string, id uuid.UUID, want string) {
	answer := func(got string, err error) {
		e.answers = append(e.answers, got)
		if got != want {
			e.Errorf("%s was %s, want %s: %v", name, got, want, err)
		}
	}
	e.env.UpdateWorkflow(name, uuid.NewString(), &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { answer("rejected", err) },
		OnComplete: func(_ any, err error) {
			if err != nil {
				answer("failed", err)
				return
			}
			answer("done", nil)
		},
	}, e.requestFor(id))
}

func (e *incidentTest) requestFor(id uuid.UUID) workflows.Request {
	request := e.request
	request.IncidentID = id
	return request
}

func (e *incidentTest) open() uuid.UUID {
	if e.standing.Incident == nil {
		e.Error("no incident is open")
		return uuid.Nil
	}
	return e.standing.Incident.ID
}

// fails runs the workflow and fails the test unless it ends with an error that
// says all of that.
func (e *incidentTest) fails(texts ...string) {
	e.Helper()
	e.env.ExecuteWorkflow(workflows.Incident, e.input)
	err := e.env.GetWorkflowError()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			e.Errorf("ended with %v, want %q in it", err, text)
		}
	}
}

// run runs the workflow until nothing happens any more, and returns the transitions
// and whether it has ended.
func (e *incidentTest) run() (string, bool) {
	e.Helper()
	e.env.RegisterDelayedCallback(e.env.CancelWorkflow, 1000*time.Hour)
	e.env.ExecuteWorkflow(workflows.Incident, e.input)
	err := e.env.GetWorkflowError()
	if err != nil && !strings.Contains(err.Error(), "cancel") {
		e.Fatal(err)
	}
	return strings.Join(e.transitions, ", "), err == nil
}
