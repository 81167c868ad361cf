// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// recoveries has a webhook whose receiver was away during incidents.
type recoveries struct {
	*alerts
	channel   uuid.UUID
	incidents []uuid.UUID
}

// newRecoveries exhausts the deliveries of the beginnings and ends of incidents.
func newRecoveries(t *testing.T, incidents int) *recoveries {
	t.Helper()
	r := &recoveries{alerts: newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)}
	r.channel = r.channels[vigil.ChannelWebhook].ID
	for range incidents {
		id := r.open(r.fails(newark)).Incident.ID
		r.record(r.claim(id, vigil.ChannelWebhook), "status", nil)
		r.resolve(id, vigil.ResolvedAutomatically)
		r.record(r.claim(id, vigil.ChannelWebhook), "status", nil)
		r.clock.Set(r.clock.Now().Add(time.Second))
		r.incidents = append(r.incidents, id)
	}
	return r
}

func (r *recoveries) begin(change ...func(*channelhealth.Recovery)) (channelhealth.Recovery, error) {
	wanted := channelhealth.Recovery{
		OrgID: r.org.ID, ChannelID: r.channel, Since: epoch().Add(-time.Hour), Until: epoch().Add(24 * time.Hour),
		Statuses: []vigil.DeliveryStatus{vigil.DeliveryExhausted},
	}
	for _, one := range change {
		one(&wanted)
	}
	return r.store.BeginRecovery(r.Context(), wanted)
}

func (r *recoveries) mustBegin(change ...func(*channelhealth.Recovery)) channelhealth.Recovery {
	r.Helper()
	recovery, err := r.begin(change...)
	if err != nil {
		r.Fatal(err)
	}
	return recovery
}

func (r *recoveries) step(id uuid.UUID, limit int) channelhealth.RecoveryStep {
	r.Helper()
	step, err := r.store.StepRecovery(r.Context(), id, limit, limit)
	if err != nil {
		r.Fatal(err)
	}
	return step
}

// requests compares which incidents a step requests attempts of.
func (r *recoveries) requests(what string, step channelhealth.RecoveryStep, want ...uuid.UUID) {
	r.Helper()
	if len(step.Requested) != len(want) {
		r.Fatalf("%s: %+v, want requests of %v", what, step, want)
	}
	for i, one := range step.Requested {
		if one.IncidentID != want[i] || one.ChannelID != r.channel || one.OrgID != r.org.ID || one.CheckName != r.check.Name {
			r.Errorf("%s: request %d is %+v, want one of %s", what, i, one, want[i])
		}
	}
}

// ends compares the figures of a recovery that has ended.
func (r *recoveries) ends(id uuid.UUID, state channelhealth.RecoveryState, sent, skipped, failed int) {
	r.Helper()
	got, err := r.store.Recovery(r.Context(), r.org.ID, r.channel, id)
	if err != nil || got.State != state || got.Sent != sent || got.Skipped != skipped || got.Failed != failed || got.FinishedAt == nil {
		r.Errorf("the recovery is %+v (%v)", got, err)
	}
}

