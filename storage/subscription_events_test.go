// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// TestDefinitionsOfSubscriptions holds their limits, versions and what a deletion of what they name
// does.
func TestDefinitionsOfSubscriptions(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
	ctx := t.Context()
	named := a.subscribe(
		vigil.ChannelWebhook,
		func(s *subscription.Subscription) { s.Selector.CheckIDs = []uuid.UUID{a.check.ID} },
		"incident.*",
	)
	if len(named.Warnings) != 0 || named.Version != 1 {
		t.Errorf("stored %+v", named)
	}
	warned := a.subscribe(vigil.ChannelWebhook, func(s *subscription.Subscription) { s.Selector.Labels = []string{"none"} }, "channel.*")
	if len(warned.Warnings) != 2 {
		t.Errorf("warnings %q", warned.Warnings)
	}
	for member, change := range map[string]func(*subscription.Subscription){
		"channel_id":            func(s *subscription.Subscription) { s.ChannelID = uuid.New() },
		"selector.check_ids[0]": func(s *subscription.Subscription) { s.Selector.CheckIDs = []uuid.UUID{uuid.New()} },
	} {
		_, err := a.store.UpdateSubscription(ctx, a.org.ID, named.ID, func(s *subscription.Subscription) error { change(s); return nil })
		if mistake, ok := errors.AsType[*vigil.Error](err); !ok || mistake.Details["member"] != member {
			t.Errorf("%s: %v", member, err)
		}
	}
	same := a.changeSubscription(named.ID, func(*subscription.Subscription) {})
	if same.Version != 1 {
		t.Errorf("no change is version %d", same.Version)
	}
	channel := a.channels[vigil.ChannelWebhook].ID
	if _, err := a.store.DeleteChannel(ctx, a.org.ID, channel, false, nil); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("deleting the channel: %v", err)
	}
	if _, err := a.store.DeleteCheck(ctx, a.org.ID, a.check.ID, nil); err != nil {
		t.Fatal(err)
	}
	left, err := a.store.Subscription(ctx, a.org.ID, named.ID)
	if err != nil || left.Selector.CheckIDs == nil || len(left.Selector.CheckIDs) != 0 || left.Version != 2 {
		t.Errorf("after the check was deleted: %+v, %v", left, err)
	}
	list, extent, err := a.store.Subscriptions(
		ctx,
		a.org.ID,
		subscription.Filter{Event: vigil.EventResolved, Page: listing.Page{Limit: 10}},
	)
	if err != nil || len(list) != 1 || extent.Total != 1 || list[0].ID != named.ID {
		t.Errorf("lists %+v, %v", list, err)
	}
	if _, err := a.store.DeleteChannel(ctx, a.org.ID, channel, true, nil); err != nil {
		t.Fatal(err)
	}
	if n := a.count("SELECT count(*) FROM subscriptions"); n != 0 {
		t.Errorf("%d subscriptions are left without a channel", n)
	}
}

// TestSubscribedToUnobservedChecks reports a check that is not probed to a channel that no rule names.
func TestSubscribedToUnobservedChecks(t *testing.T) {
	t.Parallel()
	u := newUnprobed(t, vigil.AllRegions, newark)
	u.subscribe(vigil.ChannelChat, nil, "check.unobserved", "check.observed")
	u.subscribe(vigil.ChannelWebhook, nil, "check.*") // the rule's channel has one message
	u.pass(9)
	u.result(newark, 10)
	u.pass(11)
	for _, kind := range []vigil.ChannelType{vigil.ChannelChat, vigil.ChannelWebhook} {
		var got []string
		err := u.store.DB().NewRaw("SELECT event_type FROM deliveries WHERE channel_id = ? ORDER BY created_at", u.channels[kind].ID).
			Scan(t.Context(), &got)
		if err != nil || !slices.Equal(got, []string{"check.unobserved", "check.observed"}) {
			t.Errorf("%s gets %v, %v", kind, got, err)
		}
	}
}

