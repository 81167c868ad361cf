// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// stage stages the drill of a run; see stagedDrill.
func (r *drillRun) stage(request drills.Request) {
	r.Helper()
	r.slot = epoch().Add(time.Minute)
	r.clock.Set(r.slot)
	r.drill = r.createDrill(request)
	loops, err := r.store.StageDrill(r.Context(), r.drill.ID)
	if err != nil {
		r.Fatal(err)
	}
	if err := r.store.MarkApplied(r.Context(), loops[0]); err != nil {
		r.Fatal(err)
	}
}

// end resolves the incident of a drill whose check is healthy again.
func (r *drillRun) end(incident uuid.UUID) {
	r.Helper()
	r.probe(true)
	if _, err := r.store.ResolveIncident(
		r.Context(), vigil.ResolveRequest{ID: incident, Resolution: vigil.ResolvedAutomatically},
	); err != nil {
		r.Fatal(err)
	}
}

// hopsOf returns the names of the hops of a receipt.
func hopsOf(receipt *drills.Receipt) []drills.Hop {
	names := make([]drills.Hop, len(receipt.Hops))
	for i, hop := range receipt.Hops {
		names[i] = hop.Name
	}
	return names
}

// TestDrillOfSubscriptions notifies the channel of a subscription that selects nothing of the drill,
// and no other channel.
func TestDrillOfSubscriptions(t *testing.T) {
	t.Parallel()
	r := &drillRun{alerts: newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)}
	named := r.subscribe(vigil.ChannelWebhook, func(s *subscription.Subscription) { s.Selector.SeverityMin = vigil.Critical }, "channel.*")
	r.subscribe(vigil.ChannelChat, nil, "*")
	r.stage(drills.Request{SubscriptionIDs: []uuid.UUID{named.ID}})
	if c := r.drill.Channels; len(c) != 1 || c[0].ID != named.ChannelID ||
		!slices.Equal(c[0].Subscriptions, []drills.Subscription{{ID: named.ID, Name: named.Name}}) {
		t.Fatalf("the channels are %+v", c)
	}
	incident := r.open()
	r.deliver(incident, true)
	equal(t, r.follow(), drills.Heal)
	r.heal()
	r.end(incident)
	r.deliver(incident, true)
	equal(t, r.follow(), drills.Close)
	receipt := r.close().Receipt
	if receipt.Verdict != drills.Passed || len(receipt.Channels) != 1 || receipt.Channels[0].Subscriptions[0].ID != named.ID {
		t.Errorf("the receipt is %+v", receipt)
	}
	last, err := r.store.LastDrills(t.Context(), r.org.ID, []uuid.UUID{named.ChannelID})
	if err != nil || last[named.ChannelID].DrillID != r.drill.ID || last[named.ChannelID].Verdict != drills.Passed {
		t.Errorf("the last drills are %v, %v", last, err)
	}
	if due, err := r.store.ClaimDrillNotices(t.Context(), 10); err != nil || len(due) > 0 {
		t.Errorf("owners are mailed about a drill that passed: %v, %v", due, err)
	}
	if n := r.count("SELECT count(*) FROM deliveries WHERE incident_id = ?", incident); n != 2 {
		t.Errorf("%d messages were made", n)
	}
	try := func(id uuid.UUID) error {
		_, err := r.store.CreateDrill(t.Context(), drills.Drill{
			OrgID: r.org.ID, Request: drills.Request{SubscriptionIDs: []uuid.UUID{id}, ExpectWithin: drills.DefaultExpect},
		}, newark)
		return err
	}
	r.changeSubscription(named.ID, func(s *subscription.Subscription) { s.Enabled = false })
	for name, id := range map[string]uuid.UUID{"Unknown": uuid.New(), "Disabled": named.ID} {
		if err := try(id); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDrillFallsBack has a channel refuse the opening for good: its fallback gets both messages, and
// the receipt has it as hops of their own.
func TestDrillFallsBack(t *testing.T) {
	t.Parallel()
	r := &drillRun{alerts: withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)}
	webhook, push := r.channels[vigil.ChannelWebhook].ID, r.channels[vigil.ChannelPush].ID
	r.stage(drills.Request{ChannelIDs: []uuid.UUID{webhook}})
	incident := r.open()
	r.record(r.claim(incident, vigil.ChannelWebhook), "gone", nil)
	equal(t, r.follow(), drills.Wait) // for the fallback
	r.alerts.deliver(incident, vigil.ChannelPush)
	equal(t, r.follow(), drills.Heal)
	r.heal()
	r.end(incident)
	equal(t, r.follow(), drills.Wait)
	r.record(r.claim(incident, vigil.ChannelWebhook), "gone", nil)
	r.alerts.deliver(incident, vigil.ChannelPush)
	equal(t, r.follow(), drills.Close)
	receipt := r.close().Receipt
	equal(t, hopsOf(receipt), []drills.Hop{
		drills.HopAsked, drills.HopStored, drills.HopLoopStarted, drills.HopSlot, drills.HopProbed, drills.HopVoted, drills.HopOpened,
		drills.HopFirstAttempt, drills.HopFallbackDelivered, drills.HopRedefined, drills.HopVoteWithdrawn, drills.HopResolved,
		drills.HopRecoveryFallbackDelivered,
	})
	if f := receipt.Failures; receipt.Verdict != drills.Failed || len(f) != 1 || f[0].Hop != drills.HopDelivered ||
		f[0].ChannelID != webhook {
		t.Errorf("the verdict is %s with %+v", receipt.Verdict, f)
	}
	c := receipt.Channels
	if len(c) != 2 || c[1].ID != push || c[1].FallbackFor != webhook || c[1].Opening.DeliveredAt == nil || c[1].Recovery.DeliveredAt == nil {
		t.Errorf("the channels are %+v", c)
	}
}

