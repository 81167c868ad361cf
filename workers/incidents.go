package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"vigil"
	"vigil/workflows"
)

// More search attributes of Vigil's workflows, all keywords. AttributeDelivery
// is pending, retrying, or how the last delivery ended.
const (
	AttributeIncident = workflows.AttributeIncident
	AttributeChannel  = "VigilChannel"
	AttributeDelivery = workflows.AttributeDelivery
)

const (
	// updateWait is how long a caller waits for an incident's workflow.
	updateWait = 2 * time.Second
	// reviveWait is the pause before a workflow that was started anew is asked
	// again.
	reviveWait = 100 * time.Millisecond
)

// incidentRows is the stored side of incidents and deliveries.
type incidentRows interface {
	Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error)
	RequestRedelivery(ctx context.Context, orgID, id uuid.UUID) (vigil.PendingDelivery, error)
}

// Incidents reaches the workflows that decide about incidents and those that
// tell channels about them. Every call may be repeated.
type Incidents struct {
	temporal client.Client
	store    incidentRows
}

// NewIncidents returns Incidents that reach workflows through the client.
func NewIncidents(temporal client.Client, store incidentRows) *Incidents {
	return &Incidents{temporal: temporal, store: store}
}

// Acknowledge notes that somebody, named for people, looks after an incident,
// and returns it as it is then. Repeated, it changes nothing; a resolved
// incident is a CodeConflict error, one that its workflow does not answer for
// within two seconds CodeUnavailable.
func (i *Incidents) Acknowledge(ctx context.Context, orgID, id uuid.UUID, by string) (vigil.Incident, error) {
	return i.change(ctx, orgID, id, workflows.UpdateAcknowledge, workflows.Request{IncidentID: id, By: by}, func(row *vigil.Incident) (bool, error) {
		if !row.Open() {
			return false, vigil.Errorf(vigil.CodeConflict, "The incident is resolved and cannot be acknowledged any more.")
		}
		return row.Status == vigil.IncidentAcknowledged, nil
	})
}

// Resolve ends an incident by hand, and returns it as it is then. Repeated, it
// changes nothing; CodeUnavailable as for Acknowledge.
func (i *Incidents) Resolve(ctx context.Context, orgID, id uuid.UUID, by, note string) (vigil.Incident, error) {
	return i.change(ctx, orgID, id, workflows.UpdateResolve, workflows.Request{IncidentID: id, By: by, Note: note}, func(row *vigil.Incident) (bool, error) {
		return !row.Open(), nil
	})
}

// Redeliver makes one more attempt of a delivery, whatever became of it. It
// fails as storage's AskRedelivery does; when Temporal does not take it, the
// sweep does.
func (i *Incidents) Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error {
	errand, err := i.store.RequestRedelivery(ctx, orgID, deliveryID)
	if err != nil {
		return err
	}
	if err := i.Send(ctx, errand); err != nil {
		return nil //nolint:nilerr // it is on record, and the sweep sends it
	}
	return nil
}

// Look makes the workflow of a check's incidents, when one runs, read where the
// check stands: after a rule, a region or the check itself was changed or
// removed.
func (i *Incidents) Look(ctx context.Context, checkID uuid.UUID) error {
	err := i.temporal.SignalWorkflow(ctx, vigil.IncidentWorkflowID(checkID), "", workflows.SignalRefresh, nil)
	if isNotFound(err) {
		return nil
	}
	return wrapIncident("look", err)
}

// Revive is Look for a check with an incident that a workflow must look after:
// one that was lost is started anew.
func (i *Incidents) Revive(ctx context.Context, orgID, checkID uuid.UUID, summary string) error {
	return i.signalWithStart(ctx, orgID, checkID, summary, workflows.SignalRefresh, nil)
}

