// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// deploys is a section with one window, which refers to checks of the document.
func deploys(changes ...func(doc)) func(doc) {
	window := doc{
		"name": "Deploys", "scope": doc{"checks": []any{"home", "api"}, "labels": []any{"team=shop", "a=b"}}, "starts_at": "2099-12-01T22:00",
		"timezone": "Europe/Berlin", "duration": "30m", "rrule": "FREQ=WEEKLY;BYDAY=TU",
	}
	for _, change := range changes {
		change(window)
	}
	return at("maintenance", doc{"deploys": window})
}

func TestApplyMaintenance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.apply(t, http.StatusOK, shop(deploys()))
	if got := actions(t, made)["maintenance deploys"]; got != "create" {
		t.Fatalf("made %s", made.raw)
	}
	window := a.want(t, http.StatusOK, http.MethodGet, windows+"?tool=apply&project=shop&key=deploys", nil).rows(t)[0]
	path := windows + "/" + text(window, "id")
	if window["state"] != "upcoming" || window["checks_covered"] != 2.0 || window["duration_seconds"] != 1800.0 {
		t.Errorf("stored %v", window)
	}
	if again := a.apply(t, http.StatusOK, shop(deploys())); len(actions(t, again)) != 0 {
		t.Errorf("a second time: %s", again.raw)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"probing": "pause"})
	if restored := a.apply(t, http.StatusOK, shop(deploys())); actions(t, restored)["maintenance deploys"] != "restore" {
		t.Errorf("after a change by hand: %s", restored.raw)
	}
	changed := a.apply(
		t,
		http.StatusOK,
		shop(deploys(at("scope", doc{"all": false, "labels": []any{"team=shop"}}), at("until", "2100-01-01T00:00"))),
	)
	if actions(t, changed)["maintenance deploys"] != "change" || !strings.Contains(string(changed.raw), `"path":"until"`) {
		t.Errorf("changed %s", changed.raw)
	}
	for wrong, member := range map[string]func(doc){
		"maintenance.deploys.scope.checks[0]": at("scope", doc{"checks": []any{"nowhere"}}),
		"maintenance.deploys.rrule":           at("rrule", "FREQ=HOURLY"),
		"maintenance.deploys.duration":        at("duration", "half an hour"),
		"maintenance.deploys.next":            at("next", []any{}),
	} {
		refused := a.apply(t, http.StatusBadRequest, shop(deploys(member)))
		if !strings.Contains(string(refused.raw), `"path":"`+wrong+`"`) {
			t.Errorf("%s: %s", wrong, refused.raw)
		}
	}
	without := a.apply(t, http.StatusOK, shop(), func(body map[string]any) { body["missing"] = "delete" })
	if actions(t, without)["maintenance deploys"] != "delete" {
		t.Errorf("without it: %s", without.raw)
	}
	a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	if third := a.apply(t, http.StatusOK, shop(deploys())); actions(t, third)["maintenance deploys"] != "create" {
		t.Errorf("the key is not free: %s", third.raw)
	}
}