// TestDrillNamesTheFallback has the fallback fail as well.
func TestDrillNamesTheFallback(t *testing.T) {
	t.Parallel()
	r := &drillRun{alerts: withFallback(t, vigil.NotifyBoth, vigil.ChannelPush)}
	r.stage(drills.Request{ChannelIDs: []uuid.UUID{r.channels[vigil.ChannelWebhook].ID}})
	incident := r.open()
	r.record(r.claim(incident, vigil.ChannelWebhook), "gone", nil)
	r.record(r.claim(incident, vigil.ChannelPush), "http_status", nil)
	equal(t, r.follow(), drills.Heal)
	f := r.close().Receipt.Failures
	for mailed := range 3 {
		due, err := r.store.ClaimDrillNotices(t.Context(), 10)
		if want := mailed == 0 || mailed == 2; err != nil || (len(due) == 1) != want {
			t.Errorf("claim %d of the mail is %d, %v", mailed, len(due), err)
		}
		if mailed == 1 {
			r.clock.Set(r.clock.Now().Add(3 * time.Minute)) // the process that claimed it died
		}
	}
	if err := r.store.DrillNoticeMailed(t.Context(), r.drill.ID); err != nil {
		t.Fatal(err)
	}
	r.clock.Set(r.clock.Now().Add(3 * time.Minute))
	if due, err := r.store.ClaimDrillNotices(t.Context(), 10); err != nil || len(due) > 0 {
		t.Errorf("the owners are mailed twice: %v, %v", due, err)
	}
	if len(f) != 3 || f[0].Hop != drills.HopDelivered || f[1].Hop != drills.HopFallbackDelivered ||
		f[1].ChannelID != r.channels[vigil.ChannelPush].ID {
		t.Errorf("the failures are %+v", f)
	}
}

// TestDrillConfirmsTheFallback asks whether a pager may ring that a channel falls back to.
func TestDrillConfirmsTheFallback(t *testing.T) {
	t.Parallel()
	a := withFallback(t, vigil.NotifyBoth, vigil.ChannelPager)
	request := drills.Request{ChannelIDs: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}, ExpectWithin: drills.DefaultExpect}
	_, err := a.store.CreateDrill(t.Context(), drills.Drill{OrgID: a.org.ID, Request: request}, newark)
	if vigil.ErrorCode(err) != vigil.CodeInvalid {
		t.Errorf("unconfirmed: %v", err)
	}
	request.ConfirmPager = true
	a.createDrill(request)
}
