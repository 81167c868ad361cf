// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// check creates a check through the API, as the user of the browser, and returns its id.
func (s *site) check(t *testing.T, b *browser) string {
	t.Helper()
	return s.create(t, b, "/v1/checks", `{"name":"Shop","type":"https","interval_seconds":60,"regions":["eu-central-fra","na-east-ewr"],
		"config":{"url":"https://127.0.0.1:1/"}}`)
}

// channel creates a webhook.
func (s *site) channel(t *testing.T, b *browser) string {
	t.Helper()
	return s.create(t, b, "/v1/notification-channels", `{"name":"Hook","type":"webhook","config":{"url":"http://127.0.0.1:1/"}}`)
}

// create makes a resource with a key of the browser's user.
func (s *site) create(tb testing.TB, b *browser, path, body string) string {
	tb.Helper()
	made := b.post(tb, http.StatusCreated, "/app/api-keys", url.Values{"name": {"fixture"}, "scopes": {"read", "write", "respond", "admin"}})
	at := strings.Index(made.text, "vgl_")
	answer := b.send(tb, http.StatusCreated, http.MethodPost, path, strings.NewReader(body),
		"Authorization", "Bearer "+keyAt(made.text, at), "Content-Type", "application/json")
	var out struct {
		Data struct{ ID string } `json:"data"`
	}
	if err := json.Unmarshal([]byte(answer.text), &out); err != nil {
		tb.Fatal(err)
	}
	return out.Data.ID
}

func keyAt(text string, at int) string { return text[at : at+42] }

// TestIncidentPageShowsWhatHappened opens an incident as its workflow does, and reads its page.
func TestIncidentPageShowsWhatHappened(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, channel := uuid.MustParse(s.check(t, b)), uuid.MustParse(s.channel(t, b))
	rules := "/app/checks/" + check.String() + "/rules"
	list := b.follow(t, rules, url.Values{
		"name": {"Down"}, "when": {"failure_threshold"}, "condition.failure_threshold": {"2"}, "severity": {"critical"}, "notify_on": {"both"},
		"notification_channel_ids": {channel.String()}, "region_policy": {"any"}, "enabled": {"true"},
	})
	rule := uuid.MustParse(linkOf(t, list.text, rules+`/[0-9a-f-]{36}`, "Down")[len(rules)+1:])
	vote := vigil.Vote{Region: "na-east-ewr", Revision: 1, Slot: time.Now().Add(-time.Minute), Failures: 2, Firing: []uuid.UUID{rule}}
	opened, err := s.store.OpenIncident(t.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: check, Rules: []uuid.UUID{rule}, Votes: []vigil.Vote{vote}, PublicURL: s.url,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := events.IncidentPage + opened.Incident.ID.String()
	page := b.get(t, http.StatusOK, path)
	page.shows(t, "Shop is failing", "Incident triggered", "critical", "Acknowledge", "Resolve…", ">Down</a>", "none of 1 channel yet")
	b.get(t, http.StatusOK, "/app/incidents").shows(t, "Shop is failing", "unacknowledged")
	// How long it lasts grows while the page of its check is open.
	_, total, _ := strings.Cut(b.get(t, http.StatusOK, "/app/checks/"+check.String()).text, `id="check-days"`)
	total, _, _ = strings.Cut(total, "</header>")
	if !strings.Contains(total, "1 incident · ") || !strings.Contains(total, `data-age="length">`) {
		t.Errorf("the sum of the incidents is %s", total)
	}
	b.get(t, http.StatusOK, path+"/resolve").shows(t, "Resolve “Shop is failing”")
	b.get(t, http.StatusOK, path+"?show=vote").shows(t, "Incident triggered")

	// Without Temporal the incident cannot change; the page says so and shows what it has.
	b.follow(t, path+"/acknowledge", url.Values{}).shows(t, "Shop is failing", `class="toast"`)

	deliveries := b.get(t, http.StatusOK, "/app/deliveries")
	deliveries.shows(t, "Shop is failing", "Hook", "opened")
	delivery := linkOf(t, deliveries.text, `/app/deliveries/[0-9a-f-]{36}`, "Shop is failing")
	b.get(t, http.StatusOK, delivery).shows(t, "Shop is failing → Hook", "The first message of", "incident.triggered", "Pending",
		"&#34;type&#34;: &#34;incident.triggered&#34;")

	other, _ := s.signUp(t)
	other.get(t, http.StatusNotFound, path)
	other.get(t, http.StatusNotFound, delivery)

	// The link of a message leads somebody who is not signed in there as well.
	phone := s.browser(t)
	signIn := phone.get(t, http.StatusSeeOther, path).location
	phone.get(t, http.StatusOK, signIn).shows(t, `name="next" value="`+path+`"`)
	form := url.Values{"email": {email}, "password": {password}, "next": {path}}
	if to := phone.post(t, http.StatusSeeOther, "/app/sign-in", form).location; to != path {
		t.Fatalf("the sign-in leads to %s", to)
	}
	phone.get(t, http.StatusOK, path).shows(t, "Shop is failing")
}
