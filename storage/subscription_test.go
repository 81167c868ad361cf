// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// subscribe stores a channel of a type with a subscription to events. The fixture finds the channel
// by the type.
func (a *alerts) subscribe(kind vigil.ChannelType, change func(*subscription.Subscription), events ...string) subscription.Subscription {
	a.Helper()
	channel, known := a.channels[kind]
	if !known {
		var err error
		channel, err = a.store.CreateChannel(a.Context(), vigil.Channel{
			OrgID: a.org.ID, Name: string(kind), Type: kind, Config: json.RawMessage(`{}`), Enabled: true,
		})
		if err != nil {
			a.Fatal(err)
		}
		a.channels[kind] = channel
	}
	one := subscription.Subscription{OrgID: a.org.ID, Name: "All incidents", ChannelID: channel.ID, Events: events, Enabled: true}
	if change != nil {
		change(&one)
	}
	stored, err := a.store.CreateSubscription(a.Context(), one)
	if err != nil {
		a.Fatal(err)
	}
	return stored
}

func (a *alerts) changeSubscription(id uuid.UUID, change func(*subscription.Subscription)) subscription.Subscription {
	a.Helper()
	after, err := a.store.UpdateSubscription(a.Context(), a.org.ID, id, func(s *subscription.Subscription) error {
		change(s)
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
	return after
}

// received lets all messages about an incident arrive at a channel.
func (a *alerts) received(id uuid.UUID, kind vigil.ChannelType) (got []vigil.EventType) {
	a.Helper()
	for {
		p := a.claim(id, kind)
		if p.State != vigil.NextAttemptReady {
			return got
		}
		a.record(p, "", nil)
		got = append(got, p.Event.Type)
	}
}

func (a *alerts) acknowledge(id uuid.UUID) vigil.IncidentOutcome {
	a.Helper()
	out, err := a.store.AcknowledgeIncident(a.Context(), vigil.AcknowledgeRequest{ID: id, TextID: a.text(id, "ada", "")})
	if err != nil {
		a.Fatal(err)
	}
	return out
}

func (a *alerts) publishUpdate(id uuid.UUID, text string) []vigil.PendingDelivery {
	a.Helper()
	_, pending, err := a.store.CreateIncidentUpdate(a.Context(), overview.IncidentUpdate{
		OrgID: a.org.ID, IncidentID: id, State: "identified", Text: text, Author: "ada@example.com",
	}, "https://vigil.test")
	if err != nil {
		a.Fatal(err)
	}
	return pending
}

// TestSubscribedChannelsGetWhatTheyHear holds which messages of an incident reach a channel that only
// a subscription names, and one that rules name as well.
func TestSubscribedChannelsGetWhatTheyHear(t *testing.T) {
	t.Parallel()
	const (
		opened, seen    = vigil.EventTriggered, vigil.EventAcknowledged
		updated, closed = vigil.EventUpdated, vigil.EventResolved
	)
	for name, test := range map[string]struct {
		events []string
		rule   bool // the channel is that of the rule, too
		kind   vigil.ChannelType
		want   []vigil.EventType
	}{
		"All":            {events: []string{"*"}, want: []vigil.EventType{opened, seen, updated, closed}},
		"ANoun":          {events: []string{"incident.*"}, want: []vigil.EventType{opened, seen, updated, closed}},
		"AnotherNoun":    {events: []string{"check.*"}},
		"Ends":           {events: []string{"incident.resolved"}, want: []vigil.EventType{closed}},
		"Beginnings":     {events: []string{"incident.triggered"}, want: []vigil.EventType{opened}},
		"Between":        {events: []string{"incident.acknowledged"}, want: []vigil.EventType{seen}},
		"OneMessageEach": {events: []string{"incident.*"}, rule: true, want: []vigil.EventType{opened, seen, updated, closed}},
		"RulesAlone":     {events: []string{"check.*"}, rule: true, want: []vigil.EventType{opened, closed}},
		"APagerNoUpdate": {events: []string{"incident.*"}, kind: vigil.ChannelPager, want: []vigil.EventType{opened, seen, closed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := vigil.ChannelWebhook
			if test.kind != "" {
				kind = test.kind
			}
			types := []vigil.ChannelType{vigil.ChannelEmail}
			if test.rule {
				types = append(types, kind)
			}
			a := newAlerts(t, vigil.NotifyBoth, types...)
			a.subscribe(kind, nil, test.events...)
			a.subscribe(kind, nil, test.events...) // twice is no more
			id := a.open(a.fails(newark)).Incident.ID
			got := a.received(id, kind)
			a.acknowledge(id)
			got = append(got, a.received(id, kind)...)
			a.publishUpdate(id, "We know the cause.")
			got = append(got, a.received(id, kind)...)
			a.resolve(id, vigil.ResolvedAutomatically)
			got = append(got, a.received(id, kind)...)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if mails := a.received(id, vigil.ChannelEmail); !slices.Equal(mails, []vigil.EventType{opened, closed}) && len(mails) != 1 {
				t.Errorf("a channel that only a rule names got %v", mails)
			}
			if events := a.events(); len(events) != 4 {
				t.Errorf("%d events are on the stream, want 4", len(events))
			}
		})
	}
}

// TestSelectors holds which checks and severities a subscription selects.
func TestSelectors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		selector func(*alerts, *subscription.Selector)
		received bool
	}{
		"Everything":     {func(*alerts, *subscription.Selector) {}, true},
		"AKey":           {func(_ *alerts, s *subscription.Selector) { s.Labels = []string{"team"} }, true},
		"AValue":         {func(_ *alerts, s *subscription.Selector) { s.Labels = []string{"team=shop"} }, true},
		"AnotherValue":   {func(_ *alerts, s *subscription.Selector) { s.Labels = []string{"team=ops"} }, false},
		"OneOfTwo":       {func(_ *alerts, s *subscription.Selector) { s.Labels = []string{"team=shop", "tier=1"} }, false},
		"TheCheck":       {func(a *alerts, s *subscription.Selector) { s.CheckIDs = []uuid.UUID{a.check.ID} }, true},
		"NoCheck":        {func(_ *alerts, s *subscription.Selector) { s.CheckIDs = []uuid.UUID{} }, false},
		"TheSeverity":    {func(_ *alerts, s *subscription.Selector) { s.SeverityMin = vigil.Warning }, true},
		"ALowerSeverity": {func(_ *alerts, s *subscription.Selector) { s.SeverityMin = vigil.Info }, true},
		"AHigherOne":     {func(_ *alerts, s *subscription.Selector) { s.SeverityMin = vigil.Critical }, false},
		"TheCheckWithoutTheLabel": {func(a *alerts, s *subscription.Selector) {
			s.CheckIDs, s.Labels = []uuid.UUID{a.check.ID}, []string{"team=ops"}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
			a.check = update(t, a.store, a.check, func(c *vigil.Check) { c.Labels = vigil.Labels{"team": "shop"} })
			stored := a.subscribe(vigil.ChannelWebhook, func(s *subscription.Subscription) { test.selector(a, &s.Selector) }, "incident.*")
			read, err := a.store.Subscription(t.Context(), a.org.ID, stored.ID)
			if err != nil || (read.Selector.CheckIDs == nil) != (stored.Selector.CheckIDs == nil) {
				t.Errorf("reads %+v, %v; stored %+v", read.Selector, err, stored.Selector)
			}
			id := a.warningIsOpen()
			if got := a.received(id, vigil.ChannelWebhook); (len(got) == 1) != test.received {
				t.Errorf("the channel got %v", got)
			}
		})
	}
}