// TestRecoverySendsInOrder recovers two incidents: the end of each is requested once its beginning arrived.
func TestRecoverySendsInOrder(t *testing.T) {
	t.Parallel()
	r := newRecoveries(t, 2)
	first, second := r.incidents[0], r.incidents[1]
	recovery := r.mustBegin()
	if recovery.Total != 4 || recovery.State != channelhealth.RecoveryRunning {
		t.Fatalf("began %+v", recovery)
	}
	_, err := r.begin()
	if refused, ok := errors.AsType[*vigil.Error](
		err,
	); !ok || refused.Code != vigil.CodeConflict ||
		refused.Details["recovery_id"] != recovery.ID {
		t.Errorf("a second recovery: %v", err)
	}
	r.requests("one at a time", r.step(recovery.ID, 1), first)
	r.requests("while it is not sent", r.step(recovery.ID, 1))
	r.requests("with a place for others", r.step(recovery.ID, 10), second)
	if p := r.deliver(first, vigil.ChannelWebhook); p.Event.Type != vigil.EventTriggered || !p.Attempt.Manual {
		t.Errorf("attempt %+v of %s", p.Attempt, p.Event.Type)
	}
	r.requests("after the first beginning", r.step(recovery.ID, 10), first)
	if p := r.deliver(first, vigil.ChannelWebhook); p.Event.Type != vigil.EventResolved {
		t.Errorf("attempt of %s", p.Event.Type)
	}
	// A receiver that is still away gets no end without its beginning.
	r.record(r.claim(second, vigil.ChannelWebhook), "status", nil)
	if step := r.step(recovery.ID, 10); !step.Done || step.Sent != 2 || step.Failed != 2 || len(step.Requested) != 0 {
		t.Errorf("the last step is %+v", step)
	}
	r.ends(recovery.ID, channelhealth.RecoveryDone, 2, 0, 2)
	if step := r.step(recovery.ID, 10); !step.Done || len(step.Requested) != 0 {
		t.Errorf("a step after the end is %+v", step)
	}
	again := r.mustBegin() // what failed is still exhausted
	if again.Total != 2 {
		t.Errorf("began %+v", again)
	}
}

// TestRecoveryRepeatsUnknownOutcomes tests that an attempt whose process died is requested again.
func TestRecoveryRepeatsUnknownOutcomes(t *testing.T) {
	t.Parallel()
	r := newRecoveries(t, 1)
	recovery := r.mustBegin(func(v *channelhealth.Recovery) { v.EventTypes = []vigil.EventType{vigil.EventTriggered} })
	if recovery.Total != 1 {
		t.Fatalf("began %+v", recovery)
	}
	r.step(recovery.ID, 1)
	r.claim(r.incidents[0], vigil.ChannelWebhook)
	lost := r.claim(r.incidents[0], vigil.ChannelWebhook)
	if lost.State != vigil.NextAttemptUnknown {
		t.Fatalf("claim %+v", lost)
	}
	r.requests("before the outcome is known", r.step(recovery.ID, 1))
	r.record(lost, vigil.AttemptUnknown, nil)
	r.requests("after an unknown outcome", r.step(recovery.ID, 1), r.incidents[0])
	r.deliver(r.incidents[0], vigil.ChannelWebhook)
	r.step(recovery.ID, 1)
	r.ends(recovery.ID, channelhealth.RecoveryDone, 1, 0, 0)
}

