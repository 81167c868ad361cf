package api_test

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"vigil"
	"vigil/audit"
	"vigil/storage"
)

// incidentStub stands in for the workflows of incidents: it changes the rows as
// their activities do, and records other calls.
type incidentStub struct {
	store *storage.Store
	away  bool // it does not answer

	mu        sync.Mutex
	refreshed []uuid.UUID
}

func (d *incidentStub) Acknowledge(ctx context.Context, orgID, id uuid.UUID, by string) (vigil.Incident, error) {
	return d.change(ctx, orgID, id, func(ctx context.Context) error {
		_, err := d.store.AcknowledgeIncident(ctx, id, by, "")
		return err
	})
}

func (d *incidentStub) Resolve(ctx context.Context, orgID, id uuid.UUID, by, note string) (vigil.Incident, error) {
	return d.change(ctx, orgID, id, func(ctx context.Context) error {
		_, err := d.store.ResolveIncident(ctx, vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedManually, By: by, Note: note})
		return err
	})
}

func (d *incidentStub) change(ctx context.Context, orgID, id uuid.UUID, change func(context.Context) error) (vigil.Incident, error) {
	if _, err := d.store.Incident(ctx, orgID, id); err != nil {
		return vigil.Incident{}, err
	}
	if d.away {
		return vigil.Incident{}, vigil.Errorf(vigil.CodeUnavailable, "The incident did not answer in time.")
	}
	// The activity runs in another process: nothing of the request goes there.
	if err := change(context.WithoutCancel(audit.NewContext(ctx, nil))); err != nil {
		return vigil.Incident{}, err
	}
	return d.store.Incident(ctx, orgID, id)
}

func (d *incidentStub) Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error {
	_, err := d.store.RequestRedelivery(ctx, orgID, deliveryID)
	return err
}

func (d *incidentStub) Refresh(_ context.Context, checkID uuid.UUID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refreshed = append(d.refreshed, checkID)
	return nil
}
