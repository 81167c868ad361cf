// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// exhausted lets the opening of a new incident fail for good, and returns its channel.
func (b *testServer) exhausted(t *testing.T, a person) (channel uuid.UUID) {
	t.Helper()
	e := b.episode(t, a)
	incident := e.open(t)
	next, err := b.store.ClaimAttempt(t.Context(), incident, e.channel)
	if err != nil || next.State != vigil.NextAttemptReady {
		t.Fatalf("claim %+v (%v)", next, err)
	}
	failed := next.Attempt
	failed.ErrorCode = "status"
	if _, err := b.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: failed}); err != nil {
		t.Fatal(err)
	}
	return e.channel
}

func TestRecoverChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path := "/v1/notification-channels/" + b.exhausted(t, a).String()
	since := map[string]any{"since": "2026-03-01T00:00:00Z", "until": "2026-04-01T00:00:00Z"}
	for member, body := range map[string]map[string]any{
		"since":          {"since": "2027-03-01T00:00:00Z"},
		"until":          {"since": "2026-03-01T00:00:00Z", "until": "soon"},
		"statuses":       {"since": "2026-03-01T00:00:00Z", "statuses": []string{}},
		"statuses[0]":    {"since": "2026-03-01T00:00:00Z", "statuses": []string{"delivered"}},
		"event_types":    {"since": "2026-03-01T00:00:00Z", "event_types": []string{}},
		"event_types[0]": {"since": "2026-03-01T00:00:00Z", "event_types": []string{"incident.forgotten"}},
	} {
		got := a.want(t, http.StatusBadRequest, http.MethodPost, path+"/recover", body)
		if got.detail("member") != member {
			t.Errorf("%v: %s", body, got.raw)
		}
	}
	a.want(t, http.StatusBadRequest, http.MethodPost, path+"/recover", map[string]any{})

	// A request that is repeated with its key is one recovery.
	begun := a.want(t, http.StatusAccepted, http.MethodPost, path+"/recover", since, keyHeader, "one").data(t)
	again := a.want(t, http.StatusAccepted, http.MethodPost, path+"/recover", since, keyHeader, "one").data(t)
	if begun["state"] != "running" || begun["total"] != 1.0 || begun["finished_at"] != nil || encoded(t, begun) != encoded(t, again) ||
		encoded(t, begun["statuses"]) != `["exhausted"]` || encoded(t, begun["event_types"]) != "[]" {
		t.Errorf("begun %v, again %v", begun, again)
	}
	id := parseUUID(t, text(begun, "id"))
	b.incidents.mu.Lock()
	started := slices.Clone(b.incidents.recovered)
	b.incidents.mu.Unlock()
	if !slices.Equal(started, []uuid.UUID{id}) {
		t.Errorf("the workflows of %v were started", started)
	}
	second := a.want(t, http.StatusConflict, http.MethodPost, path+"/recover", since)
	if second.detail("recovery_id") != id.String() {
		t.Errorf("a second recovery: %s", second.raw)
	}
	one := path + "/recoveries/" + id.String()
	if shown := a.want(t, http.StatusOK, http.MethodGet, one, nil).data(t); encoded(t, shown) != encoded(t, begun) {
		t.Errorf("shown %v", shown)
	}
	for range 2 {
		canceled := a.want(t, http.StatusOK, http.MethodPost, one+"/cancel", nil).data(t)
		if canceled["state"] != "canceled" || canceled["finished_at"] == nil {
			t.Errorf("canceled %v", canceled)
		}
	}
	all := a.want(t, http.StatusOK, http.MethodGet, path+"/recoveries", nil).rows(t)
	if len(all) != 1 || all[0]["id"] != id.String() || all[0]["state"] != "canceled" {
		t.Errorf("the list has %v", all)
	}
	stranger := b.signup(t)
	stranger.want(t, http.StatusNotFound, http.MethodGet, path+"/recoveries", nil)
	a.want(t, http.StatusNotFound, http.MethodGet, path+"/recoveries/"+uuid.NewString(), nil)
	other := "/v1/notification-channels/" + text(a.channel(t), "id")
	a.want(t, http.StatusNotFound, http.MethodGet, other+"/recoveries/"+id.String(), nil)
	none := a.want(t, http.StatusAccepted, http.MethodPost, other+"/recover", since).data(t)
	if none["state"] != "done" || none["total"] != 0.0 {
		t.Errorf("without deliveries: %v", none)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
	a.want(t, http.StatusConflict, http.MethodPost, path+"/recover", since)
}
