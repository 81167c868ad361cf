// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/workflows"
)

const (
	// updateWait is how long a caller waits for an incident's workflow.
	updateWait = 2 * time.Second
	// retryPause is the pause before an update is tried again.
	retryPause = 100 * time.Millisecond
)

// incidentStore reads incidents, and records texts, requests for redelivery and what the sweep must look at.
type incidentStore interface {
	// SweepIncidentSoon makes the incident of a check due for the sweep.
	SweepIncidentSoon(ctx context.Context, checkID uuid.UUID) error
	// CheckLabel returns the name and the target of a check, or CodeNotFound.
	CheckLabel(ctx context.Context, orgID, checkID uuid.UUID) (name, target string, err error)
	Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error)
	StoreIncidentText(ctx context.Context, text vigil.IncidentText) error
	RequestRedelivery(ctx context.Context, orgID, id uuid.UUID) (vigil.PendingDelivery, error)
}

// Incidents starts, signals and updates the workflows of incidents, deliveries and recoveries.
// Every call may be repeated.
type Incidents struct {
	temporal client.Client
	store    incidentStore
	log      *slog.Logger
	options
}

// NewIncidents returns Incidents that use the client.
func NewIncidents(temporal client.Client, store incidentStore, log *slog.Logger, opts ...Option) *Incidents {
	return &Incidents{temporal: temporal, store: store, log: log, options: optionsOf(opts)}
}

// Acknowledge records who takes care of an incident and returns it after the change.
// Repeated, it changes nothing. A resolved incident is a CodeConflict error; a workflow
// that does not answer within two seconds is CodeUnavailable. Actions with the same key
// are the same update of the workflow, also when they come at the same time.
func (i *Incidents) Acknowledge(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return i.change(ctx, action, workflows.UpdateAcknowledge, func(row *vigil.Incident) (bool, error) {
		if !row.Open() {
			return false, vigil.Errorf(vigil.CodeConflict, "The incident is resolved and cannot be acknowledged any more.")
		}
		return row.Status == vigil.IncidentAcknowledged, nil
	})
}

// Resolve ends an incident manually and returns it after the change. Repeated, it
// changes nothing; keys and CodeUnavailable as for Acknowledge.
func (i *Incidents) Resolve(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return i.change(ctx, action, workflows.UpdateResolve, func(row *vigil.Incident) (bool, error) { return !row.Open(), nil })
}

// Redeliver makes one more attempt of a delivery, in any of its states. It fails as
// storage's RequestRedelivery does; when Temporal is away, the sweep sends it later.
func (i *Incidents) Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error {
	delivery, err := i.store.RequestRedelivery(ctx, orgID, deliveryID)
	if err != nil {
		return err
	}
	if err := i.Send(ctx, delivery); err != nil {
		return nil //nolint:nilerr // the request is stored, and the sweep sends it
	}
	return nil
}

// Recover starts the workflow of a recovery, unless it runs.
func (i *Incidents) Recover(ctx context.Context, recovery channelhealth.Recovery) error {
	_, err := startNew(ctx, i.temporal, false, client.StartWorkflowOptions{
		ID:                    channelhealth.RecoveryWorkflowID(recovery.ID),
		TaskQueue:             vigil.DeliveryQueue,
		Priority:              temporal.Priority{FairnessKey: recovery.OrgID.String()},
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			keyword(AttributeOrg, recovery.OrgID), keyword(AttributeChannel, recovery.ChannelID),
		),
	}, workflows.Recovery, workflows.RecoveryInput{RecoveryID: recovery.ID})
	return wrapIncident("recover", err)
}

// Refresh makes the incident workflow of a check, if one runs, reload its context: after
// a rule, a region or the check itself was changed or deleted. Where none runs although the check has an
// incident or a firing vote, and where Temporal does not answer, the sweep does it with its next pass: its wait may have
// grown to minutes.
func (i *Incidents) Refresh(ctx context.Context, checkID uuid.UUID) error {
	err := i.temporal.SignalWorkflow(ctx, vigil.IncidentWorkflowID(checkID), "", workflows.SignalRefresh, nil)
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshStore) // the signal may have taken all the time
	defer cancel()
	if stored := i.store.SweepIncidentSoon(ctx, checkID); stored != nil || isNotFound(err) {
		err = stored
	}
	return wrapIncident("refresh", err)
}

// refreshStore bounds the statement that leaves a refresh to the sweep.
const refreshStore = 2 * time.Second

// Revive is Refresh for a check that needs an incident workflow: it starts one if none
// runs. Name and target describe the check in the Temporal UI; without a name they are read.
func (i *Incidents) Revive(ctx context.Context, orgID, checkID uuid.UUID, name, target string) error {
	if name == "" {
		var err error
		if name, target, err = i.store.CheckLabel(ctx, orgID, checkID); err != nil {
			return err
		}
	}
	return i.signalWithStart(ctx, orgID, checkID, name, summary(name, target), workflows.SignalRefresh, nil)
}

