// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"
	"time"
)

// TestCheckShowsItsMaintenance has a check in two windows, one of which pauses probing.
func TestCheckShowsItsMaintenance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, outside := a.check(t), a.check(t)
	path := "/v1/checks/" + text(check, "id")
	if m, known := check["maintenance"]; m != nil || !known {
		t.Errorf("a new check: %v", check)
	}
	plan := func(name, probing string, length time.Duration) string {
		t.Helper()
		body := windowOf(text(check, "id"))
		body["name"], body["probing"], body["starts_at"], body["duration_seconds"] = name, probing, localTime(-time.Hour), length.Seconds()
		return text(a.want(t, http.StatusCreated, http.MethodPost, windows, body).data(t), "id")
	}
	short, long := plan("short", "pause", 2*time.Hour), plan("long", "continue", 3*time.Hour)
	shown := func(answer map[string]any, id, name, probing string) {
		t.Helper()
		m, _ := answer["maintenance"].(map[string]any)
		until, err := time.Parse(time.RFC3339, text(m, "until"))
		if err != nil || text(m, "id") != id || text(m, "name") != name || text(m, "probing") != probing || !until.After(time.Now()) {
			t.Errorf("maintenance %v, want %s, %s", m, name, probing)
		}
	}
	shown(a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), long, "long", "pause")
	shown(a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "other"}).data(t), long, "long", "pause")
	for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t) {
		if text(row, "id") == text(outside, "id") {
			if row["maintenance"] != nil {
				t.Errorf("a check that no window covers: %v", row["maintenance"])
			}
			continue
		}
		shown(row, long, "long", "pause")
	}
	a.want(t, http.StatusOK, http.MethodPost, windows+"/"+short+"/end", nil)
	shown(a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), long, "long", "continue")
	a.want(t, http.StatusNoContent, http.MethodDelete, windows+"/"+long, nil)
	if m := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)["maintenance"]; m != nil {
		t.Errorf("after both have ended: %v", m)
	}
}
