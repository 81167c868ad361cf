// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// edit replaces the config of a channel.
func (a *alerts) edit(kind vigil.ChannelType, config string) {
	a.Helper()
	_, err := a.store.UpdateChannel(a.Context(), a.org.ID, a.channels[kind].ID, func(c *vigil.Channel) error {
		c.Config = json.RawMessage(config)
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
}

// sends makes the next attempt and returns the config that it uses. With a code it fails.
func (a *alerts) sends(incident uuid.UUID, kind vigil.ChannelType, code string) (config string, former bool) {
	a.Helper()
	p := a.claim(incident, kind)
	if p.State != vigil.NextAttemptReady {
		a.Fatalf("the claim is %s", p.State)
	}
	channel, former, err := a.store.DeliveryChannel(a.Context(), p.Delivery)
	if err != nil {
		a.Fatal(err)
	}
	var next *time.Time
	if code != "" {
		next = new(epoch())
	}
	a.record(p, code, next)
	var members map[string]string
	if err := json.Unmarshal(channel.Config, &members); err != nil {
		a.Fatal(err)
	}
	return members["routing_key"] + members["topic"] + " " + members["url"] + members["server"] + " " + members["password"], former
}

// TestRecoveryGoesWhereTheOpeningWent edits channels while an incident is open.
func TestRecoveryGoesWhereTheOpeningWent(t *testing.T) {
	t.Parallel()
	const (
		first, second = `{"routing_key": "one", "url": "https://a.example"}`, `{"routing_key": "two", "url": "https://a.example"}`
		moved         = `{"routing_key": "one", "url": "https://b.example"}`
		sentence      = `{"routing_key": "one", "url": "https://a.example", "title_template": "{{check_name}}"}`
	)
	type step struct {
		config string
		code   string // of the attempt; empty: it is delivered
	}
	for name, test := range map[string]struct {
		kind    vigil.ChannelType
		opening []step // the config is set before each attempt
		then    string // the config when the incident ends
		want    []string
		former  bool
	}{
		"WithAnotherKey":     {vigil.ChannelPager, []step{{first, ""}}, second, []string{"one https://a.example "}, true},
		"WithAnotherAddress": {vigil.ChannelPager, []step{{first, ""}}, moved, []string{"one https://a.example "}, true},
		"Unchanged":          {vigil.ChannelPager, []step{{first, ""}}, sentence, []string{"one https://a.example "}, false},
		"ToEachThatMayHaveIt": {
			vigil.ChannelPager,
			[]step{{first, "timeout"}, {sentence, "timeout"}, {second, ""}},
			second,
			[]string{"two https://a.example ", "one https://a.example "},
			true,
		},
		"OfATopic": {
			vigil.ChannelPush,
			[]step{{`{"topic": "ops", "server": "https://n.example", "password": "old"}`, ""}},
			`{"topic": "dev", "server": "https://n.example", "password": "new"}`,
			[]string{"ops https://n.example old"},
			true,
		},
		"WithThePasswordOfNow": {
			vigil.ChannelPush,
			[]step{{`{"topic": "ops", "server": "https://n.example", "password": "old"}`, ""}},
			`{"topic": "ops", "server": "https://n.example", "password": "new"}`,
			[]string{"ops https://n.example new"},
			false,
		},
		"NotOfAWebhook": {
			vigil.ChannelWebhook,
			[]step{{`{"url": "https://a.example"}`, ""}},
			`{"url": "https://b.example"}`,
			[]string{" https://b.example "},
			false,
		},
	} {
		for _, how := range []string{string(vigil.ResolvedAutomatically), "deleted"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				a := newAlerts(t, vigil.NotifyBoth, test.kind)
				a.edit(test.kind, test.opening[0].config)
				id := a.open(a.fails(newark)).Incident.ID
				for n, step := range test.opening {
					a.clock.Set(epoch().Add(time.Duration(n) * time.Second))
					a.edit(test.kind, step.config)
					if _, former := a.sends(id, test.kind, step.code); former {
						t.Error("the opening goes to a former address")
					}
				}
				a.edit(test.kind, test.then)
				a.end(id, how)
				if how == "deleted" {
					purgeCheck(t, a.store, a.check)
				}
				var got []string
				var former bool
				for range test.want {
					config, old := a.sends(id, test.kind, "")
					got, former = append(got, config), former || old
				}
				if !slices.Equal(got, test.want) || former != test.former {
					t.Errorf("got %q, former %v, want %q, %v", got, former, test.want, test.former)
				}
				if p := a.claim(id, test.kind); p.State != vigil.NextAttemptNone {
					t.Errorf("then there is %+v", p)
				}
			})
		}
	}
}

// TestRecoveryBesideAChannelWithoutOne ends an incident with two channels that have an address:
// the rule of one asks for the recovery, that of the other one does not.
func TestRecoveryBesideAChannelWithoutOne(t *testing.T) {
	t.Parallel()
	for _, how := range ways() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelPager)
			a.edit(vigil.ChannelPager, `{"routing_key": "one", "url": "https://a.example"}`)
			push, err := a.store.CreateChannel(t.Context(), vigil.Channel{
				OrgID: a.org.ID, Name: "push", Type: vigil.ChannelPush, Config: json.RawMessage(`{"topic": "ops"}`), Enabled: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			a.channels[vigil.ChannelPush] = push
			once := a.rule
			once.ID, once.NotifyOn, once.Channels = uuid.Nil, vigil.NotifyUnhealthy, []uuid.UUID{push.ID}
			once = a.createRule(once)
			out, err := a.store.OpenIncident(t.Context(), vigil.OpenRequest{
				ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{a.rule.ID, once.ID},
			})
			if err != nil {
				t.Fatal(err)
			}
			id := out.Incident.ID
			a.deliver(id, vigil.ChannelPager)
			a.deliver(id, vigil.ChannelPush)
			a.end(id, how)
			if got, _ := a.sends(id, vigil.ChannelPager, ""); got != "one https://a.example " {
				t.Errorf("the end goes to %q", got)
			}
			if p := a.claim(id, vigil.ChannelPush); p.State != vigil.NextAttemptNone {
				t.Errorf("the channel that asks for openings alone has %+v", p)
			}
		})
	}
}

// TestAddressesAreSecrets proves that addresses are sealed like the config of the channel,
// sealed again with it, and not kept for longer than needed.
func TestAddressesAreSecrets(t *testing.T) {
	t.Parallel()
	opened := func(t *testing.T) (a *alerts, id uuid.UUID) {
		t.Helper()
		a = newAlerts(t, vigil.NotifyBoth, vigil.ChannelPager)
		a.edit(vigil.ChannelPager, `{"routing_key": "one"}`)
		id = a.open(a.fails(newark)).Incident.ID
		a.sends(id, vigil.ChannelPager, "")
		return a, id
	}
	addresses := func(a *alerts) int { return a.count("SELECT count(*) FROM delivery_addresses") }

	t.Run("Sealed", func(t *testing.T) {
		t.Parallel()
		a, _ := opened(t)
		if n := a.count("SELECT count(*) FROM delivery_addresses WHERE config::text NOT LIKE '%one%'"); n != 1 {
			t.Errorf("%d addresses are sealed, want 1", n)
		}
		if n, err := a.store.Reseal(t.Context()); n != 2 || err != nil {
			t.Errorf("%d configs were sealed again, %v, want that of the channel and the address", n, err)
		}
	})

	t.Run("GoneWithTheirChannel", func(t *testing.T) {
		t.Parallel()
		a, _ := opened(t)
		if _, err := a.store.DeleteChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelPager].ID, true, nil); err != nil {
			t.Fatal(err)
		}
		if n := addresses(a); n != 0 {
			t.Errorf("%d are left", n)
		}
	})

	t.Run("KeptWhileTheIncidentIsOpen", func(t *testing.T) {
		t.Parallel()
		a, id := opened(t)
		drop := func() {
			t.Helper()
			if err := a.store.DropExpired(t.Context(), epoch().AddDate(0, 0, 31), storage.Retention{Attempts: 30 * 24 * time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		if drop(); addresses(a) != 1 {
			t.Error("the address is dropped while the incident is open")
		}
		a.end(id, string(vigil.ResolvedManually))
		if drop(); addresses(a) != 1 {
			t.Error("the address is dropped before the recovery is sent")
		}
		a.sends(id, vigil.ChannelPager, "")
		if drop(); addresses(a) != 0 {
			t.Error("the address is kept after the recovery")
		}
	})
}
