// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// withFallback stores a channel of a type that gets what the webhook cannot deliver.
func withFallback(t *testing.T, notify vigil.NotifyOn, kind vigil.ChannelType) *alerts {
	t.Helper()
	a := newAlerts(t, notify, vigil.ChannelWebhook)
	a.addFallback(kind)
	return a
}

func (a *alerts) addFallback(kind vigil.ChannelType) {
	a.Helper()
	channel, err := a.store.CreateChannel(a.Context(), vigil.Channel{
		OrgID: a.org.ID, Name: string(kind), Type: kind, Config: []byte("{}"), Enabled: true,
	})
	if err != nil {
		a.Fatal(err)
	}
	a.channels[kind] = channel
	a.fallback(a.channels[vigil.ChannelWebhook].ID, channel.ID)
}

func (a *alerts) fallback(of, to uuid.UUID) {
	a.Helper()
	_, err := a.store.UpdateChannel(a.Context(), a.org.ID, of, func(c *vigil.Channel) error {
		c.Fallback = to
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
}

// deliveriesTo returns those to the channel of a type, by their event.
func (a *alerts) deliveriesTo(kind vigil.ChannelType) map[vigil.EventType]vigil.Delivery {
	a.Helper()
	all, _, err := a.store.Deliveries(a.Context(), a.org.ID, listing.DeliveryFilter{
		ChannelID: a.channels[kind].ID, Page: listing.Page{Limit: 100},
	})
	if err != nil {
		a.Fatal(err)
	}
	found := make(map[vigil.EventType]vigil.Delivery)
	for _, d := range all {
		if _, twice := found[d.EventType]; twice {
			a.Errorf("two deliveries of %s", d.EventType)
		}
		found[d.EventType] = d
	}
	return found
}

func TestFallback(t *testing.T) {
	t.Parallel()
	const opening, end = vigil.EventTriggered, vigil.EventResolved

	t.Run("GetsWhatIsGivenUp", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		rest := a.record(p, "http_status", nil)
		if len(rest.Admitted) != 1 || rest.Admitted[0].ChannelID != a.channels[vigil.ChannelPush].ID ||
			rest.Admitted[0].CheckName != a.check.Name {
			t.Errorf("to wake: %+v", rest.Admitted)
		}
		got := a.deliveriesTo(vigil.ChannelPush)
		want := vigil.FallbackFor{ChannelID: a.channels[vigil.ChannelWebhook].ID, ChannelName: "webhook", DeliveryID: p.Delivery.ID}
		if d := got[opening]; len(got) != 1 || d.FallbackFor == nil || *d.FallbackFor != want || d.EventID != p.Delivery.EventID {
			t.Fatalf("deliveries %+v", got)
		}
		if data := a.dataOf(a.eventsOf(vigil.EventDeliveryExhausted)[0]); data.Delivery.FallbackChannelID == nil ||
			*data.Delivery.FallbackChannelID != a.channels[vigil.ChannelPush].ID {
			t.Errorf("data %+v", data)
		}
		instead := a.deliver(id, vigil.ChannelPush)
		if instead.Delivery.FallbackFor == nil || instead.Event.ID != p.Event.ID {
			t.Errorf("claim %+v", instead)
		}
		a.resolve(id, vigil.ResolvedAutomatically)
		a.deliver(id, vigil.ChannelPush)
		if got := a.deliveriesTo(vigil.ChannelPush); got[end].Status != vigil.DeliveryDelivered ||
			got[end].FallbackFor.DeliveryID != a.deliveriesTo(vigil.ChannelWebhook)[end].ID {
			t.Errorf("deliveries %+v", got)
		}
	})

	t.Run("GoesNoFurther", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
		chat, err := a.store.CreateChannel(
			t.Context(),
			vigil.Channel{OrgID: a.org.ID, Name: "chat", Type: vigil.ChannelChat, Config: []byte("{}"), Enabled: true},
		)
		if err != nil {
			t.Fatal(err)
		}
		a.fallback(a.channels[vigil.ChannelPush].ID, chat.ID)
		id := a.open(a.fails(newark)).Incident.ID
		a.record(a.claim(id, vigil.ChannelWebhook), "http_status", nil)
		if rest := a.record(a.claim(id, vigil.ChannelPush), "http_status", nil); len(rest.Admitted) != 0 {
			t.Errorf("to wake: %+v", rest.Admitted)
		}
		if n := a.count("SELECT count(*) FROM deliveries"); n != 2 {
			t.Errorf("%d deliveries, want two", n)
		}
	})

	t.Run("GetsTheEndThatWasThereBefore", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPager)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.resolve(id, vigil.ResolvedAutomatically)
		a.record(p, "http_status", nil)
		if got := a.deliveriesTo(vigil.ChannelPager); len(got) != 2 || got[end].FallbackFor == nil {
			t.Errorf("deliveries %+v", got)
		}
	})

	t.Run("GetsAnOpeningWhoseEndItWasNotToGet", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyUnhealthy, vigil.ChannelEmail) // merges what comes late
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.resolve(id, vigil.ResolvedAutomatically)
		a.record(p, "http_status", nil)
		if got := a.claim(id, vigil.ChannelEmail); got.State != vigil.NextAttemptReady || !got.Merged {
			t.Errorf("claim %+v", got)
		}
	})

	t.Run("GetsNothingTwice", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelPush)
		a.fallback(a.channels[vigil.ChannelWebhook].ID, a.channels[vigil.ChannelPush].ID)
		id := a.open(a.fails(newark)).Incident.ID
		if rest := a.record(a.claim(id, vigil.ChannelWebhook), "http_status", nil); len(rest.Admitted) != 0 {
			t.Errorf("to wake: %+v", rest.Admitted)
		}
		a.resolve(id, vigil.ResolvedAutomatically)
		if got := a.deliveriesTo(vigil.ChannelPush); len(got) != 2 || got[opening].FallbackFor != nil || got[end].FallbackFor != nil {
			t.Errorf("deliveries %+v", got)
		}
	})

	t.Run("GetsNothingWhileItIsDisabled", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
		if _, err := a.store.DisableChannel(t.Context(), a.channels[vigil.ChannelPush].ID, "gone"); err != nil {
			t.Fatal(err)
		}
		a.record(a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook), "http_status", nil)
		if got := a.deliveriesTo(vigil.ChannelPush); len(got) != 0 {
			t.Errorf("deliveries %+v", got)
		}
	})

	t.Run("GetsWhatIsCanceledBecauseTheReceiverIsGone", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
		id := a.open(a.fails(newark)).Incident.ID
		a.resolve(id, vigil.ResolvedAutomatically)
		if _, err := a.store.DisableChannel(t.Context(), a.channels[vigil.ChannelWebhook].ID, "the receiver is gone"); err != nil {
			t.Fatal(err)
		}
		if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || len(p.Admitted) != 1 {
			t.Errorf("claim %+v", p)
		}
		if got := a.deliveriesTo(vigil.ChannelPush); len(got) != 2 || got[opening].FallbackFor == nil || got[end].FallbackFor == nil {
			t.Errorf("deliveries %+v", got)
		}
		notices, err := a.store.ClaimChannelNotices(t.Context(), 10)
		if err != nil || len(notices) != 1 || !notices[0].Gone || notices[0].Lost != 2 || notices[0].FellBack != 2 {
			t.Errorf("notices %+v, %v", notices, err)
		}
	})

	t.Run("GetsItWithTheNextPassOfTheSweep", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelEmail)
		a.addFallback(vigil.ChannelPush)
		id := a.open(a.fails(newark)).Incident.ID
		next := epoch().Add(24 * time.Hour)
		a.record(a.claim(id, vigil.ChannelWebhook), "status", &next)
		a.record(a.claim(id, vigil.ChannelEmail), "status", &next)
		if did, err := a.store.DisableChannel(t.Context(), a.channels[vigil.ChannelWebhook].ID, "gone"); err != nil || !did {
			t.Fatal(did, err)
		}
		due, err := a.store.StalledDeliveries(t.Context(), a.clock.Now(), fleet.EverySweepShard(), 10)
		if err != nil || len(due) != 1 || due[0].ChannelID != a.channels[vigil.ChannelWebhook].ID {
			t.Fatalf("due are %+v, %v; want that of the channel alone", due, err)
		}
		if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || len(p.Admitted) != 1 {
			t.Errorf("claim %+v", p)
		}
		if got := a.deliveriesTo(vigil.ChannelPush)[opening]; got.FallbackFor == nil {
			t.Errorf("delivery %+v", got)
		}
	})

	t.Run("GetsNothingOfAChannelThatAUserDisabled", func(t *testing.T) {
		t.Parallel()
		a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
		id := a.open(a.fails(newark)).Incident.ID
		_, err := a.store.UpdateChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, func(c *vigil.Channel) error {
			c.Enabled = false
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		a.claim(id, vigil.ChannelWebhook)
		if got := a.deliveriesTo(vigil.ChannelPush); len(got) != 0 {
			t.Errorf("deliveries %+v", got)
		}
	})
}