// Vote tells what a region says of a check.
func (i *Incidents) Vote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote, heard vigil.VoteAck) error {
	if heard.Relevant {
		return i.signalWithStart(ctx, heard.OrgID, checkID, named(heard.CheckName, heard.Target), workflows.SignalVote, vote)
	}
	err := i.temporal.SignalWorkflow(ctx, vigil.IncidentWorkflowID(checkID), "", workflows.SignalVote, vote)
	if isNotFound(err) {
		return nil
	}
	return wrapIncident("vote", err)
}

// Send starts, or wakes, the workflow that tells a channel about an incident.
func (i *Incidents) Send(ctx context.Context, errand vigil.PendingDelivery) error {
	options := client.StartWorkflowOptions{
		TaskQueue:             vigil.DeliveryQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			keyword(AttributeOrg, errand.OrgID), keyword(AttributeCheck, errand.CheckID),
			keyword(AttributeIncident, errand.IncidentID), keyword(AttributeChannel, errand.ChannelID),
			temporal.NewSearchAttributeKeyKeyword(AttributeDelivery).ValueSet(string(vigil.DeliveryPending)),
		),
		StaticSummary: bounded(shortened(errand.CheckName) + " → " + shortened(errand.ChannelName) + " (" + string(errand.ChannelType) + ")"),
	}
	_, err := i.temporal.SignalWithStartWorkflow(ctx, vigil.DeliveryWorkflowID(errand.IncidentID, errand.ChannelID), workflows.SignalRefresh, nil,
		options, workflows.Delivery, workflows.DeliveryInput{IncidentID: errand.IncidentID, ChannelID: errand.ChannelID})
	return wrapIncident("send", err)
}

// change asks an incident's workflow for an update. done says whether the stored
// incident is already as wished, or why it can never be.
func (i *Incidents) change(ctx context.Context, orgID, id uuid.UUID, update string, request workflows.Request, done func(*vigil.Incident) (bool, error)) (vigil.Incident, error) {
	waiting, stop := context.WithTimeout(ctx, updateWait)
	defer stop()
	var failed error
	for {
		row, err := i.store.Incident(ctx, orgID, id)
		if err != nil {
			return vigil.Incident{}, err
		}
		if already, err := done(&row); err != nil || already {
			return row, err
		}
		if waiting.Err() != nil {
			return vigil.Incident{}, unavailable(failed)
		}
		if failed = i.update(waiting, row.CheckID, update, request); failed == nil {
			continue
		}
		if isNotFound(failed) {
			// Its workflow was lost: another one takes the incident over.
			if err := i.Revive(waiting, row.OrgID, row.CheckID, row.Title); err != nil {
				failed = err
			}
		}
		select {
		case <-waiting.Done():
		case <-time.After(reviveWait):
		}
	}
}

func (i *Incidents) update(ctx context.Context, checkID uuid.UUID, update string, request workflows.Request) error {
	handle, err := i.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: vigil.IncidentWorkflowID(checkID), UpdateName: update, Args: []any{request},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

func unavailable(cause error) error {
	err := vigil.Errorf(vigil.CodeUnavailable, "The incident did not answer in time. What you asked for may still happen; try again in a few seconds.")
	err.Cause = cause
	return err
}

func (i *Incidents) signalWithStart(ctx context.Context, orgID, checkID uuid.UUID, summary, signal string, arg any) error {
	options := client.StartWorkflowOptions{
		TaskQueue:             vigil.ControlQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(keyword(AttributeOrg, orgID), keyword(AttributeCheck, checkID)),
		StaticSummary:         bounded(summary),
	}
	_, err := i.temporal.SignalWithStartWorkflow(ctx, vigil.IncidentWorkflowID(checkID), signal, arg, options,
		workflows.Incident, workflows.IncidentInput{CheckID: checkID})
	return wrapIncident(signal, err)
}

func keyword(name string, id uuid.UUID) temporal.SearchAttributeUpdate {
	return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(id.String())
}

func wrapIncident(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s incident: %w", what, err)
}
