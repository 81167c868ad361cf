// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// checkRegionStore reads the state of a check in its regions.
type checkRegionStore interface {
	resource.LoopStore
	// IncidentContext returns the votes and the incident of a check, in any organization.
	IncidentContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error)
}

type checkRegions struct {
	store checkRegionStore
	loops resource.LoopWorkflows
	links resource.WorkflowLinks
}

// loopView is the state of a check in one region.
type loopView struct {
	Region       string       `json:"region" example:"na-east-ewr"`
	State        string       `json:"state" enum:"starting,running,updating,stopping,stopped,unobserved" doc:"Whether the loop runs, and whether it has the check's latest change. unobserved: it should run, and its newest result is older than three intervals and the deadline of a probe, as happens when the region has no worker."`
	Source       string       `json:"source" enum:"workflow,stored" doc:"Where this comes from: the running workflow, or the database while the workflow does not answer."`
	HealthStatus vigil.Health `json:"health_status" enum:"healthy,unhealthy,unknown" doc:"What the newest result in the region says; unknown without one, and while the region is unobserved."`
	LastSlot     *time.Time   `json:"last_slot" doc:"The newest instant that has a result; null before the first one."`
	NextSlot     *time.Time   `json:"next_slot" doc:"The instant of the next result; null while none is due."`
	Streak       *int         `json:"streak" doc:"Failures in a row up to the last slot; null while the workflow does not answer."`
	FiringRules  []string     `json:"firing_rules" format:"uuid" doc:"Ids of the alert rules that fire in this region."`
	Missed       int64        `json:"missed" doc:"Results that were due and are missing, from the creation of the check to now."`
	TurnSlots    *int         `json:"turn_slots" doc:"How many results one activity of the workflow makes at the moment; null before the first result."`
	TurnReason   *string      `json:"turn_reason" enum:"every_slot,growing,budget,window,kept" doc:"Why it is that many; null while the workflow does not answer. every_slot: the worker starts an activity for each result. growing: the check is new or something about it changed, and the number doubles with every activity. budget: the worker keeps within its budget of activities a second. window: as many as fit into the longest time that one activity may cover. kept: the activity before was interrupted, and the number stays."`
	WorkflowID   string       `json:"workflow_id"`
	RunURL       *string      `json:"run_url" doc:"The workflow in the Temporal UI; null where there is no UI."`
}

const (
	// stateDeadline bounds the queries of the running loops.
	stateDeadline    = 2 * time.Second
	stateConcurrency = 8
)

func (c *checkRegions) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Waits:    true,
		Path:     "/v1/checks/{id}/regions",
		ID:       "list-check-regions",
		Tag:      resource.TagResults,
		Resource: ResourceCheck,
		Summary:  "List the state of a check in each of its regions",
	}, c.listLoops)
}

type loopsInput struct {
	rest.IDPath
	rest.PageQuery
	Stored bool `query:"stored" doc:"Read what is stored and do not ask the running workflows, which may take 2 seconds."`
}

func (c *checkRegions) listLoops(ctx context.Context, in *loopsInput) (*rest.Listing[loopView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Loops(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	votes, err := c.votes(ctx, id)
	if err != nil {
		return nil, err
	}
	shown := rest.Cut(rows, in.Page())
	views := make([]loopView, len(shown))
	ctx, cancel := context.WithTimeout(ctx, stateDeadline)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(stateConcurrency)
	for i, row := range shown {
		group.Go(func() error {
			views[i] = c.showLoop(ctx, row, votes[row.Region], in.Stored)
			return nil
		})
	}
	_ = group.Wait() // none of them returns an error
	return rest.NewListing(views, len(rows), func(v loopView) loopView { return v }), nil
}

// showLoop prefers the state of the running loop over the stored one.
func (c *checkRegions) showLoop(ctx context.Context, row vigil.Loop, vote vigil.Vote, stored bool) loopView {
	view := loopView{
		Region: row.Region, State: loopState(row), Source: "stored", HealthStatus: row.Health, LastSlot: resource.Instant(row.LastSlot),
		NextSlot: resource.Instant(row.NextDue), FiringRules: resource.IDs(vote.Firing), Missed: row.Missed,
		TurnSlots: vigil.NilIfZero(row.TurnSlots), WorkflowID: vigil.LoopID(row.CheckID, row.Region),
	}
	runID := ""
	if row.Active && !stored {
		if state, err := c.loops.State(ctx, row.CheckID, row.Region); err == nil {
			view.Source, runID = "workflow", state.RunID
			switch {
			case state.Slot.IsZero() && row.TurnSlots > max(1, state.TurnSlots):
				// The first turn of a loop goes on, wider than the workflow has planned it, when
				// its worker is beyond its budget.
				view.TurnReason = vigil.NilIfZero(string(vigil.TurnBudget))
			default:
				view.TurnSlots, view.TurnReason = &state.TurnSlots, vigil.NilIfZero(string(state.TurnReason))
			}
			view.Streak, view.FiringRules = &state.Failures, resource.IDs(state.Firing)
			if state.Next.After(row.LastSlot) { // else the turn is past its first slot
				view.NextSlot = resource.Instant(state.Next)
			}
			if state.Slot.After(row.LastSlot) {
				view.LastSlot, view.HealthStatus = resource.Instant(state.Slot), state.Health
				row.Unobserved = false // a result has come since the row was read
				view.State = loopState(row)
			}
		}
	}
	view.RunURL = c.links.Of(view.WorkflowID, runID)
	return view
}

// votes returns the last reported vote of each region of a check. A check that was
// deleted meanwhile has none.
func (c *checkRegions) votes(ctx context.Context, check uuid.UUID) (map[string]vigil.Vote, error) {
	standing, err := c.store.IncidentContext(ctx, check)
	if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
		return nil, err
	}
	votes := make(map[string]vigil.Vote, len(standing.Regions))
	for _, region := range standing.Regions {
		votes[region.Region] = region.Vote
	}
	return votes, nil
}

// loopState compares what should run with what Temporal has accepted.
func loopState(row vigil.Loop) string {
	behind := row.Desired > row.Applied
	switch {
	case row.Unobserved:
		return "unobserved"
	case row.Active && behind && row.Applied == 0:
		return "starting"
	case row.Active && behind:
		return "updating"
	case row.Active:
		return "running"
	case behind:
		return "stopping"
	}
	return "stopped"
}
