// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestDeliveryMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	e.open(t)
	delivery := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries", nil).rows(t)[0]
	path := "/v1/deliveries/" + text(delivery, "id") + "/message"

	got := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	payload, _ := got["payload"].(map[string]any)
	if got["event_id"] != delivery["event_id"] || got["event_type"] != "incident.triggered" || payload["id"] != delivery["event_id"] ||
		payload["type"] != "incident.triggered" || text(got, "title") == "" || text(got, "body") == "" || text(got, "time") == "" {
		t.Errorf("message %v", got)
	}

	stranger := b.signup(t)
	if r := stranger.want(t, http.StatusNotFound, http.MethodGet, path, nil); r.problem() != "delivery not found" {
		t.Errorf("another organization reads %s", r.raw)
	}

	if _, err := b.store.DB().NewRaw("DELETE FROM events").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := a.want(t, http.StatusNotFound, http.MethodGet, path, nil); !strings.Contains(r.problem(), "no longer kept") {
		t.Errorf("after its event was deleted: %s", r.raw)
	}
}

func TestDeliveryShowsWhatItIsAboutAndItsSchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	e.open(t)
	title := text(a.want(t, http.StatusOK, http.MethodGet, "/v1/incidents", nil).rows(t)[0], "title")

	listed := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries", nil).rows(t)[0]
	if listed["incident_title"] != title || listed["retry_waits_seconds"] != nil {
		t.Errorf("in the list: %v", listed)
	}
	got := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries/"+text(listed, "id"), nil).data(t)
	waits, _ := got["retry_waits_seconds"].([]any)
	if got["incident_title"] != title || len(waits) != 11 || waits[0] != 5.0 || waits[10] != 86400.0 {
		t.Errorf("alone: %v", got)
	}
}

// TestDeliveryShowsItsRecipients holds that a single delivery says what became of a mail for each
// recipient, and an attempt how many it reached.
func TestDeliveryShowsItsRecipients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	e.open(t)
	listed := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries", nil).rows(t)[0]
	id := text(listed, "id")
	for _, sql := range []string{
		`INSERT INTO delivery_recipients (delivery_id, address, spelling, status, attempts, status_code, error_code, error, attempted_at)
			VALUES (?, 'ada@example.com', 'Ada@example.com', 'failed', 2, 451, 'rejected', 'try later', now())`,
		`INSERT INTO attempts (id, delivery_id, channel_id, number, started_at, finished_at, manual, recipients, reached)
			VALUES (gen_random_uuid(), ?, gen_random_uuid(), 1, now(), now(), false, 8, 3)`,
	} {
		if _, err := b.store.DB().NewRaw(sql, id).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries/"+id, nil).data(t)
	recipients, _ := got["recipients"].([]any)
	one, _ := recipients[0].(map[string]any)
	if listed["recipients"] != nil || len(recipients) != 1 || one["email"] != "Ada@example.com" || one["status"] != "failed" ||
		one["attempts"] != 2.0 || one["status_code"] != 451.0 || one["error"] != "try later" || one["delivered_at"] != nil {
		t.Errorf("recipients %v", recipients)
	}
	attempt := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries/"+id+"/attempts", nil).rows(t)[0]
	if attempt["recipients"] != 8.0 || attempt["recipients_reached"] != 3.0 {
		t.Errorf("attempt %v", attempt)
	}
}
