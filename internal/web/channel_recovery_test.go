// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// owed stores a check of the user with an opening that a channel did not get.
func (s *site) owed(t *testing.T, b *browser, email string) (check, channel string) {
	t.Helper()
	id, org := s.statusCheck(t, email, "checkout")
	channel = s.channel(t, b)
	s.create(t, b, "/v1/checks/"+id.String()+"/alerts",
		`{"name":"Down","condition":{"failure_threshold":1},"notification_channel_ids":["`+channel+`"]}`)
	rules, _, err := s.store.CheckRules(t.Context(), org, id, listing.Page{Limit: 10})
	if err != nil || len(rules) != 1 {
		t.Fatalf("rules %v (%v)", rules, err)
	}
	opened, err := s.store.OpenIncident(t.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: id, Rules: []uuid.UUID{rules[0].ID}, PublicURL: s.url,
		Votes: []vigil.Vote{{Region: "eu-central-fra", Revision: 1, Slot: time.Now(), Failures: 1, Firing: []uuid.UUID{rules[0].ID}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.store.ClaimAttempt(t.Context(), opened.Incident.ID, uuid.MustParse(channel))
	if err != nil || next.State != vigil.NextAttemptReady {
		t.Fatalf("claim %+v (%v)", next, err)
	}
	failed := next.Attempt
	failed.ErrorCode = "status"
	if _, err := s.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: failed}); err != nil {
		t.Fatal(err)
	}
	return id.String(), channel
}

// TestSendAgainToAChannel begins a recovery by the form, with mistakes first, looks at its progress and
// cancels it.
func TestSendAgainToAChannel(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, channel := s.owed(t, b, email)
	path := "/app/channels/" + channel
	b.get(t, http.StatusOK, path).shows(t, path+"/recover", "Send again what did not arrive")
	b.get(t, http.StatusOK, path+"/recover").shows(t, `name="since"`, `name="statuses.exhausted" value="true" checked`)
	at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format("2006-01-02T15:04") }
	b.post(t, http.StatusUnprocessableEntity, path+"/recover", url.Values{"since": {"soon"}, "statuses.exhausted": {"true"}}).
		shows(t, "Nothing is sent yet.", `id="f-since-error"`)
	b.post(t, http.StatusUnprocessableEntity, path+"/recover", url.Values{"since": {at(time.Hour)}, "statuses.exhausted": {"true"}}).
		shows(t, `id="f-since-error"`)
	b.post(t, http.StatusUnprocessableEntity, path+"/recover", url.Values{"since": {at(-time.Hour)}}).
		shows(t, "Nothing is sent yet.", "Which messages")
	b.follow(t, path+"/recover", url.Values{"since": {at(-time.Hour)}, "statuses.superseded": {"true"}}).
		shows(t, "There was nothing to send again in this time")

	begun := b.follow(t, path+"/recover", url.Values{"since": {at(-time.Hour)}, "statuses.exhausted": {"true"}})
	begun.shows(t, "Running, 0 of 1 message", `hx-trigger="every 2s"`, "Cancel the rest")
	recovery := regexp.MustCompile(path + `/recoveries/[0-9a-f-]{36}`).FindString(begun.text)
	b.follow(t, path+"/recover", url.Values{"since": {at(-time.Hour)}, "statuses.exhausted": {"true"}}).
		shows(t, "This recovery runs already", recovery)
	b.get(t, http.StatusOK, path).shows(t, `href="`+recovery+`"`, "0 of 1 arrived")
	ended := b.follow(t, recovery+"/cancel", url.Values{})
	ended.shows(t, "Canceled, 0 of 1 message", "Ended")
	if strings.Contains(ended.text, "hx-trigger") {
		t.Error("a recovery that has ended asks for itself")
	}
	stranger, _ := s.signUp(t)
	for _, of := range []string{path + "/recover", recovery} {
		stranger.get(t, http.StatusNotFound, of)
	}
	stranger.post(t, http.StatusNotFound, recovery+"/cancel", url.Values{})
	b.get(t, http.StatusNotFound, path+"/recoveries/"+uuid.NewString())

	// The page of the check says who receives its events, and why.
	s.create(t, b, "/v1/subscriptions", `{"name":"All of it","channel_id":"`+channel+`","events":["incident.*"]}`)
	b.get(t, http.StatusOK, "/app/checks/"+check).
		shows(t, "Who receives what", path, "acknowledgements", ">Down</a>", ">All of it</a>")
	other, _ := s.statusCheck(t, email, "alone")
	b.follow(t, path+"/enabled", url.Values{"enabled": {"false"}})
	b.get(t, http.StatusOK, "/app/checks/"+other.String()).shows(t, "Disabled: it receives nothing")
}