// TestRecoverySkips tests what a recovery does not send: what arrived meanwhile, what a filter leaves
// out, and what is gone.
func TestRecoverySkips(t *testing.T) {
	t.Parallel()
	r := newRecoveries(t, 2)
	recovery := r.mustBegin()
	all, _, err := r.store.Deliveries(t.Context(), r.org.ID, listing.DeliveryFilter{IncidentID: r.incidents[0], Page: listing.Page{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all { // by hand
		if _, err := r.store.RequestRedelivery(t.Context(), r.org.ID, one.ID); err != nil {
			t.Fatal(err)
		}
	}
	r.deliver(r.incidents[0], vigil.ChannelWebhook)
	r.deliver(r.incidents[0], vigil.ChannelWebhook)
	if _, err := r.store.DB().ExecContext(t.Context(), "DELETE FROM events WHERE incident_id = ?", r.incidents[1]); err != nil {
		t.Fatal(err)
	}
	if step := r.step(recovery.ID, 10); !step.Done || len(step.Requested) != 0 {
		t.Errorf("the step is %+v", step)
	}
	r.ends(recovery.ID, channelhealth.RecoveryDone, 0, 4, 0)
	for what, change := range map[string]func(*channelhealth.Recovery){
		"another status": func(v *channelhealth.Recovery) { v.Statuses = []vigil.DeliveryStatus{vigil.DeliverySuperseded} },
		"another time":   func(v *channelhealth.Recovery) { v.Until = epoch().Add(-time.Minute) },
		"another type":   func(v *channelhealth.Recovery) { v.EventTypes = []vigil.EventType{vigil.EventAcknowledged} },
	} {
		if none := r.mustBegin(change); none.Total != 0 || none.State != channelhealth.RecoveryDone || none.FinishedAt == nil {
			t.Errorf("%s: %+v", what, none)
		}
	}
	if _, err := r.begin(func(v *channelhealth.Recovery) { v.OrgID = uuid.New() }); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("the channel of another organization: %v", err)
	}
}

// TestRecoveryEnds cancels recoveries, on request and by disabling the channel: what was requested
// and has not begun is not sent.
func TestRecoveryEnds(t *testing.T) {
	t.Parallel()
	r := newRecoveries(t, 2)
	recovery := r.mustBegin()
	r.requests("before it is canceled", r.step(recovery.ID, 10), r.incidents...)
	if _, err := r.store.CancelRecovery(t.Context(), uuid.New(), r.channel, recovery.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("canceled by another organization: %v", err)
	}
	for range 2 { // the second changes nothing
		if _, err := r.store.CancelRecovery(t.Context(), r.org.ID, r.channel, recovery.ID); err != nil {
			t.Fatal(err)
		}
		r.ends(recovery.ID, channelhealth.RecoveryCanceled, 0, 0, 0)
	}
	if p := r.claim(r.incidents[0], vigil.ChannelWebhook); p.State != vigil.NextAttemptNone {
		t.Errorf("after the end an attempt is %s", p.State)
	}
	second := r.mustBegin()
	stalled := func(at time.Time) int {
		t.Helper()
		list, err := r.store.StalledRecoveries(t.Context(), at, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if before, after := stalled(r.clock.Now()), stalled(r.clock.Now().Add(time.Second)); before != 0 || after != 1 {
		t.Errorf("%d and %d recoveries are stalled", before, after)
	}
	if _, err := r.store.DisableChannel(t.Context(), r.channel, "gone"); err != nil {
		t.Fatal(err)
	}
	if step := r.step(second.ID, 10); !step.Done {
		t.Errorf("with a disabled channel a step is %+v", step)
	}
	r.ends(second.ID, channelhealth.RecoveryCanceled, 0, 0, 0)
	if _, err := r.begin(); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a recovery of a disabled channel: %v", err)
	}
	r.clock.Set(r.clock.Now().AddDate(0, 2, 0))
	if err := r.store.DropExpired(t.Context(), r.clock.Now(), storage.DefaultRetention()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Recovery(t.Context(), r.org.ID, r.channel, second.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("after its retention: %v", err)
	}
}

// TestRecoveryOfADeletedChannel deletes the channel of a recovery that has requested attempts: nothing
// more is sent, and the recovery is gone for its workflow, for callers and for the sweep.
func TestRecoveryOfADeletedChannel(t *testing.T) {
	t.Parallel()
	r := newRecoveries(t, 2)
	recovery := r.mustBegin()
	r.requests("before the deletion", r.step(recovery.ID, 1), r.incidents[0])
	if _, err := r.store.DeleteChannel(t.Context(), r.org.ID, r.channel, true, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.StepRecovery(t.Context(), recovery.ID, 10, 10); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("the next step: %v", err)
	}
	if _, err := r.store.Recovery(t.Context(), r.org.ID, r.channel, recovery.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("read: %v", err)
	}
	for _, incident := range r.incidents {
		if p := r.claim(incident, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone {
			t.Errorf("after the deletion an attempt is %s", p.State)
		}
	}
	r.clock.Set(r.clock.Now().Add(time.Hour))
	if list, err := r.store.StalledRecoveries(t.Context(), r.clock.Now(), 10); err != nil || len(list) != 0 {
		t.Errorf("%d recoveries are stalled (%v)", len(list), err)
	}
}