// TestWhoGotTheBeginningGetsTheEnd changes everything that selects the check between the beginning
// and the end of its incident.
func TestWhoGotTheBeginningGetsTheEnd(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*alerts, subscription.Subscription){
		"TheSelector": func(a *alerts, s subscription.Subscription) {
			a.changeSubscription(s.ID, func(s *subscription.Subscription) { s.Selector.Labels = []string{"team=ops"} })
		},
		"TheEvents": func(a *alerts, s subscription.Subscription) {
			a.changeSubscription(s.ID, func(s *subscription.Subscription) { s.Events = []string{"check.*"} })
		},
		"Disabled": func(a *alerts, s subscription.Subscription) {
			a.changeSubscription(s.ID, func(s *subscription.Subscription) { s.Enabled = false })
		},
		"Deleted": func(a *alerts, s subscription.Subscription) {
			if err := a.store.DeleteSubscription(a.Context(), a.org.ID, s.ID, nil); err != nil {
				a.Fatal(err)
			}
		},
		"TheLabelsOfTheCheck": func(a *alerts, _ subscription.Subscription) {
			update(a.T, a.store, a.check, func(c *vigil.Check) { c.Labels = nil })
		},
	} {
		for _, how := range ways() {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
				a.check = update(t, a.store, a.check, func(c *vigil.Check) { c.Labels = vigil.Labels{"team": "shop"} })
				s := a.subscribe(vigil.ChannelWebhook, func(s *subscription.Subscription) { s.Selector.Labels = []string{"team=shop"} }, "incident.*")
				id := a.open(a.fails(newark)).Incident.ID
				change(a, s)
				a.subscribe(vigil.ChannelChat, nil, "incident.triggered", "incident.resolved") // receives nothing of this one
				a.end(id, how)
				if got := a.received(id, vigil.ChannelWebhook); !slices.Equal(got, []vigil.EventType{vigil.EventTriggered, vigil.EventResolved}) {
					t.Errorf("got %v", got)
				}
				if got := a.received(id, vigil.ChannelChat); len(got) != 0 {
					t.Errorf("a channel that was subscribed later got %v", got)
				}
			})
		}
	}
}