// TestSubscribedToSystemEvents holds to which channels a system event goes, and that the sweep finds
// its deliveries at once.
func TestSubscribedToSystemEvents(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
	a.subscribe(vigil.ChannelWebhook, nil, "channel.*", "check.*")
	a.subscribe(vigil.ChannelChat, func(s *subscription.Subscription) { s.Selector.CheckIDs = []uuid.UUID{a.check.ID} }, "*")
	a.subscribe(vigil.ChannelPush, func(s *subscription.Subscription) { s.Selector.SeverityMin = vigil.Warning }, "*")
	update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
	update(t, a.store, a.check, func(c *vigil.Check) { c.Name = "Another name" })
	update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = true })
	failing := events.SystemContent{
		Type:      vigil.EventChannelFailing,
		OrgID:     a.org.ID,
		SubjectID: uuid.New(),
		Time:      epoch(),
		Severity:  vigil.Critical,
		Title:     "A channel is failing",
		Data:      map[string]any{"channel": map[string]any{"id": a.channels[vigil.ChannelWebhook].ID}},
	}
	for range 2 {
		if err := a.publishSystem(failing); err != nil {
			t.Fatal(err)
		}
	}
	for kind, want := range map[vigil.ChannelType][]string{
		vigil.ChannelWebhook: {"check.paused", "check.resumed"}, // not that of itself
		vigil.ChannelChat:    {"check.paused", "check.resumed"}, // nothing about no check
		vigil.ChannelPush:    {"channel.failing"},
		vigil.ChannelEmail:   nil,
	} {
		var got []string
		err := a.store.DB().NewRaw("SELECT event_type FROM deliveries WHERE channel_id = ? ORDER BY event_type", a.channels[kind].ID).
			Scan(t.Context(), &got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gets %v, want %v; %v", kind, got, want, err)
		}
	}
	due, err := a.store.StalledDeliveries(t.Context(), a.clock.Now(), fleet.EverySweepShard(), 100)
	if err != nil || len(due) != 5 {
		t.Fatalf("the sweep finds %d, %v", len(due), err)
	}
	for _, d := range due {
		if d.ChannelID != a.channels[vigil.ChannelPush].ID {
			continue
		}
		if got := a.received(d.IncidentID, vigil.ChannelPush); !slices.Equal(got, []vigil.EventType{vigil.EventChannelFailing}) {
			t.Errorf("got %v", got)
		}
	}
	if events := a.events(); len(events) != 3 || events[0].Title != "home page is paused" || events[1].Title != "Another name is resumed" {
		t.Errorf("the stream has %+v", events)
	}
}

// TestBeginningsAndEndsAreAsMany opens and ends many incidents in every way there is, while the
// subscriptions, their selectors and the labels of the checks change beside them.
func TestBeginningsAndEndsAreAsMany(t *testing.T) {
	t.Parallel()
	const episodes = 60 // of each way to end
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail, vigil.ChannelWebhook)
	random := rand.New(rand.NewPCG(7, 34)) // the same changes in each run
	kinds := []vigil.ChannelType{vigil.ChannelWebhook, vigil.ChannelChat, vigil.ChannelPager, vigil.ChannelPush}
	var subscriptions []subscription.Subscription
	for i := range 8 {
		s := a.subscribe(kinds[i%len(kinds)], nil, "incident.*")
		subscriptions = append(subscriptions, s)
	}
	shake := func() {
		s := subscriptions[random.IntN(len(subscriptions))]
		a.changeSubscription(s.ID, func(s *subscription.Subscription) {
			s.Enabled = random.IntN(3) > 0
			s.Selector.Labels = [][]string{nil, {"team=shop"}, {"team=ops"}}[random.IntN(3)]
			s.Selector.SeverityMin = []vigil.Severity{"", vigil.Warning, vigil.Critical}[random.IntN(3)]
		})
	}
	for i := range episodes {
		for _, how := range ways() {
			a.check = newCheck(t, a.store, draft(a.org.ID, newark))
			rule := a.rule
			rule.ID, rule.CheckID = uuid.Nil, a.check.ID
			rule.Condition.Severity = []vigil.Severity{vigil.Warning, vigil.Critical}[i%2]
			a.rule = a.createRule(rule)
			a.check = update(t, a.store, a.check, func(c *vigil.Check) {
				c.Labels = []vigil.Labels{nil, {"team": "shop"}, {"team": "ops"}}[random.IntN(3)]
			})
			shake()
			id := a.open(a.fails(newark)).Incident.ID
			shake()
			if random.IntN(2) == 0 {
				a.acknowledge(id)
			}
			update(t, a.store, a.check, func(c *vigil.Check) { c.Labels = nil })
			a.end(id, how)
		}
	}
	if n := a.count(`SELECT count(*) FROM (
			SELECT incident_id, channel_id FROM deliveries WHERE event_type IN ('incident.triggered', 'incident.resolved')
			GROUP BY 1, 2 HAVING count(*) <> 2 OR count(DISTINCT event_type) <> 2) AS uneven`); n != 0 {
		t.Errorf("%d channels received a beginning without its end, or one of them twice", n)
	}
	begun := a.count(
		"SELECT count(*) FROM deliveries AS d JOIN channels AS ch ON ch.id = d.channel_id WHERE event_type = 'incident.triggered' " +
			"AND ch.type IN ('chat', 'pager', 'push')",
	)
	if all := 3 * len(ways()) * episodes; begun == 0 || begun == all {
		t.Errorf("%d of %d beginnings were sent: the selectors select all or nothing", begun, all)
	}
}
