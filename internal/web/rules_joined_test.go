// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// TestRulesOfAnOpenIncidentAreShown: a rule made in the dashboard begins with notify_if_open,
// and an incident that a warning opened is as severe as what fires in it now.
func TestRulesOfAnOpenIncidentAreShown(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	check, chat, pager := uuid.MustParse(s.check(t, b)), s.channel(t, b), s.channel(t, b)
	rules := "/app/checks/" + check.String() + "/rules"
	b.get(t, http.StatusOK, rules+"/new").shows(t, `name="notify_if_open" value="true" checked`,
		"Notify also when it begins to fire while an incident of the check is open", "one made through the API without notify_if_open does not.")
	form := func(name, severity, channel string, more ...string) url.Values {
		values := url.Values{
			"name": {name}, "when": {"failure_threshold"}, "condition.failure_threshold": {"2"}, "severity": {severity},
			"notify_on": {"both"}, "notification_channel_ids": {channel}, "region_policy": {"any"}, "enabled": {"true"},
		}
		for _, one := range more {
			values.Set(one, "true")
		}
		return values
	}
	b.follow(t, rules, form("Expires", "warning", chat, "notify_if_open"))
	b.follow(t, rules, form("Silent", "info", pager)).shows(t, "Rule Silent is created. notify_if_open: is false", "Expires")
	list := b.follow(t, rules, form("Down", "critical", pager, "notify_if_open"))
	id := func(name string) uuid.UUID {
		return uuid.MustParse(linkOf(t, list.text, rules+`/[0-9a-f-]{36}`, name)[len(rules)+1:])
	}
	expires, down := id("Expires"), id("Down")
	b.get(t, http.StatusOK, rules+"/"+down.String()).
		shows(t, `name="notify_if_open" value="true" checked`, `name="unobserved" value="true" aria-describedby`)
	b.follow(t, rules+"/"+down.String(), form("Down", "critical", pager, "notify_if_open", "unobserved"))
	b.get(t, http.StatusOK, rules+"/"+down.String()).shows(t, `name="unobserved" value="true" checked`)

	vote := vigil.Vote{Region: "na-east-ewr", Revision: 1, Slot: time.Now().Add(-time.Minute), Failures: 2, Firing: []uuid.UUID{expires}}
	opened, err := s.store.OpenIncident(t.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: check, Rules: []uuid.UUID{expires}, Votes: []vigil.Vote{vote}, PublicURL: s.url,
	})
	if err != nil {
		t.Fatal(err)
	}
	incident, home := events.IncidentPage+opened.Incident.ID.String(), "/app/checks/"+check.String()
	b.get(t, http.StatusOK, home).shows(t, `class="banner warn"`)
	vote.Firing = []uuid.UUID{expires, down}
	begun := vigil.RulesRequest{
		ID: opened.Incident.ID, CheckID: check, Begun: []uuid.UUID{down}, Votes: []vigil.Vote{vote}, PublicURL: s.url,
	}
	if _, err := s.store.ChangeRules(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	b.get(t, http.StatusOK, home).shows(t, `class="banner down"`)
	b.get(t, http.StatusOK, incident).shows(t, "Also firing: Down (critical).", "Expires, warning: fires since", "Down, critical: fires since")
	b.get(t, http.StatusOK, "/app/incidents").shows(t, "Critical")
	ended := vigil.RulesRequest{ID: opened.Incident.ID, CheckID: check, Ended: []uuid.UUID{down}}
	if _, err := s.store.ChangeRules(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	b.get(t, http.StatusOK, home).shows(t, `class="banner warn"`)
	b.get(t, http.StatusOK, incident).shows(t, "Down, critical: fired for")
}
