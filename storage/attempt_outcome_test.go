// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// delivery reads the delivery of a claim again.
func (a *alerts) delivery(p vigil.NextAttempt) vigil.Delivery {
	a.Helper()
	d, err := a.store.Delivery(a.Context(), a.org.ID, p.Delivery.ID)
	if err != nil {
		a.Fatal(err)
	}
	return d
}

// newestAttempt reads the last attempt of the delivery of a claim.
func (a *alerts) newestAttempt(p vigil.NextAttempt) vigil.Attempt {
	a.Helper()
	attempts, _, err := a.store.Attempts(a.Context(), a.org.ID, p.Delivery.ID, listing.Page{Limit: 1})
	if err != nil || len(attempts) != 1 {
		a.Fatalf("attempts %+v, %v", attempts, err)
	}
	return attempts[0]
}

func (a *alerts) redeliver(p vigil.NextAttempt) {
	a.Helper()
	if _, err := a.store.RequestRedelivery(a.Context(), a.org.ID, p.Delivery.ID); err != nil {
		a.Fatal(err)
	}
}

func (a *alerts) at(after time.Duration) time.Time {
	at := epoch().Add(after)
	a.clock.Set(at)
	return at
}

func TestClaimedAttempt(t *testing.T) {
	t.Parallel()

	t.Run("CarriesSeverityAndAttempt", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		at := a.at(time.Minute)
		p := a.claim(id, vigil.ChannelWebhook)
		if p.Severity != vigil.Critical || p.Body != nil || p.Merged || !p.Until.IsZero() || p.Delivery.Attempts != 1 ||
			p.Event.ID != p.Delivery.EventID {
			t.Errorf("claim %+v", p)
		}
		if p.Attempt.DeliveryID != p.Delivery.ID || p.Attempt.ID == uuid.Nil || p.Attempt.Manual || !p.Attempt.StartedAt.Equal(at) {
			t.Errorf("attempt %+v", p.Attempt)
		}
		if d := a.delivery(p); d.Attempts != 1 || !d.UpdatedAt.Equal(at) {
			t.Errorf("delivery %+v", d)
		}
	})

	t.Run("FindsNothingWithoutDeliveries", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		if p := a.claim(uuid.New(), vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || p.Last != "" {
			t.Errorf("claim %+v", p)
		}
	})

	t.Run("SaysWhatBecameOfTheLastDelivery", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelPager)
		id := a.open(a.fails(newark)).Incident.ID
		a.resolve(id, vigil.ResolvedAutomatically)
		at := a.at(time.Minute)
		for range 2 { // the second time there is nothing left to end
			if p := a.claim(id, vigil.ChannelPager); p.State != vigil.NextAttemptNone || p.Last != vigil.DeliverySuperseded {
				t.Errorf("claim %+v", p)
			}
		}
		n := a.count(`SELECT count(*) FROM deliveries
			WHERE status = 'superseded' AND finished_at = ? AND updated_at = ? AND next_attempt_at IS NULL`, at, at)
		if n != 2 {
			t.Errorf("%d deliveries ended at that time, want 2", n)
		}
	})

	t.Run("AttemptIsLostUntilItHasAnOutcome", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		a.deliver(id, vigil.ChannelWebhook)
		a.resolve(id, vigil.ResolvedAutomatically)
		p := a.claim(id, vigil.ChannelWebhook)
		lost := a.claim(id, vigil.ChannelWebhook)
		if lost.State != vigil.NextAttemptUnknown || lost.Attempt.ID != p.Attempt.ID || lost.Delivery.ID != p.Delivery.ID ||
			lost.Delivery.EventType != vigil.EventResolved {
			t.Errorf("got %+v, want the attempt %+v", lost, p.Attempt)
		}
	})
}

