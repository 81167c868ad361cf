// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// incidentStore stores incidents. Each change is one transaction with its event and
// its deliveries.
type incidentStore interface {
	IncidentContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error)
	OpenIncident(ctx context.Context, request vigil.OpenRequest) (vigil.IncidentOutcome, error)
	AcknowledgeIncident(ctx context.Context, request vigil.AcknowledgeRequest) (vigil.IncidentOutcome, error)
	ResolveIncident(ctx context.Context, request vigil.ResolveRequest) (vigil.IncidentOutcome, error)
	ChangeRules(ctx context.Context, request vigil.RulesRequest) (vigil.IncidentOutcome, error)
	KeepLatch(ctx context.Context, latch vigil.Latch, released bool) error
}

// deliveryStarter starts delivery workflows.
type deliveryStarter interface {
	// Send starts the delivery workflow of a channel, or signals the one that runs.
	Send(ctx context.Context, delivery vigil.PendingDelivery) error
}

// IncidentsOptions configure Incidents. All members but PublicURL and Spans are required.
type IncidentsOptions struct {
	Store      incidentStore
	Deliveries deliveryStarter
	// PublicURL is the address of the API, without a trailing slash, for links in
	// messages. Without it messages have no links.
	PublicURL string
	// Spans receives the steps of traces; nil: none does.
	Spans spanRecorder
	Log   *slog.Logger
}

// Incidents implements the activities of the incident workflow.
type Incidents struct{ IncidentsOptions }

// NewIncidents returns Incidents.
func NewIncidents(opts IncidentsOptions) *Incidents { return &Incidents{opts} }

// Acknowledgement is the input of Incidents.Acknowledge.
type Acknowledgement struct {
	ID uuid.UUID `json:"id"`
	// TextID is the vigil.IncidentText with the author.
	TextID uuid.UUID `json:"text_id"`
}

// LatchState is the input of Incidents.KeepLatch.
type LatchState struct {
	ID    uuid.UUID `json:"id"`              // of the incident
	Quiet []string  `json:"quiet,omitempty"` // regions that have been quiet since it was resolved, sorted
	Ended bool      `json:"ended,omitempty"` // the latch is released
	// LatchedRules are the rules that it keeps yet, sorted.
	LatchedRules []uuid.UUID `json:"held,omitempty"`
}

// ReadContext reads the context of a check's incidents. For a deleted check it
// returns one with Deleted set and no error.
func (i *Incidents) ReadContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error) {
	read, err := i.Store.IncidentContext(ctx, checkID)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return vigil.IncidentContext{Deleted: true}, nil
	}
	return read, err
}

// Open opens an incident and starts its deliveries. The result has a zero ID when
// the check or its rules were removed or disabled meanwhile, or it is in maintenance.
func (i *Incidents) Open(ctx context.Context, request vigil.OpenRequest) (vigil.IncidentHead, error) {
	request.PublicURL = i.PublicURL
	out, err := i.Store.OpenIncident(ctx, request)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return vigil.IncidentHead{}, nil // the next ReadContext returns Deleted
	}
	if out.MaintenanceLeft > 0 {
		// The maintenance began after the workflow read its context, which it reads again at
		// once: the pause bounds how often.
		return vigil.IncidentHead{}, timing.Sleep(ctx, min(out.MaintenanceLeft, maintenancePause))
	}
	countOpened(ctx, out, err)
	i.traceIncident(ctx, vigil.SpanOpen, &out, err)
	return i.startDeliveries(ctx, out, err)
}

// maintenancePause bounds how often a workflow asks to open an incident during maintenance.
const maintenancePause = time.Second

// Acknowledge acknowledges an incident.
func (i *Incidents) Acknowledge(ctx context.Context, a Acknowledgement) (vigil.IncidentHead, error) {
	out, err := i.Store.AcknowledgeIncident(ctx, vigil.AcknowledgeRequest{ID: a.ID, TextID: a.TextID, PublicURL: i.PublicURL})
	i.traceIncident(ctx, vigil.SpanAcknowledge, &out, err)
	return i.startDeliveries(ctx, out, err)
}

// Resolve resolves an incident and starts its deliveries.
func (i *Incidents) Resolve(ctx context.Context, request vigil.ResolveRequest) (vigil.IncidentHead, error) {
	request.PublicURL = i.PublicURL
	out, err := i.Store.ResolveIncident(ctx, request)
	countResolved(ctx, request.Resolution, out, err)
	i.traceIncident(ctx, vigil.SpanResolve, &out, err)
	return i.startDeliveries(ctx, out, err)
}

// ChangeRules records which rules of an open incident began or stopped to fire, and starts
// the deliveries to channels that hear of the incident because of it.
func (i *Incidents) ChangeRules(ctx context.Context, request vigil.RulesRequest) (vigil.IncidentHead, error) {
	request.PublicURL = i.PublicURL
	out, err := i.Store.ChangeRules(ctx, request)
	if out.MaintenanceLeft > 0 { // see Open
		if err := timing.Sleep(ctx, min(out.MaintenanceLeft, maintenancePause)); err != nil {
			return vigil.IncidentHead{}, err
		}
	}
	return i.startDeliveries(ctx, out, err)
}

// KeepLatch stores the latch of an incident.
func (i *Incidents) KeepLatch(ctx context.Context, latch LatchState) error {
	return i.Store.KeepLatch(ctx, vigil.Latch{IncidentID: latch.ID, Quiet: latch.Quiet, Rules: latch.LatchedRules}, latch.Ended)
}

// startDeliveries starts a delivery workflow for every pending delivery. A retry is
// safe: the store returns the incident that exists, and a running workflow is only
// signaled.
func (i *Incidents) startDeliveries(ctx context.Context, out vigil.IncidentOutcome, err error) (vigil.IncidentHead, error) {
	if err != nil {
		return vigil.IncidentHead{}, failure(err)
	}
	sendAll(ctx, i.Deliveries, i.Log, out.PendingDeliveries)
	return out.Incident, nil
}
