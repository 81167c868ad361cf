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