// While openings are given up their incidents end: each fallback has the opening and the end,
// once.
func TestFallbackBesideTheEnd(t *testing.T) {
	t.Parallel()
	a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
	ids := a.openOfChecks(8)
	done := make(chan struct{})
	for _, id := range ids {
		p := a.claim(id, vigil.ChannelWebhook)
		go func() {
			defer func() { done <- struct{}{} }()
			a.record(p, "http_status", nil)
		}()
		go func() {
			defer func() { done <- struct{}{} }()
			_, err := a.store.ResolveIncident(t.Context(), vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedAutomatically})
			if err != nil {
				t.Error(err)
			}
		}()
		<-done
		<-done
	}
	for _, kind := range []vigil.EventType{vigil.EventTriggered, vigil.EventResolved} {
		n := a.count("SELECT count(*) FROM deliveries WHERE fallback_for IS NOT NULL AND event_type = ?", string(kind))
		if n != len(ids) {
			t.Errorf("%d deliveries of %s to the fallback, want %d", n, kind, len(ids))
		}
	}
}

func TestFallbacksMakeNoCircle(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	channel := func(org uuid.UUID, fallback uuid.UUID) (uuid.UUID, error) {
		c, err := s.CreateChannel(t.Context(), vigil.Channel{
			OrgID: org, Name: uuid.NewString(), Type: vigil.ChannelWebhook, Config: []byte("{}"), Enabled: true, Fallback: fallback,
		})
		return c.ID, err
	}
	set := func(of, to uuid.UUID) error {
		_, err := s.UpdateChannel(t.Context(), org.ID, of, func(c *vigil.Channel) error {
			c.Fallback = to
			return nil
		})
		return err
	}
	var chain []uuid.UUID
	for i := range 4 {
		next := uuid.Nil
		if i > 0 {
			next = chain[i-1]
		}
		id, err := channel(org.ID, next)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, id)
	}
	for i, id := range chain { // chain[3] -> chain[2] -> chain[1] -> chain[0]
		err := set(chain[0], id)
		wantCode(t, err, vigil.CodeInvalid)
		if memberOf(err) != channelhealth.MemberFallback {
			t.Errorf("%d: %v", i, err)
		}
	}
	foreign, err := channel(other.ID, uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []uuid.UUID{foreign, uuid.New()} {
		wantCode(t, set(chain[0], id), vigil.CodeInvalid)
		_, err := channel(org.ID, id)
		wantCode(t, err, vigil.CodeInvalid)
	}

	t.Run("NotByTwoAtOnce", func(t *testing.T) {
		t.Parallel()
		for range 6 {
			first, err := channel(org.ID, uuid.Nil)
			if err != nil {
				t.Fatal(err)
			}
			second, err := channel(org.ID, uuid.Nil)
			if err != nil {
				t.Fatal(err)
			}
			errs := make(chan error)
			go func() { errs <- set(first, second) }()
			go func() { errs <- set(second, first) }()
			made := 0
			for range 2 {
				if err := <-errs; err == nil {
					made++
				} else if vigil.ErrorCode(err) != vigil.CodeInvalid {
					t.Error(err)
				}
			}
			if made != 1 {
				t.Errorf("%d of two that make a circle are stored, want one", made)
			}
		}
	})
}

