// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// pagesLater adds a critical rule that notifies a pager beside the warning that the check has.
func (a *alerts) pagesLater(change func(*vigil.Rule)) (vigil.Rule, vigil.Channel) {
	a.Helper()
	pager, err := a.store.CreateChannel(a.Context(), vigil.Channel{
		OrgID: a.org.ID, Name: "On call", Type: vigil.ChannelPager, Config: json.RawMessage(`{}`), Enabled: true,
	})
	if err != nil {
		a.Fatal(err)
	}
	rule := vigil.Rule{
		OrgID: a.org.ID, CheckID: a.check.ID, Name: "Ten failures", NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion,
		Condition: vigil.Condition{FailureThreshold: 10}, Channels: []uuid.UUID{pager.ID}, Enabled: true, NotifyIfOpen: true,
	}
	change(&rule)
	return a.createRule(rule), pager
}

// warningIsOpen opens an incident of severity warning.
func (a *alerts) warningIsOpen() uuid.UUID {
	a.Helper()
	_, err := a.store.UpdateRule(a.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error {
		r.Condition.Severity = vigil.Warning
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
	return a.open(a.fails(newark)).Incident.ID
}

func (a *alerts) changeRules(request vigil.RulesRequest) vigil.IncidentOutcome {
	a.Helper()
	request.CheckID = a.check.ID
	out, err := a.store.ChangeRules(a.Context(), request)
	if err != nil {
		a.Fatal(err)
	}
	return out
}

func TestRuleThatBeginsInAnOpenIncidentReachesItsChannels(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelChat)
	rule, pager := a.pagesLater(func(*vigil.Rule) {})
	id := a.warningIsOpen()
	request := vigil.RulesRequest{ID: id, Begun: []uuid.UUID{rule.ID}, Votes: []vigil.Vote{a.fails(newark, a.rule.ID, rule.ID)}}
	first := a.changeRules(request)
	again := a.changeRules(request) // as an activity whose answer was lost
	if !slices.Equal(first.Incident.FiringNow(), []uuid.UUID{a.rule.ID, rule.ID}) || len(again.PendingDeliveries) != 2 {
		t.Errorf("outcomes %+v and %+v", first, again)
	}

	incident := a.incident(id)
	if incident.Severity != vigil.Warning || incident.RuleID != a.rule.ID || incident.WorstSeverity() != vigil.Critical {
		t.Errorf("incident %+v, worst %s", incident, incident.WorstSeverity())
	}
	if n := len(incident.Rules); n != 2 || incident.Rules[1].Name != rule.Name || !incident.Rules[0].Opened || incident.Rules[1].Opened {
		t.Errorf("rules %+v", incident.Rules)
	}
	made := a.events()
	if len(made) != 2 || made[1].ID != events.TriggeredID(id, rule.ID, 1) || made[1].Type != vigil.EventTriggered {
		t.Fatalf("events %+v", made)
	}
	var envelope struct {
		Data struct {
			Incident struct {
				ID            uuid.UUID
				Severity      vigil.Severity
				WorstSeverity vigil.Severity `json:"worst_severity"`
				Rules         []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal(made[1].Envelope, &envelope); err != nil {
		t.Fatal(err)
	}
	if got := envelope.Data.Incident; got.ID != id || got.Severity != vigil.Critical || got.WorstSeverity != vigil.Critical ||
		len(got.Rules) != 2 {
		t.Errorf("envelope %s", made[1].Envelope)
	}
	next, err := a.store.ClaimAttempt(t.Context(), id, pager.ID)
	if err != nil || next.State != vigil.NextAttemptReady || next.Severity != vigil.Critical ||
		next.Delivery.EventType != vigil.EventTriggered {
		t.Errorf("the pager gets %+v, %v", next, err)
	}
	a.record(next, "", nil)

	// Those that got the opening later get the end; the rule has fired until then.
	out := a.resolve(id, vigil.ResolvedAutomatically)
	if len(out.PendingDeliveries) != 2 {
		t.Errorf("the end reaches %+v", out.PendingDeliveries)
	}
	next, err = a.store.ClaimAttempt(t.Context(), id, pager.ID)
	if err != nil || next.Severity != vigil.Critical || next.Delivery.EventType != vigil.EventResolved {
		t.Errorf("the pager gets the end of another severity than its opening: %+v, %v", next, err)
	}
	for _, rule := range a.incident(id).Rules {
		if rule.Fires() {
			t.Errorf("%s fires in an incident that is resolved", rule.Name)
		}
	}
}

func TestRuleThatBeginsInAnOpenIncidentSendsNoMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *alerts, r *vigil.Rule){
		"ByDefault":                    func(_ *alerts, r *vigil.Rule) { r.NotifyIfOpen = false },
		"WhenItNotifiesOfTheEndOnly":   func(_ *alerts, r *vigil.Rule) { r.NotifyOn = vigil.NotifyHealthy },
		"WhenItsChannelsHadTheOpening": func(a *alerts, r *vigil.Rule) { r.Channels = a.rule.Channels },
		"WhenItIsDisabledMeanwhile":    func(_ *alerts, r *vigil.Rule) { r.Enabled = false },
		"WhenItsChannelsAreTurnedOff":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelChat)
			rule, pager := a.pagesLater(func(r *vigil.Rule) {
				if change != nil {
					change(a, r)
				}
			})
			if change == nil {
				if _, err := a.store.UpdateChannel(t.Context(), a.org.ID, pager.ID, func(c *vigil.Channel) error {
					c.Enabled = false
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			id := a.warningIsOpen()
			out := a.changeRules(vigil.RulesRequest{
				ID: id, Begun: []uuid.UUID{rule.ID}, Votes: []vigil.Vote{a.fails(newark, a.rule.ID, rule.ID)},
			})
			if len(a.events()) != 1 || len(out.PendingDeliveries) != 1 {
				t.Errorf("%d events, pending %+v", len(a.events()), out.PendingDeliveries)
			}
			if got := len(a.incident(id).Rules); (got == 2) != rule.Enabled {
				t.Errorf("the incident lists %d rules", got)
			}
		})
	}
}

func TestRuleThatBeginsAgainKeepsItsPlace(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelChat)
	rule, _ := a.pagesLater(func(*vigil.Rule) {})
	id := a.warningIsOpen()
	begun := vigil.RulesRequest{ID: id, Begun: []uuid.UUID{rule.ID}}
	a.changeRules(begun)
	a.changeRules(vigil.RulesRequest{ID: id, Ended: []uuid.UUID{rule.ID}})
	if i := a.incident(id); i.Rules[1].Fires() || i.WorstSeverity() != vigil.Critical || i.CurrentSeverity() != vigil.Warning {
		t.Errorf("rules %+v", i.Rules)
	}
	a.changeRules(begun)
	if i := a.incident(id); len(i.Rules) != 2 || !i.Rules[1].Fires() || i.Rules[1].Beginnings != 2 || len(a.events()) != 2 {
		t.Errorf("rules %+v, %d events", i.Rules, len(a.events()))
	}
}

func TestLatchIsStoredWithTheRulesThatItHolds(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyUnhealthy, vigil.ChannelChat)
	rule, _ := a.pagesLater(func(*vigil.Rule) {})
	first := a.warningIsOpen()
	resolve := func(id uuid.UUID, held ...uuid.UUID) {
		_, err := a.store.ResolveIncident(
			t.Context(),
			vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedManually, Latch: true, LatchedRules: held},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	resolve(first, a.rule.ID)
	out, err := a.store.OpenIncident(t.Context(), vigil.OpenRequest{ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{rule.ID}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := a.store.IncidentContext(t.Context(), a.check.ID)
	if err != nil || read.Incident == nil || read.Latch == nil || !slices.Equal(read.Latch.Rules, []uuid.UUID{a.rule.ID}) {
		t.Fatalf("context %+v, %v", read, err)
	}
	resolve(out.Incident.ID, a.rule.ID, rule.ID)
	read, err = a.store.IncidentContext(t.Context(), a.check.ID)
	if err != nil || read.Latch == nil || read.Latch.IncidentID != out.Incident.ID || len(read.Latch.Rules) != 2 {
		t.Errorf("context %+v, %v", read, err)
	}
}
