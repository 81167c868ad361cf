// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/storage"
)

// incidentStub stands in for the workflows of incidents: it changes the rows as
// their activities do, and records other calls.
type incidentStub struct {
	store *storage.Store
	away  bool // it does not answer

	mu        sync.Mutex
	sent      []vigil.PendingDelivery
	refreshed []uuid.UUID
	recovered []uuid.UUID
	keys      []string // of all actions
}

func (d *incidentStub) Acknowledge(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return d.change(ctx, action, func(ctx context.Context) error {
		text, err := d.textOf(ctx, &action)
		if err == nil {
			_, err = d.store.AcknowledgeIncident(ctx, vigil.AcknowledgeRequest{ID: action.IncidentID, TextID: text})
		}
		return err
	})
}

func (d *incidentStub) Resolve(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return d.change(ctx, action, func(ctx context.Context) error {
		text, err := d.textOf(ctx, &action)
		if err == nil {
			_, err = d.store.ResolveIncident(ctx, vigil.ResolveRequest{
				ID: action.IncidentID, Resolution: vigil.ResolvedManually, TextID: text,
			})
		}
		return err
	})
}

// textOf stores the author and the note of an action, as the update of a workflow has them.
func (d *incidentStub) textOf(ctx context.Context, action *vigil.UserAction) (uuid.UUID, error) {
	text := vigil.IncidentText{ID: uuid.New(), IncidentID: action.IncidentID, Author: action.By, Note: action.Note}
	return text.ID, d.store.StoreIncidentText(ctx, text)
}

func (d *incidentStub) change(ctx context.Context, action vigil.UserAction, change func(context.Context) error) (vigil.Incident, error) {
	d.mu.Lock()
	d.keys = append(d.keys, action.Key)
	d.mu.Unlock()
	if _, err := d.store.Incident(ctx, action.OrgID, action.IncidentID); err != nil {
		return vigil.Incident{}, err
	}
	if d.away {
		return vigil.Incident{}, vigil.Errorf(vigil.CodeUnavailable, "The incident did not answer in time.")
	}
	// The activity runs in another process: nothing of the request goes there.
	if err := change(context.WithoutCancel(audit.NewContext(ctx, nil))); err != nil {
		return vigil.Incident{}, err
	}
	return d.store.Incident(ctx, action.OrgID, action.IncidentID)
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

func (d *incidentStub) Recover(_ context.Context, recovery channelhealth.Recovery) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recovered = append(d.recovered, recovery.ID)
	return nil
}

func (d *incidentStub) Send(_ context.Context, delivery vigil.PendingDelivery) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, delivery)
	return nil
}

func (d *incidentStub) StartDrill(context.Context, uuid.UUID, uuid.UUID) error { return nil }

// used reports whether an action had the key.
func (d *incidentStub) used(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.keys, key)
}