func memberOf(err error) string {
	known, _ := err.(*vigil.Error) //nolint:errorlint // storage returns them as they are
	if known == nil {
		return ""
	}
	member, _ := known.Details["member"].(string)
	return member
}

func TestDeletedFallback(t *testing.T) {
	t.Parallel()
	a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)
	webhook, push := a.channels[vigil.ChannelWebhook].ID, a.channels[vigil.ChannelPush].ID
	before, err := a.store.Channel(t.Context(), a.org.ID, webhook)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.store.DeleteChannel(t.Context(), a.org.ID, push, false, nil)
	wantCode(t, err, vigil.CodeConflict)
	refusal, _ := errors.AsType[*vigil.Error](err)
	if names, _ := refusal.Details["channels"].([]string); !slices.Equal(names, []string{"webhook"}) {
		t.Errorf("%v names %q", err, names)
	}
	a.at(time.Minute)
	if _, err := a.store.DeleteChannel(t.Context(), a.org.ID, push, true, nil); err != nil {
		t.Fatal(err)
	}
	after, err := a.store.Channel(t.Context(), a.org.ID, webhook)
	if err != nil || after.Fallback != uuid.Nil || after.Version != before.Version+1 {
		t.Errorf("the channel is %+v, %v", after, err)
	}
}