func TestClaimOrder(t *testing.T) {
	t.Parallel()

	t.Run("AttemptOlderThanAMinuteLeavesRoomForAnother", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		ids := a.openOfChecks(9)
		for _, id := range ids[:8] {
			a.claim(id, vigil.ChannelWebhook)
		}
		for _, step := range []struct {
			after time.Duration
			want  vigil.NextAttemptState
		}{{time.Minute - time.Microsecond, vigil.NextAttemptBusy}, {time.Minute, vigil.NextAttemptReady}} {
			a.at(step.after)
			if p := a.claim(ids[8], vigil.ChannelWebhook); p.State != step.want {
				t.Errorf("after %v the ninth is %s, want %s", step.after, p.State, step.want)
			}
		}
	})

	t.Run("OpeningComesBeforeARecoveryOfTheSameInstant", func(t *testing.T) {
		t.Parallel()
		// Ids of deliveries are random: with eight incidents some recovery sorts first.
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		for range 8 {
			id := a.open(a.fails(newark)).Incident.ID
			a.resolve(id, vigil.ResolvedAutomatically)
			for _, want := range []vigil.EventType{vigil.EventTriggered, vigil.EventResolved} {
				if p := a.deliver(id, vigil.ChannelWebhook); p.Event.Type != want {
					t.Errorf("got %s, want %s", p.Event.Type, want)
				}
			}
		}
	})
}

func TestFreezeBody(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	id := a.open(a.fails(newark)).Incident.ID
	p := a.claim(id, vigil.ChannelWebhook)
	for _, body := range []string{"first", "second"} {
		if kept, err := a.store.FreezeBody(t.Context(), p.Delivery.ID, []byte(body)); err != nil || string(kept) != "first" {
			t.Errorf("%s was kept as %q, %v", body, kept, err)
		}
	}
	next := epoch().Add(time.Minute)
	a.record(p, "status", &next)
	a.clock.Set(next)
	if again := a.claim(id, vigil.ChannelWebhook); string(again.Body) != "first" {
		t.Errorf("the next attempt sends %q", again.Body)
	}
	_, err := a.store.FreezeBody(t.Context(), uuid.New(), []byte("x"))
	wantCode(t, err, vigil.CodeNotFound)
}

func TestRecordOutcome(t *testing.T) {
	t.Parallel()

	t.Run("KeepsTheOutcomeOfTheAttempt", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		p := a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook)
		at, next := a.at(time.Minute), epoch().Add(time.Hour)
		attempt := p.Attempt
		attempt.Duration, attempt.StatusCode, attempt.ErrorCode = 1500*time.Millisecond, 503, "status"
		attempt.Error, attempt.ResponseBody = "answered \x00503", "bo\x00dy"
		rest, err := a.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: attempt, NextAttemptAt: &next})
		if err != nil || rest.Status != vigil.DeliveryPending || rest.Failures != 1 || !rest.Pending || !rest.Until.Equal(next) {
			t.Errorf("rest %+v, %v", rest, err)
		}
		got := a.newestAttempt(p)
		if got.FinishedAt == nil || !got.FinishedAt.Equal(at) || got.NextAttemptAt == nil || !got.NextAttemptAt.Equal(next) {
			t.Errorf("attempt %+v", got)
		}
		if got.Duration != attempt.Duration || got.StatusCode != 503 || got.ErrorCode != "status" || got.Error != "answered 503" ||
			got.ResponseBody != "body" {
			t.Errorf("attempt %+v", got)
		}
		d := a.delivery(p)
		if d.Status != vigil.DeliveryPending || d.Failures != 1 || d.NextAttemptAt == nil || !d.NextAttemptAt.Equal(next) ||
			!d.UpdatedAt.Equal(at) || d.FinishedAt != nil {
			t.Errorf("delivery %+v", d)
		}
	})

	t.Run("SuccessEndsTheDelivery", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		p := a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook)
		at := a.at(time.Minute)
		if rest := a.record(p, "", nil); !reflect.DeepEqual(rest, vigil.Remaining{Status: vigil.DeliveryDelivered}) {
			t.Errorf("rest %+v", rest)
		}
		if d := a.delivery(p); d.FinishedAt == nil || !d.FinishedAt.Equal(at) || d.NextAttemptAt != nil || d.Merged || !d.UpdatedAt.Equal(at) {
			t.Errorf("delivery %+v", d)
		}
		if got := a.newestAttempt(p); got.StatusCode != 0 || got.NextAttemptAt != nil {
			t.Errorf("attempt %+v", got)
		}
	})

	t.Run("ExhaustedDeliveryEndsAtThatTime", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		p := a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook)
		at := a.at(time.Minute)
		a.record(p, "status", nil)
		if d := a.delivery(p); d.Status != vigil.DeliveryExhausted || d.Failures != 1 || d.FinishedAt == nil || !d.FinishedAt.Equal(at) {
			t.Errorf("delivery %+v", d)
		}
	})
}