// TestASevererRuleReachesSubscriptions begins a critical rule in an incident that is a warning.
func TestASevererRuleReachesSubscriptions(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
	rule, _ := a.pagesLater(func(r *vigil.Rule) { r.NotifyIfOpen = false })
	a.subscribe(vigil.ChannelWebhook, func(s *subscription.Subscription) { s.Selector.SeverityMin = vigil.Critical }, "incident.*")
	a.subscribe(vigil.ChannelChat, nil, "incident.*")
	id := a.warningIsOpen()
	request := vigil.RulesRequest{ID: id, Begun: []uuid.UUID{rule.ID}, Votes: []vigil.Vote{a.fails(newark, a.rule.ID, rule.ID)}}
	a.subscribe(vigil.ChannelPush, nil, "incident.triggered")
	a.changeRules(request)
	a.changeRules(request)
	a.resolve(id, vigil.ResolvedAutomatically)
	both := []vigil.EventType{vigil.EventTriggered, vigil.EventResolved}
	for kind, want := range map[vigil.ChannelType][]vigil.EventType{
		vigil.ChannelWebhook: both, vigil.ChannelChat: both[1:], vigil.ChannelPush: nil,
	} {
		got := a.received(id, kind)
		if kind == vigil.ChannelChat {
			if len(got) != 1 || a.count("SELECT count(*) FROM deliveries WHERE channel_id = ?", a.channels[kind].ID) != 2 {
				t.Errorf("chat got %v", got)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s got %v, want %v", kind, got, want)
		}
	}
}

// TestBetweenMessagesKeepTheirOrder lets an acknowledgement and an update fail while the incident
// ends: what follows waits, and an acknowledgement of an incident that is over is not sent to people.
func TestBetweenMessagesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
	a.subscribe(vigil.ChannelWebhook, nil, "incident.*")
	a.subscribe(vigil.ChannelChat, nil, "incident.*")
	id := a.open(a.fails(newark)).Incident.ID
	a.deliver(id, vigil.ChannelWebhook)
	a.deliver(id, vigil.ChannelChat)
	pass := func() { a.clock.Set(a.clock.Now().Add(time.Second)) }
	pass()
	a.acknowledge(id)
	later := a.clock.Now().Add(time.Minute)
	for _, kind := range []vigil.ChannelType{vigil.ChannelWebhook, vigil.ChannelChat} {
		p := a.claim(id, kind)
		if p.Event.Type != vigil.EventAcknowledged || p.Merged {
			t.Fatalf("claim %+v", p)
		}
		a.record(p, "timeout", &later)
	}
	pass()
	a.resolve(id, vigil.ResolvedManually)
	if p := a.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptLater {
		t.Errorf("the end overtakes: %+v", p)
	}
	pass()
	a.publishUpdate(id, "It was a full disk.")
	a.clock.Set(later)
	if got := a.received(id, vigil.ChannelWebhook); !slices.Equal(got, []vigil.EventType{
		vigil.EventAcknowledged, vigil.EventResolved, vigil.EventUpdated,
	}) {
		t.Errorf("the webhook got %v", got)
	}
	if got := a.received(id, vigil.ChannelChat); !slices.Equal(got, []vigil.EventType{vigil.EventResolved, vigil.EventUpdated}) {
		t.Errorf("the chat got %v", got)
	}
	if status := a.statuses(vigil.ChannelChat)[vigil.EventAcknowledged]; status != vigil.DeliverySuperseded {
		t.Errorf("the acknowledgement is %s", status)
	}
}