// Vote signals the vote of a region to the incident workflow of a check, and starts
// the workflow if the vote needs one.
func (i *Incidents) Vote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote, ack vigil.VoteAck) error {
	if ack.Relevant {
		return i.signalWithStart(ctx, ack.OrgID, checkID, ack.CheckName, summary(ack.CheckName, ack.Target), workflows.SignalVote, vote)
	}
	err := i.temporal.SignalWorkflow(ctx, vigil.IncidentWorkflowID(checkID), "", workflows.SignalVote, vote)
	if isNotFound(err) {
		return nil
	}
	return wrapIncident("vote", err)
}

// Send starts the delivery workflow of an incident and a channel, or wakes it.
func (i *Incidents) Send(ctx context.Context, delivery vigil.PendingDelivery) error {
	options := client.StartWorkflowOptions{
		ID:                    vigil.DeliveryWorkflowID(delivery.IncidentID, delivery.ChannelID),
		TaskQueue:             vigil.DeliveryQueue,
		Priority:              temporal.Priority{FairnessKey: delivery.OrgID.String()}, // its activities inherit it
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: i.names.named(ctx, temporal.NewSearchAttributes(
			keyword(AttributeOrg, delivery.OrgID), keyword(AttributeCheck, delivery.CheckID),
			keyword(AttributeIncident, delivery.IncidentID), keyword(AttributeChannel, delivery.ChannelID),
			temporal.NewSearchAttributeKeyKeyword(AttributeDelivery).ValueSet(string(vigil.DeliveryPending)),
		), delivery.CheckName),
		StaticSummary: bounded(
			shortened(delivery.CheckName) + " → " + shortened(delivery.ChannelName) + " (" + string(delivery.ChannelType) + ")"),
	}
	in := workflows.DeliveryInput{IncidentID: delivery.IncidentID, ChannelID: delivery.ChannelID}
	if delivery.First {
		started, err := startNew(ctx, i.temporal, i.eager, options, workflows.Delivery, in)
		if started || err != nil {
			return wrapIncident("send", err)
		}
	}
	_, err := i.temporal.SignalWithStartWorkflow(ctx, options.ID, workflows.SignalRefresh, nil, options, workflows.Delivery, in)
	return wrapIncident("send", err)
}

// change sends an update to an incident's workflow until the stored incident shows
// it. done reports whether it does, or why it never can. The text of the action is
// stored first: the update contains its id only.
func (i *Incidents) change(
	ctx context.Context, action vigil.UserAction, update string, done func(*vigil.Incident) (bool, error),
) (vigil.Incident, error) {
	waiting, stop := context.WithTimeout(ctx, updateWait)
	defer stop()
	request := workflows.Request{IncidentID: action.IncidentID}
	var failed error
	for {
		row, err := i.store.Incident(ctx, action.OrgID, action.IncidentID)
		if err != nil {
			return vigil.Incident{}, err
		}
		if already, err := done(&row); err != nil || already {
			return row, err
		}
		if waiting.Err() != nil {
			return vigil.Incident{}, unavailable(failed)
		}
		if request.TextID == uuid.Nil {
			if action.Key == "" {
				action.Key = uuid.NewString() // without a key each action is another one
			}
			request.TextID = action.ActionID(update)
			text := vigil.IncidentText{ID: request.TextID, IncidentID: action.IncidentID, Author: action.By, Note: action.Note}
			if err := i.store.StoreIncidentText(ctx, text); err != nil {
				return vigil.Incident{}, err
			}
		}
		if failed = i.update(waiting, row.CheckID, update, request); failed == nil {
			continue
		}
		if isNotFound(failed) {
			// Its workflow was lost; start another for this incident.
			if err := i.Revive(waiting, row.OrgID, row.CheckID, "", ""); err != nil {
				failed = err
			}
		}
		_ = timing.Sleep(waiting, retryPause) // the loop sees whether the time is up
	}
}

// update sends an update and waits for its outcome. An update that the workflow rejects,
// because it does not know yet that the incident is open, leaves no trace there and is
// sent again with the same id.
func (i *Incidents) update(ctx context.Context, checkID uuid.UUID, update string, request workflows.Request) error {
	handle, err := i.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: vigil.IncidentWorkflowID(checkID), UpdateName: update, Args: []any{request},
		UpdateID:     update + "/" + request.TextID.String(),
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// unavailable is the error of an update without an answer in time: it may take effect yet.
func unavailable(cause error) error {
	err := vigil.Errorf(vigil.CodeUnavailable, "The incident did not answer in time. The change may still happen; try again in a few seconds.")
	err.Cause = cause
	return err
}

// signalWithStart signals the incident workflow of a check, which it starts when it does not run: there
// is one for each check, for as long as it has something to do.
func (i *Incidents) signalWithStart(ctx context.Context, orgID, checkID uuid.UUID, name, summary, signal string, arg any) error {
	options := client.StartWorkflowOptions{
		TaskQueue:             vigil.ControlQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: i.names.named(
			ctx,
			temporal.NewSearchAttributes(keyword(AttributeOrg, orgID), keyword(AttributeCheck, checkID)),
			name,
		),
		StaticSummary: bounded(summary),
	}
	_, err := i.temporal.SignalWithStartWorkflow(ctx, vigil.IncidentWorkflowID(checkID), signal, arg, options,
		workflows.Incident, workflows.IncidentInput{CheckID: checkID})
	return wrapIncident(signal, err)
}

func wrapIncident(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s incident: %w", what, err)
}
