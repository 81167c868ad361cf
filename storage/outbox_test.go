// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// claim claims the next attempt for a channel.
func (a *alerts) claim(incident uuid.UUID, kind vigil.ChannelType) vigil.NextAttempt {
	a.Helper()
	p, err := a.store.ClaimAttempt(a.Context(), incident, a.channels[kind].ID)
	if err != nil {
		a.Fatal(err)
	}
	return p
}

func (a *alerts) record(p vigil.NextAttempt, code string, next *time.Time) vigil.Remaining {
	a.Helper()
	attempt := p.Attempt
	attempt.ErrorCode = code
	rest, err := a.store.RecordOutcome(a.Context(), vigil.AttemptOutcome{
		Attempt: attempt, Delivered: code == "", NextAttemptAt: next, Merged: p.Merged,
	})
	if err != nil {
		a.Fatal(err)
	}
	return rest
}

// deliver lets the next message of a channel arrive.
func (a *alerts) deliver(incident uuid.UUID, kind vigil.ChannelType) vigil.NextAttempt {
	a.Helper()
	p := a.claim(incident, kind)
	if p.State != vigil.NextAttemptReady {
		a.Fatalf("the claim is %s", p.State)
	}
	a.record(p, "", nil)
	return p
}

func (a *alerts) statuses(kind vigil.ChannelType) map[vigil.EventType]vigil.DeliveryStatus {
	a.Helper()
	all, _, err := a.store.Deliveries(a.Context(), a.org.ID, listing.DeliveryFilter{
		ChannelID: a.channels[kind].ID, Page: listing.Page{Limit: 10},
	})
	if err != nil {
		a.Fatal(err)
	}
	out := make(map[vigil.EventType]vigil.DeliveryStatus)
	for _, d := range all {
		out[d.EventType] = d.Status
	}
	return out
}

// TestEndKnowsItsBeginning holds that the end of an incident gets what the receiver called the
// opening, once that arrived.
func TestEndKnowsItsBeginning(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelChat)
	id := a.open(a.fails(newark)).Incident.ID
	p := a.claim(id, vigil.ChannelChat)
	if p.Previous != "" {
		t.Errorf("the opening ends %q", p.Previous)
	}
	_, err := a.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: p.Attempt, Delivered: true, Reference: "42"})
	if err != nil {
		t.Fatal(err)
	}
	a.resolve(id, vigil.ResolvedAutomatically)
	if p = a.claim(id, vigil.ChannelChat); p.State != vigil.NextAttemptReady || p.Previous != "42" {
		t.Errorf("the end is %s and ends %q", p.State, p.Previous)
	}
}

func TestClaimAttempt(t *testing.T) {
	t.Parallel()

	t.Run("IsStoredBeforeItIsSent", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		if p.State != vigil.NextAttemptReady || p.Attempt.Number != 1 || p.Event.Type != vigil.EventTriggered ||
			string(p.Event.Envelope) != string(a.events()[0].Envelope) {
			t.Fatalf("claim %+v", p)
		}
		attempts, n, err := a.store.Attempts(t.Context(), a.org.ID, p.Delivery.ID, listing.Page{Limit: 10})
		if err != nil || n != 1 || attempts[0].FinishedAt != nil {
			t.Errorf("attempts %+v, %v", attempts, err)
		}
	})

	t.Run("CarriesTheLabelsOfTheCheck", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.check = update(t, a.store, a.check, func(c *vigil.Check) { c.Labels = vigil.Labels{"team": "payments"} })
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		var envelope struct {
			Data struct {
				Check struct{ Labels map[string]string }
			}
		}
		if err := json.Unmarshal(p.Event.Envelope, &envelope); err != nil || envelope.Data.Check.Labels["team"] != "payments" ||
			p.Event.Variables["label.team"] != "payments" {
			t.Errorf("the event is %s with %v, %v", p.Event.Envelope, p.Event.Variables, err)
		}
	})

	t.Run("AnAttemptWithoutOutcomeIsRecordedFirst", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		a.claim(id, vigil.ChannelWebhook) // the process dies here
		lost := a.claim(id, vigil.ChannelWebhook)
		if lost.State != vigil.NextAttemptUnknown || lost.Attempt.Number != 1 {
			t.Fatalf("claim %+v", lost)
		}
		next := epoch().Add(time.Hour)
		if rest := a.record(lost, vigil.AttemptUnknown, &next); rest.Failures != 1 || !rest.Pending || !rest.Until.Equal(next) {
			t.Errorf("rest %+v", rest)
		}
		if later := a.claim(id, vigil.ChannelWebhook); later.State != vigil.NextAttemptLater || !later.Until.Equal(next) {
			t.Errorf("claim %+v", later)
		}
		a.clock.Set(next)
		if p := a.deliver(id, vigil.ChannelWebhook); p.Attempt.Number != 2 {
			t.Errorf("attempt %d", p.Attempt.Number)
		}
		if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || p.Last != vigil.DeliveryDelivered {
			t.Errorf("claim %+v", p)
		}
	})

	t.Run("AnOutcomeCountsOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		next := epoch().Add(time.Hour)
		a.record(p, "status", &next)
		if rest := a.record(p, "status", nil); rest.Failures != 1 || rest.Status != vigil.DeliveryPending {
			t.Errorf("rest %+v", rest)
		}
	})

	t.Run("ExhaustedWithoutANextAttempt", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		if rest := a.record(a.claim(id, vigil.ChannelWebhook), "status", nil); rest.Status != vigil.DeliveryExhausted || rest.Pending {
			t.Errorf("rest %+v", rest)
		}
	})
}

func TestClaimDecides(t *testing.T) {
	t.Parallel()

	t.Run("AfterTheIncidentEndedBeforeAnyDelivery", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelWebhook, vigil.ChannelEmail, vigil.ChannelPager)
		id := a.open(a.fails(newark)).Incident.ID
		a.resolve(id, vigil.ResolvedAutomatically)
		if p := a.deliver(id, vigil.ChannelWebhook); p.Event.Type != vigil.EventTriggered || p.Merged {
			t.Errorf("the webhook first gets %+v", p)
		}
		if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone {
			t.Errorf("the webhook then gets %+v", p)
		}
		if p := a.deliver(id, vigil.ChannelEmail); p.Event.Type != vigil.EventResolved || !p.Merged {
			t.Errorf("the email is %+v", p)
		}
		if p := a.claim(id, vigil.ChannelPager); p.State != vigil.NextAttemptNone {
			t.Errorf("the pager gets %+v", p)
		}
		if got := a.statuses(vigil.ChannelEmail); got[vigil.EventTriggered] != vigil.DeliverySuperseded ||
			got[vigil.EventResolved] != vigil.DeliveryDelivered {
			t.Errorf("email %v", got)
		}
		if got := a.statuses(vigil.ChannelPager); got[vigil.EventTriggered] != vigil.DeliverySuperseded || len(got) != 1 {
			t.Errorf("pager %v", got)
		}
	})

	t.Run("ADisabledChannelGetsNothingMore", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		if _, err := a.store.DisableChannel(t.Context(), a.channels[vigil.ChannelWebhook].ID, "gone"); err != nil {
			t.Fatal(err)
		}
		if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || p.Last != vigil.DeliveryCanceled {
			t.Errorf("claim %+v", p)
		}
	})
}

func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()

	t.Run("ANinthInFlightIsOneTooMany", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		ids := a.openOfChecks(9)
		var first vigil.NextAttempt
		for i, id := range ids[:8] {
			p := a.claim(id, vigil.ChannelWebhook)
			if p.State != vigil.NextAttemptReady {
				t.Fatalf("claim %d is %s", i, p.State)
			}
			if i == 0 {
				first = p
			}
		}
		if p := a.claim(ids[8], vigil.ChannelWebhook); p.State != vigil.NextAttemptBusy {
			t.Errorf("the ninth is %s", p.State)
		}
		a.record(first, "", nil)
		if p := a.claim(ids[8], vigil.ChannelWebhook); p.State != vigil.NextAttemptReady || p.Attempt.Number != 1 {
			t.Errorf("the ninth is %s, attempt %d", p.State, p.Attempt.Number)
		}
	})
}

func TestRequestRedelivery(t *testing.T) {
	t.Parallel()

	t.Run("OneMoreAttemptWithTheSameBodyThatCountsForNothing", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.deliver(id, vigil.ChannelWebhook)
		for range 2 {
			if _, err := a.store.RequestRedelivery(t.Context(), a.org.ID, p.Delivery.ID); err != nil {
				t.Fatal(err)
			}
		}
		again := a.claim(id, vigil.ChannelWebhook)
		if !again.Attempt.Manual || again.Attempt.Number != 2 || again.Delivery.ID != p.Delivery.ID ||
			string(again.Event.Envelope) != string(p.Event.Envelope) {
			t.Fatalf("claim %+v", again)
		}
		if rest := a.record(again, "status", nil); rest.Status != vigil.DeliveryDelivered || rest.Pending {
			t.Errorf("rest %+v", rest)
		}
	})

	t.Run("IsRefusedForADisabledChannelAndAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		p := a.deliver(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook)
		if _, err := a.store.RequestRedelivery(t.Context(), uuid.New(), p.Delivery.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("another organization got %v", err)
		}
		if _, err := a.store.DisableChannel(t.Context(), a.channels[vigil.ChannelWebhook].ID, "gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.store.RequestRedelivery(t.Context(), a.org.ID, p.Delivery.ID); vigil.ErrorCode(err) != vigil.CodeConflict {
			t.Errorf("a disabled channel got %v", err)
		}
	})
}

func TestStalled(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	id := a.open(a.fails(newark)).Incident.ID
	stalled := func(after time.Duration) (incidents, deliveries int) {
		t.Helper()
		now := epoch().Add(after)
		open, err := a.store.StalledIncidents(t.Context(), now, fleet.EverySweepShard(), 10)
		due, errDue := a.store.StalledDeliveries(t.Context(), now, fleet.EverySweepShard(), 10)
		if err := errors.Join(err, errDue); err != nil {
			t.Fatal(err)
		}
		for _, i := range open {
			if err := a.store.MarkIncidentSwept(t.Context(), a.lease(), i.ID, now); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range due {
			if err := a.store.MarkDeliverySwept(t.Context(), a.lease(), e, now); err != nil {
				t.Fatal(err)
			}
		}
		return len(open), len(due)
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{29 * time.Second, 0},
		{30 * time.Second, 1},
		{59 * time.Second, 0},
		{60 * time.Second, 1},
		{119 * time.Second, 0},
		{120 * time.Second, 1},
	} {
		if incidents, deliveries := stalled(step.after); incidents != step.want || deliveries != step.want {
			t.Errorf("after %v: %d incidents and %d deliveries, want %d", step.after, incidents, deliveries, step.want)
		}
	}
	next := epoch().Add(time.Hour)
	a.record(a.claim(id, vigil.ChannelWebhook), "status", &next)
	if _, deliveries := stalled(50 * time.Minute); deliveries != 0 {
		t.Error("a delivery that waits for its next attempt is stalled")
	}
	if _, deliveries := stalled(61 * time.Minute); deliveries != 1 {
		t.Error("a delivery whose time has come without an attempt is not stalled")
	}
	a.resolve(id, vigil.ResolvedManually)
	if incidents, _ := stalled(3 * time.Hour); incidents != 1 {
		t.Error("a latch without a workflow is not stalled")
	}
	if err := a.store.KeepLatch(t.Context(), vigil.Latch{IncidentID: id, Quiet: []string{newark}}, true); err != nil {
		t.Fatal(err)
	}
	if incidents, _ := stalled(6 * time.Hour); incidents != 0 {
		t.Error("an episode that is over is stalled")
	}
}

func TestDropExpiredEvents(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelWebhook)
	id := a.open(a.fails(newark)).Incident.ID
	a.deliver(id, vigil.ChannelWebhook)
	a.resolve(id, vigil.ResolvedManually) // an event without deliveries
	drop := func(after time.Duration) (events, attempts int) {
		t.Helper()
		if err := a.store.DropExpired(t.Context(), epoch().Add(after), storage.DefaultRetention()); err != nil {
			t.Fatal(err)
		}
		return len(a.events()), a.count("SELECT count(*) FROM attempts")
	}
	for _, step := range []struct {
		after            time.Duration
		events, attempts int
	}{{6 * day, 2, 1}, {8 * day, 1, 1}, {29 * day, 1, 1}, {31 * day, 0, 0}} {
		if events, attempts := drop(step.after); events != step.events || attempts != step.attempts {
			t.Errorf("after %v: %d events and %d attempts, want %d and %d", step.after, events, attempts, step.events, step.attempts)
		}
	}
	oldest, newest, err := a.store.StreamBounds(t.Context(), a.org.ID, time.Time{})
	if err != nil || oldest != (vigil.Position{}) || newest.Seq != 2 {
		t.Errorf("the stream reaches from %s to %s, %v", oldest, newest, err)
	}
}

// openOfChecks opens an incident of each of n new checks with the rule's channels.
func (a *alerts) openOfChecks(n int) (ids []uuid.UUID) {
	a.Helper()
	for range n {
		check := newCheck(a.T, a.store, draft(a.org.ID, newark))
		rule := a.rule
		rule.ID, rule.CheckID = uuid.Nil, check.ID
		stored := a.createRule(rule)
		out, err := a.store.OpenIncident(a.Context(), vigil.OpenRequest{ID: uuid.New(), CheckID: check.ID, Rules: []uuid.UUID{stored.ID}})
		if err != nil {
			a.Fatal(err)
		}
		ids = append(ids, out.Incident.ID)
	}
	return ids
}