func TestRecordOutcomeOfARedelivery(t *testing.T) {
	t.Parallel()

	t.Run("MergedMessageIsRedeliveredMerged", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
		id := a.open(a.fails(newark)).Incident.ID
		a.resolve(id, vigil.ResolvedAutomatically)
		p := a.deliver(id, vigil.ChannelEmail)
		if !p.Merged || !a.delivery(p).Merged {
			t.Fatalf("claim %+v of %+v", p, a.delivery(p))
		}
		a.redeliver(p)
		if again := a.claim(id, vigil.ChannelEmail); !again.Merged || !again.Attempt.Manual || again.Delivery.ID != p.Delivery.ID {
			t.Errorf("claim %+v", again)
		}
	})

	t.Run("FailedRedeliveryCountsForNothing", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		next := epoch().Add(time.Hour)
		a.record(p, "status", &next)
		a.redeliver(p)
		manual := a.claim(id, vigil.ChannelWebhook)
		if manual.State != vigil.NextAttemptReady || !manual.Attempt.Manual || manual.Attempt.Number != 2 {
			t.Fatalf("claim %+v", manual)
		}
		later := epoch().Add(2 * time.Hour)
		if rest := a.record(manual, "status", &later); rest.Failures != 1 || rest.Status != vigil.DeliveryPending || !rest.Pending ||
			!rest.Until.Equal(next) {
			t.Errorf("rest %+v", rest)
		}
		if got := a.newestAttempt(p); !got.Manual || got.NextAttemptAt != nil || got.FinishedAt == nil {
			t.Errorf("attempt %+v", got)
		}
		if d := a.delivery(p); d.NextAttemptAt == nil || !d.NextAttemptAt.Equal(next) || d.Redeliver || d.Attempts != 2 {
			t.Errorf("delivery %+v", d)
		}
	})

	t.Run("SuccessfulRedeliveryEndsAnExhaustedDelivery", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.record(p, "status", nil)
		a.redeliver(p)
		if rest := a.record(a.claim(id, vigil.ChannelWebhook), "", nil); rest.Status != vigil.DeliveryDelivered || rest.Failures != 1 ||
			rest.Pending {
			t.Errorf("rest %+v", rest)
		}
	})

	t.Run("RedeliveryWhoseProcessDiedIsRepeatedOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.deliver(id, vigil.ChannelWebhook)
		for range 2 { // a request by hand has its own repetition
			a.redeliver(p)
			for _, again := range []bool{true, false} {
				if manual := a.claim(id, vigil.ChannelWebhook); !manual.Attempt.Manual {
					t.Fatalf("claim %+v", manual)
				}
				lost := a.claim(id, vigil.ChannelWebhook) // by another process
				if lost.State != vigil.NextAttemptUnknown {
					t.Fatalf("claim %+v", lost)
				}
				if rest := a.record(lost, vigil.AttemptUnknown, nil); rest.Pending != again || a.delivery(p).Redeliver != again {
					t.Errorf("rest %+v, want another attempt %v", rest, again)
				}
			}
			a.redeliver(p)
			a.deliver(id, vigil.ChannelWebhook)
		}
	})

	t.Run("RedeliveryRequestedDuringAnAttemptIsDueAtOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.redeliver(p)
		next := epoch().Add(time.Hour)
		if rest := a.record(p, "status", &next); !rest.Pending || !rest.Until.IsZero() {
			t.Errorf("rest %+v", rest)
		}
	})
}

func TestRecordOutcomeBeforeARecovery(t *testing.T) {
	t.Parallel()

	t.Run("RecoveryThatWaitsIsDueAtOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.resolve(id, vigil.ResolvedAutomatically)
		next := epoch().Add(time.Hour)
		if rest := a.record(p, "status", &next); !rest.Pending || !rest.Until.IsZero() {
			t.Errorf("after a failed opening: %+v", rest)
		}
		a.clock.Set(next)
		if rest := a.record(a.claim(id, vigil.ChannelWebhook), "", nil); !rest.Pending || !rest.Until.IsZero() ||
			rest.Status != vigil.DeliveryDelivered {
			t.Errorf("after a delivered opening: %+v", rest)
		}
	})

	t.Run("DeliveryThatIsGoneIsNotFound", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		rest, err := a.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: vigil.Attempt{ID: uuid.New(), DeliveryID: uuid.New()}})
		wantCode(t, err, vigil.CodeNotFound)
		equal(t, rest, vigil.Remaining{})
	})
}
