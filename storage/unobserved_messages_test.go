// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// TestMessagesWithoutAnIncidentAreSent: the outbox of each type of channel treats the end as that of
// an incident, the attempts have a trace, and the end is sent after the check was deleted.
func TestMessagesWithoutAnIncidentAreSent(t *testing.T) {
	t.Parallel()
	subject := func(u *unprobed) (id uuid.UUID) {
		u.Helper()
		if err := u.store.DB().NewRaw("SELECT DISTINCT incident_id FROM deliveries").Scan(u.Context(), &id); err != nil {
			u.Fatal(err)
		}
		return id
	}

	t.Run("InOrder", func(t *testing.T) {
		t.Parallel()
		u := newUnprobed(t, vigil.AnyRegion, newark)
		u.pass(9)
		id := subject(u)
		first := u.deliver(id, vigil.ChannelWebhook)
		if first.Event.Type != vigil.EventUnobserved || first.Severity != vigil.Critical || first.TraceID != events.SubjectTrace(id) {
			t.Errorf("sends %+v", first)
		}
		if next := u.claim(id, vigil.ChannelWebhook); next.State != vigil.NextAttemptNone {
			t.Errorf("the next claim is %s", next.State)
		}
		attempts, total, err := u.store.Attempts(t.Context(), u.org.ID, first.Delivery.ID, listing.Page{Limit: 10})
		if err != nil || total != 1 || attempts[0].TraceID != events.SubjectTrace(id) {
			t.Errorf("attempts %+v, %d, %v", attempts, total, err)
		}
		u.redeliver(first)
		if again := u.deliver(id, vigil.ChannelWebhook); again.Delivery.ID != first.Delivery.ID || !again.Attempt.Manual {
			t.Errorf("redelivers %+v", again)
		}
		if _, err := u.store.DeleteCheck(t.Context(), u.org.ID, u.check.ID, nil); err != nil {
			t.Fatal(err)
		}
		u.pass(9)
		last := u.deliver(id, vigil.ChannelWebhook)
		if last.Event.Type != vigil.EventObserved || last.Event.Variables["incident_url"] != "" ||
			last.Event.Variables["check_name"] != u.check.Name {
			t.Errorf("sends %+v", last)
		}
		u.purge()
		if err := u.store.DropExpired(t.Context(), time.Now().Add(365*24*time.Hour), storage.DefaultRetention()); err != nil {
			t.Fatal(err)
		}
		if n := u.count("SELECT count(*) FROM deliveries"); n > 0 {
			t.Errorf("%d deliveries are left of a deleted check", n)
		}
	})

	for _, row := range []struct {
		kind   vigil.ChannelType
		begun  vigil.DeliveryStatus
		end    vigil.NextAttemptState
		merged bool
	}{
		{vigil.ChannelWebhook, vigil.DeliveryPending, vigil.NextAttemptReady, false},
		{vigil.ChannelEmail, vigil.DeliverySuperseded, vigil.NextAttemptReady, true},
		{vigil.ChannelPager, vigil.DeliverySuperseded, vigil.NextAttemptNone, false},
	} {
		t.Run("LateBeginning/"+string(row.kind), func(t *testing.T) {
			t.Parallel()
			s, clk := newMaintenanceStore(t)
			u := &unprobed{alerts: newAlertsOn(t, s, clk, vigil.NotifyUnhealthy, row.kind)}
			u.changeRule(func(r *vigil.Rule) { r.Unobserved = vigil.UnobservedNotify })
			u.slots = firstSlots(t, s, u.check, 60)
			u.pass(30)
			u.result(newark, 31)
			u.result(frankfurt, 31)
			u.pass(31)
			next := u.claim(subject(u), row.kind)
			if got := u.statuses(row.kind)[vigil.EventUnobserved]; got != row.begun || next.State != row.end || next.Merged != row.merged {
				t.Errorf("the beginning is %s, the claim %s, merged %v", got, next.State, next.Merged)
			}
		})
	}

	t.Run("ToTheAddressOfTheBeginning", func(t *testing.T) {
		t.Parallel()
		s, clk := newMaintenanceStore(t)
		u := &unprobed{alerts: newAlertsOn(t, s, clk, vigil.NotifyUnhealthy, vigil.ChannelPager)}
		u.edit(vigil.ChannelPager, `{"routing_key": "one"}`)
		u.changeRule(func(r *vigil.Rule) { r.Unobserved = vigil.UnobservedNotify })
		u.slots = firstSlots(t, s, u.check, 60)
		u.pass(30)
		id := subject(u)
		if to, _ := u.sends(id, vigil.ChannelPager, ""); to[:3] != "one" {
			t.Errorf("the beginning goes to %s", to)
		}
		u.edit(vigil.ChannelPager, `{"routing_key": "two"}`)
		if err := s.DropExpired(
			t.Context(),
			time.Now().Add(100*24*time.Hour),
			storage.Retention{Attempts: time.Hour, Incidents: time.Hour},
		); err != nil {
			t.Fatal(err)
		}
		u.result(newark, 31)
		u.result(frankfurt, 31)
		u.pass(31)
		if to, former := u.sends(id, vigil.ChannelPager, ""); to[:3] != "one" || !former {
			t.Errorf("the end goes to %s, former %v", to, former)
		}
	})

	t.Run("UntilTheirRetentionEnds", func(t *testing.T) {
		t.Parallel()
		u := newUnprobed(t, vigil.AnyRegion, newark)
		u.pass(9)
		id := subject(u)
		u.deliver(id, vigil.ChannelWebhook)
		keep := storage.Retention{Incidents: 24 * time.Hour}
		drop := func(after time.Duration, want int) {
			t.Helper()
			if err := u.store.DropExpired(t.Context(), u.clock.Now().Add(after), keep); err != nil {
				t.Fatal(err)
			}
			if n := u.count("SELECT count(*) FROM deliveries"); n != want {
				t.Errorf("%d deliveries are left, want %d", n, want)
			}
		}
		drop(48*time.Hour, 1)
		u.result(newark, 10)
		u.pass(10)
		u.deliver(id, vigil.ChannelWebhook)
		drop(time.Hour, 2)
		drop(48*time.Hour, 0)
	})
}
