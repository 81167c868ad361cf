// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// TestDeletedCheckIsNotFoundBeforeItsRowsAreGone proves that nothing shows or changes what
// the purge has not deleted yet, or sends it again.
func TestDeletedCheckIsNotFoundBeforeItsRowsAreGone(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelWebhook)
	ctx, s := t.Context(), a.store
	id := a.open(a.fails(newark)).Incident.ID
	a.deliver(id, vigil.ChannelWebhook)
	deliveries, _, err := s.Deliveries(ctx, a.org.ID, listing.DeliveryFilter{Page: listing.Page{Limit: 10}})
	if err != nil || len(deliveries) != 1 {
		t.Fatal(deliveries, err)
	}
	if _, err := s.RequestRedelivery(ctx, a.org.ID, deliveries[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteCheck(ctx, a.org.ID, a.check.ID, nil); err != nil {
		t.Fatal(err)
	}
	if n := a.count("SELECT (SELECT count(*) FROM incidents) + (SELECT count(*) FROM deliveries)"); n != 2 {
		t.Fatalf("%d rows before the purge, want 2", n)
	}
	for what, err := range map[string]error{
		"incident": second(s.Incident(ctx, a.org.ID, id)), "delivery": second(s.Delivery(ctx, a.org.ID, deliveries[0].ID)),
		"redelivery":      second(s.RequestRedelivery(ctx, a.org.ID, deliveries[0].ID)),
		"acknowledgement": second(s.AcknowledgeIncident(ctx, vigil.AcknowledgeRequest{ID: id})),
		"resolution":      second(s.ResolveIncident(ctx, vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedManually})),
		"vote":            second(s.SaveVote(ctx, a.check.ID, vigil.Vote{Region: newark, Revision: 9, Slot: a.slot.Add(time.Minute)})),
	} {
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := s.Timeline(ctx, a.org.ID, id, listing.Page{Limit: 1}); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("timeline: %v", err)
	}
	if list, n, err := s.Incidents(
		ctx,
		a.org.ID,
		listing.IncidentFilter{Page: listing.Page{Limit: 10}},
	); err != nil ||
		n.Total+len(list) != 0 {
		t.Errorf("%d incidents are listed, %v", n.Total, err)
	}
	if list, n, err := s.Deliveries(
		ctx,
		a.org.ID,
		listing.DeliveryFilter{Page: listing.Page{Limit: 10}},
	); err != nil ||
		n.Total+len(list) != 0 {
		t.Errorf("%d deliveries are listed, %v", n.Total, err)
	}
	next, err := s.ClaimAttempt(ctx, id, a.channels[vigil.ChannelWebhook].ID)
	if err != nil || next.State != vigil.NextAttemptNone {
		t.Errorf("the next attempt is %q, %v", next.State, err)
	}
	later := a.slot.Add(time.Hour)
	if stalled, err := s.StalledIncidents(ctx, later, fleet.EverySweepShard(), 10); err != nil || len(stalled) != 0 {
		t.Errorf("stalled incidents %v, %v", stalled, err)
	}
	if stalled, err := s.StalledDeliveries(ctx, later, fleet.EverySweepShard(), 10); err != nil || len(stalled) != 0 {
		t.Errorf("stalled deliveries %v, %v", stalled, err)
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }
