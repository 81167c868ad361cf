// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

// alerts is a check with a rule that notifies channels.
type alerts struct {
	*testing.T
	store *storage.Store
	clock *clock
	org   account.Organization
	check vigil.Check
	rule  vigil.Rule
	// channels by type.
	channels map[vigil.ChannelType]vigil.Channel
	slot     time.Time
}

// newAlerts stores a check in two regions whose rule notifies a channel of each of
// the types.
func newAlerts(t *testing.T, notify vigil.NotifyOn, types ...vigil.ChannelType) *alerts {
	t.Helper()
	s, c := newStore(t)
	return newAlertsOn(t, s, c, notify, types...)
}

func newAlertsOn(t *testing.T, s *storage.Store, c *clock, notify vigil.NotifyOn, types ...vigil.ChannelType) *alerts {
	t.Helper()
	org, _ := newOrg(t, s)
	a := &alerts{T: t, store: s, clock: c, org: org, slot: epoch(), channels: make(map[vigil.ChannelType]vigil.Channel)}
	a.check = newCheck(t, s, draft(org.ID, newark, frankfurt))
	rule := vigil.Rule{
		OrgID: org.ID, CheckID: a.check.ID, Name: "Down", Condition: vigil.Condition{FailureThreshold: 1},
		NotifyOn: notify, Policy: vigil.AnyRegion, Enabled: true,
	}
	for _, kind := range types {
		channel, err := s.CreateChannel(t.Context(), vigil.Channel{
			OrgID: org.ID, Name: string(kind), Type: kind, Config: json.RawMessage(`{}`), Enabled: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		a.channels[kind] = channel
		rule.Channels = append(rule.Channels, channel.ID)
	}
	a.rule = a.createRule(rule)
	return a
}

func (a *alerts) createRule(rule vigil.Rule) vigil.Rule {
	a.Helper()
	stored, err := a.store.CreateRule(a.Context(), rule)
	if err != nil {
		a.Fatal(err)
	}
	return stored
}

// fails stores a failing result of a region and the vote that follows from it.
func (a *alerts) fails(region string, rules ...uuid.UUID) vigil.Vote {
	a.Helper()
	a.slot = a.slot.Add(10 * time.Second)
	w := newWriter(a.T, a.store, storage.WriterOptions{})
	_, err := w.Write(a.Context(), vigil.ResultRow{Result: vigil.Result{
		CheckID: a.check.ID, Region: region, Slot: a.slot, Time: a.slot,
		Observation: vigil.Observation{Error: "connection refused", Metadata: map[string]any{"phase": "connect"}},
	}})
	if err != nil {
		a.Fatal(err)
	}
	if len(rules) == 0 {
		rules = []uuid.UUID{a.rule.ID}
	}
	slices.SortFunc(rules, vigil.CompareIDs)
	matches := make([]vigil.Match, len(rules))
	for i, rule := range rules {
		matches[i] = vigil.Match{Rule: rule, Keys: []string{vigil.KeyFailureThreshold}}
	}
	return a.vote(vigil.Vote{Region: region, Revision: 2, Slot: a.slot, Failures: 1, Firing: rules, Matches: matches})
}

func (a *alerts) vote(v vigil.Vote) vigil.Vote {
	a.Helper()
	if _, err := a.store.SaveVote(a.Context(), a.check.ID, v); err != nil {
		a.Fatal(err)
	}
	return v
}

func (a *alerts) open(votes ...vigil.Vote) vigil.IncidentOutcome {
	a.Helper()
	out, err := a.store.OpenIncident(a.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{a.rule.ID}, Votes: votes,
	})
	if err != nil {
		a.Fatal(err)
	}
	return out
}

func (a *alerts) resolve(id uuid.UUID, how vigil.Resolution) vigil.IncidentOutcome {
	a.Helper()
	out, err := a.store.ResolveIncident(a.Context(), vigil.ResolveRequest{
		ID: id, Resolution: how, TextID: a.text(id, "ada", ""), Latch: how == vigil.ResolvedManually,
	})
	if err != nil {
		a.Fatal(err)
	}
	return out
}

func (a *alerts) incident(id uuid.UUID) vigil.Incident {
	a.Helper()
	i, err := a.store.Incident(a.Context(), a.org.ID, id)
	if err != nil {
		a.Fatal(err)
	}
	return i
}

func (a *alerts) events() []vigil.Event {
	a.Helper()
	events, err := a.store.EventsAfter(a.Context(), a.org.ID, vigil.Position{}, time.Time{}, 10_000)
	if err != nil {
		a.Fatal(err)
	}
	return events
}

func (a *alerts) count(query string, args ...any) int {
	a.Helper()
	var n int
	if err := a.store.DB().NewRaw(query, args...).Scan(a.Context(), &n); err != nil {
		a.Fatal(err)
	}
	return n
}

func TestOpenIncident(t *testing.T) {
	t.Parallel()

	t.Run("IsNamedNotifiesAndIsOnTheStreamAtOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelEmail)
		vote := a.fails(newark)
		a.clock.Set(a.slot.Add(time.Second))
		out := a.open(vote)
		i := a.incident(out.Incident.ID)
		if i.Title != "home page is failing" || i.Severity != vigil.Critical || i.Status != vigil.IncidentActive || i.RuleID != a.rule.ID {
			t.Errorf("incident %+v", i)
		}
		if !slices.Equal(i.Trigger.Matched, []string{vigil.KeyFailureThreshold}) || i.Trigger.Result.Error != "connection refused" ||
			!i.StartedAt.Equal(a.slot) {
			t.Errorf("trigger %+v, started at %v", i.Trigger, i.StartedAt)
		}
		events := a.events()
		if len(out.PendingDeliveries) != 2 || len(events) != 1 || events[0].Type != vigil.EventTriggered || events[0].Position.Seq != 1 {
			t.Errorf("deliveries %+v, events %+v", out.PendingDeliveries, events)
		}
		if events[0].Variables["regions_down"] != newark || events[0].Variables["error_message"] != "connection refused" {
			t.Errorf("variables %v", events[0].Variables)
		}
	})

	t.Run("IsAdoptedWhenItIsThere", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		vote := a.fails(newark)
		first, again := a.open(vote), a.open(vote)
		if first.Incident.ID != again.Incident.ID || !first.Changed || again.Changed || len(again.PendingDeliveries) != 1 ||
			len(a.events()) != 1 {
			t.Errorf("first %+v, again %+v", first, again)
		}
	})

	t.Run("TakesTheGravestRuleAndNotifiesAllOnce", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyHealthy, vigil.ChannelWebhook, vigil.ChannelChat)
		mild := a.rule
		a.clock.Set(epoch().Add(time.Hour))
		rule := mild
		rule.ID, rule.Name, rule.NotifyOn, rule.CreatedAt = uuid.Nil, "Gone", vigil.NotifyUnhealthy, time.Time{}
		rule.Channels = []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}
		grave := a.createRule(rule)
		if _, err := a.store.UpdateRule(t.Context(), a.org.ID, a.check.ID, mild.ID, func(r *vigil.Rule) error {
			r.Condition.Severity = vigil.Warning
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		out, err := a.store.OpenIncident(t.Context(), vigil.OpenRequest{
			ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{mild.ID, grave.ID}, Votes: []vigil.Vote{a.fails(frankfurt, mild.ID, grave.ID)},
		})
		if err != nil {
			t.Fatal(err)
		}
		i := a.incident(out.Incident.ID)
		if i.RuleID != grave.ID || len(out.PendingDeliveries) != 1 || out.PendingDeliveries[0].ChannelType != vigil.ChannelWebhook {
			t.Errorf("incident of rule %v with deliveries %+v", i.RuleID, out.PendingDeliveries)
		}
		if out := a.resolve(out.Incident.ID, vigil.ResolvedAutomatically); len(out.PendingDeliveries) != 2 {
			t.Errorf("the recovery is sent to %+v, want both", out.PendingDeliveries)
		}
	})

	t.Run("HasNoReasonWithoutItsCheckOrRule", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		vote := a.fails(newark)
		if err := a.store.DeleteRule(t.Context(), a.org.ID, a.check.ID, a.rule.ID, nil); err != nil {
			t.Fatal(err)
		}
		if out := a.open(vote); out.Incident.ID != uuid.Nil {
			t.Errorf("opened %+v for a deleted rule", out)
		}
		if _, err := a.store.DeleteCheck(t.Context(), a.org.ID, a.check.ID, nil); err != nil {
			t.Fatal(err)
		}
		_, err := a.store.OpenIncident(t.Context(), vigil.OpenRequest{ID: uuid.New(), CheckID: a.check.ID})
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("a deleted check gave %v", err)
		}
	})

	t.Run("OneIncidentForSixtyFourAtOnceTwoHundredTimes", func(t *testing.T) {
		t.Parallel()
		const rounds, callers = 200, 64
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		vote := a.fails(newark)
		for round := range rounds {
			var wait sync.WaitGroup
			outs, errs := make([]vigil.IncidentOutcome, callers), make([]error, callers)
			for n := range callers {
				wait.Go(func() {
					outs[n], errs[n] = a.store.OpenIncident(t.Context(), vigil.OpenRequest{
						ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{a.rule.ID}, Votes: []vigil.Vote{vote},
					})
				})
			}
			wait.Wait()
			for n := range callers {
				if errs[n] != nil || outs[n].Incident.ID != outs[0].Incident.ID {
					t.Fatalf("round %d: %+v and %+v, %v", round, outs[0], outs[n], errs[n])
				}
			}
			a.resolve(outs[0].Incident.ID, vigil.ResolvedAutomatically)
			if testing.Short() && round == 10 {
				return
			}
		}
		if n := a.count("SELECT count(*) FROM incidents"); n != rounds {
			t.Errorf("%d incidents, want %d", n, rounds)
		}
		events := a.events()
		for i, e := range events {
			if e.Position.Seq != int64(i+1) || i > 0 && e.Position.MS < events[i-1].Position.MS {
				t.Fatalf("event %d is at %s", i, e.Position)
			}
		}
		if len(events) != 2*rounds || a.count("SELECT count(*) FROM deliveries") != 2*rounds {
			t.Errorf("%d events", len(events))
		}
	})
}

func TestResolveIncident(t *testing.T) {
	t.Parallel()

	t.Run("RepeatedChangesNothing", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		if first := a.resolve(id, vigil.ResolvedAutomatically); !first.Changed {
			t.Error("the first did not change it")
		}
		before := a.incident(id)
		if again := a.resolve(id, vigil.ResolvedManually); again.Changed {
			t.Error("the second says that it did")
		}
		if after := a.incident(id); after.Resolution != before.Resolution || after.Latched || len(a.events()) != 2 {
			t.Errorf("resolved again it is %+v", after)
		}
	})

	t.Run("AcknowledgedOnceAndNeverAfterTheEnd", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		for _, who := range []string{"ada", "bob"} {
			if _, err := a.store.AcknowledgeIncident(t.Context(), vigil.AcknowledgeRequest{ID: id, TextID: a.text(id, who, "")}); err != nil {
				t.Fatal(err)
			}
		}
		if i := a.incident(id); i.AcknowledgedBy != "ada" || i.AcknowledgedAt == nil || len(a.events()) != 2 {
			t.Errorf("incident %+v", i)
		}
		a.resolve(id, vigil.ResolvedAutomatically)
		_, err := a.store.AcknowledgeIncident(t.Context(), vigil.AcknowledgeRequest{ID: id})
		if vigil.ErrorCode(err) != vigil.CodeConflict {
			t.Errorf("after the end it gave %v", err)
		}
	})
}
