package workflows

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
)

// takeUpdates makes the workflow answer to people.
func (i *incidents) takeUpdates(ctx workflow.Context) error {
	for name, handler := range i.handlers() {
		options := workflow.UpdateHandlerOptions{Validator: i.refuse}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, name, handler, options); err != nil {
			return fmt.Errorf("set the update handler: %w", err)
		}
	}
	return nil
}

// handlers yields the updates in a fixed order.
func (i *incidents) handlers() func(yield func(string, func(workflow.Context, Request) error) bool) {
	return func(yield func(string, func(workflow.Context, Request) error) bool) {
		_ = yield(UpdateAcknowledge, i.onAcknowledge) && yield(UpdateResolve, i.onResolve)
	}
}

// refuse is the validator: nothing of a request for an incident that is not open
// here enters the history. Before the first survey nobody can tell.
func (i *incidents) refuse(request Request) error {
	if request.IncidentID == uuid.Nil || i.surveyed && !i.has(request) {
		return notOpen()
	}
	return nil
}

func (i *incidents) has(request Request) bool {
	return i.context.Incident != nil && i.context.Incident.ID == request.IncidentID
}

func notOpen() error {
	return temporal.NewNonRetryableApplicationError("the incident is not open", string(vigil.CodeConflict), nil)
}

// onAcknowledge notes who looks after the open incident.
func (i *incidents) onAcknowledge(ctx workflow.Context, request Request) error {
	return i.about(ctx, request, func() error {
		var acts *activities.Incidents
		var head vigil.IncidentHead
		ask := activities.Acknowledgement{ID: request.IncidentID, By: request.By}
		if err := i.run(ctx, acts.Acknowledge, ask, &head); err != nil {
			return err
		}
		i.context.Incident.Status = head.Status
		return nil
	})
}

// onResolve ends the open incident and latches its episode: no other incident
// opens before every region has been quiet.
func (i *incidents) onResolve(ctx workflow.Context, request Request) error {
	return i.about(ctx, request, func() error {
		s := i.situation()
		closing := vigil.ResolveRequest{Resolution: vigil.ResolvedManually, By: request.By, Note: request.Note, Latch: true}
		for _, vote := range s.Votes {
			if i.fires(vote) {
				closing.Regions = append(closing.Regions, vote.Region)
			} else {
				closing.Quiet = append(closing.Quiet, vote.Region)
			}
		}
		return i.resolve(ctx, closing)
	})
}

func (i *incidents) fires(vote vigil.Vote) bool {
	return slices.ContainsFunc(i.context.Rules, func(r vigil.RulePolicy) bool { return slices.Contains(vote.Firing, r.ID) })
}

// about runs do while the incident of the request is open and nothing else
// changes it.
func (i *incidents) about(ctx workflow.Context, request Request, do func() error) error {
	if err := workflow.Await(ctx, func() bool { return i.surveyed }); err != nil {
		return err
	}
	if err := i.mutex.Lock(ctx); err != nil {
		return err
	}
	defer i.mutex.Unlock()
	if !i.has(request) {
		return notOpen()
	}
	i.refreshRequested = true
	return do()
}
