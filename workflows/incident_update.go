// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// setUpdateHandlers registers the updates that users send.
func (i *incidents) setUpdateHandlers(ctx workflow.Context) error {
	for name, handler := range i.updateHandlers() {
		options := workflow.UpdateHandlerOptions{Validator: i.validate}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, name, handler, options); err != nil {
			return fmt.Errorf("set the update handler: %w", err)
		}
	}
	return nil
}

// updateHandlers yields the update handlers in a fixed order, as replay requires.
func (i *incidents) updateHandlers() func(yield func(string, func(workflow.Context, Request) error) bool) {
	return func(yield func(string, func(workflow.Context, Request) error) bool) {
		_ = yield(UpdateAcknowledge, i.onAcknowledge) && yield(UpdateResolve, i.onResolve)
	}
}

// validate rejects a request for an incident that is not open, before it enters the
// history. Until the context is read, it accepts any incident.
func (i *incidents) validate(request Request) error {
	if request.IncidentID == uuid.Nil || i.contextRead && !i.isOpen(request) {
		return errNotOpen()
	}
	return nil
}

// isOpen reports whether a request is about the open incident.
func (i *incidents) isOpen(request Request) bool {
	return i.context.Incident != nil && i.context.Incident.ID == request.IncidentID
}

// errNotOpen refuses a change of an incident that is resolved; its caller gets a conflict.
func errNotOpen() error {
	return temporal.NewNonRetryableApplicationError("the incident is not open", string(vigil.CodeConflict), nil)
}

// onAcknowledge acknowledges the open incident.
func (i *incidents) onAcknowledge(ctx workflow.Context, request Request) error {
	return i.whileOpen(ctx, request, func() error {
		var acts *activities.Incidents
		var head vigil.IncidentHead
		ask := activities.Acknowledgement{ID: request.IncidentID, TextID: request.TextID}
		if err := i.change(ctx, acts.Acknowledge, ask, &head); err != nil {
			return err
		}
		i.context.Incident.Status = head.Status
		return nil
	})
}

// onResolve resolves the open incident and latches it: no other incident opens until
// every region has been quiet, which means that no rule fires there.
func (i *incidents) onResolve(ctx workflow.Context, request Request) error {
	return i.whileOpen(ctx, request, func() error {
		resolve := vigil.ResolveRequest{Resolution: vigil.ResolvedManually, TextID: request.TextID, Latch: true}
		i.latchRules(&resolve)
		for _, vote := range i.decisionInput().Votes {
			if i.fires(vote, nil) {
				resolve.Regions = append(resolve.Regions, vote.Region)
			}
			if resolve.Latch && !i.fires(vote, resolve.LatchedRules) {
				resolve.Quiet = append(resolve.Quiet, vote.Region)
			}
		}
		return i.resolve(ctx, resolve)
	})
}

// whileOpen runs do with the mutex held, if the incident of the request is open.
func (i *incidents) whileOpen(ctx workflow.Context, request Request, do func() error) error {
	if err := workflow.Await(ctx, func() bool { return i.contextRead }); err != nil {
		return err
	}
	if err := i.mutex.Lock(ctx); err != nil {
		return err
	}
	defer i.mutex.Unlock()
	if !i.isOpen(request) {
		return errNotOpen()
	}
	i.refreshRequested = true
	return do()
}
