package activities

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"vigil"
)

// incidentStore is where incidents are kept, each change in one transaction with
// its event and its deliveries.
type incidentStore interface {
	IncidentContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error)
	OpenIncident(ctx context.Context, opening vigil.OpenRequest) (vigil.IncidentOutcome, error)
	AcknowledgeIncident(ctx context.Context, id uuid.UUID, by, publicURL string) (vigil.IncidentOutcome, error)
	ResolveIncident(ctx context.Context, closing vigil.ResolveRequest) (vigil.IncidentOutcome, error)
	KeepLatch(ctx context.Context, id uuid.UUID, quiet []string, over bool) error
}

// deliveryStarter starts or wakes the workflow that tells a channel.
type deliveryStarter interface {
	Send(ctx context.Context, errand vigil.PendingDelivery) error
}

// IncidentsOptions are what Incidents works with. PublicURL may be empty.
type IncidentsOptions struct {
	Store incidentStore
	// Deliveries is sent on the errands that an incident makes.
	Deliveries deliveryStarter
	// PublicURL is the address of the API, without a slash at its end, for the
	// links in messages.
	PublicURL string
	Log       *slog.Logger
}

// Incidents has the activities of the workflows that decide about incidents.
type Incidents struct{ IncidentsOptions }

// NewIncidents returns Incidents.
func NewIncidents(opts IncidentsOptions) *Incidents { return &Incidents{opts} }

// Acknowledgement asks for an incident to be acknowledged.
type Acknowledgement struct {
	ID uuid.UUID `json:"id"`
	By string    `json:"by,omitempty"`
}

// LatchState is what is known of the latch of an incident.
type LatchState struct {
	ID    uuid.UUID `json:"id"`
	Quiet []string  `json:"quiet,omitempty"`
	Over  bool      `json:"over,omitempty"` // the episode has ended
}

// ReadContext reads what decisions about the incidents of a check rest on. Gone is
// set when the check was deleted.
func (i *Incidents) ReadContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error) {
	check, err := i.Store.IncidentContext(ctx, checkID)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return vigil.IncidentContext{Gone: true}, nil
	}
	return check, err
}

// Open opens an incident and sends for the channels that hear of it. The result
// has no incident when there is no reason for one any more.
func (i *Incidents) Open(ctx context.Context, opening vigil.OpenRequest) (vigil.IncidentHead, error) {
	opening.PublicURL = i.PublicURL
	out, err := i.Store.OpenIncident(ctx, opening)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return vigil.IncidentHead{}, nil // the check is gone, as the next survey says
	}
	countOpened(ctx, out, err)
	return i.startDeliveries(ctx, out, err)
}

// Acknowledge notes that somebody looks after an incident.
func (i *Incidents) Acknowledge(ctx context.Context, a Acknowledgement) (vigil.IncidentHead, error) {
	out, err := i.Store.AcknowledgeIncident(ctx, a.ID, a.By, i.PublicURL)
	return i.startDeliveries(ctx, out, err)
}

// Resolve ends an incident and sends for the channels that hear of it.
func (i *Incidents) Resolve(ctx context.Context, closing vigil.ResolveRequest) (vigil.IncidentHead, error) {
	closing.PublicURL = i.PublicURL
	out, err := i.Store.ResolveIncident(ctx, closing)
	countResolved(ctx, closing.Resolution, out, err)
	return i.startDeliveries(ctx, out, err)
}

// KeepLatch stores what is known of a latch.
func (i *Incidents) KeepLatch(ctx context.Context, latch LatchState) error {
	return i.Store.KeepLatch(ctx, latch.ID, latch.Quiet, latch.Over)
}

// startDeliveries sends somebody on every errand. All of this may be repeated: the store
// adopts what is there, and a workflow that runs is only woken.
func (i *Incidents) startDeliveries(ctx context.Context, out vigil.IncidentOutcome, err error) (vigil.IncidentHead, error) {
	if err != nil {
		return vigil.IncidentHead{}, failure(err)
	}
	var errs []error
	for _, errand := range out.PendingDeliveries {
		errs = append(errs, i.Deliveries.Send(ctx, errand))
	}
	return out.Incident, errors.Join(errs...)
}
