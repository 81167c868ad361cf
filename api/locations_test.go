// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

const locationsPath = "/v1/locations"

// TestLocations makes, reads, changes and deletes locations.
func TestLocations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	a = b.tier(t, a, account.TierEnterprise)
	body := map[string]any{"name": "Büro Office 2", "labels": map[string]string{"site": "ber"}}
	answer := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, body, "Idempotency-Key", "location")
	made := answer.data(t)
	token := text(made, "token")
	if made["key"] != "loc-b-ro-office-2" || !strings.HasPrefix(token, text(made, "token_prefix")) || made["state"] != "never" ||
		made["silent_since"] != nil || made["checks"] != 0.0 || made["revision"] != 1.0 {
		t.Errorf("%s", answer.raw)
	}
	again := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, body, "Idempotency-Key", "location").data(t)
	if again["id"] != made["id"] || again["token"] != "" {
		t.Errorf("the request repeated: %v", again)
	}
	id := locationsPath + "/" + text(made, "id")
	shown := a.want(t, http.StatusOK, http.MethodGet, id, nil)
	if strings.Contains(string(shown.raw), token) || shown.data(t)["token"] != nil {
		t.Errorf("the token is shown again: %s", shown.raw)
	}
	taken := a.want(t, http.StatusConflict, http.MethodPost, locationsPath, map[string]any{"name": "Other", "key": made["key"]})
	if taken.detail("suggested_key") != "loc-b-ro-office-2-2" {
		t.Errorf("a key that is taken: %s", taken.raw)
	}
	renamed := a.want(t, http.StatusOK, http.MethodPut, id, map[string]any{"name": "Office", "key": made["key"]}, "If-Match", `"1"`).data(t)
	if renamed["name"] != "Office" || renamed["revision"] != 2.0 || renamed["key"] != made["key"] {
		t.Errorf("%v", renamed)
	}
	a.want(t, http.StatusPreconditionFailed, http.MethodPut, id, map[string]any{"name": "x"}, "If-Match", `"1"`)
	rotated := a.want(t, http.StatusOK, http.MethodPost, id+"/rotate-token", nil).data(t)
	if rotated["token"] == token || !strings.HasPrefix(text(rotated, "token"), "vga_") || rotated["revision"] != 3.0 {
		t.Errorf("%v", rotated)
	}
	for _, query := range []string{"", "?label=site%3Dber", "?query=OFF"} {
		if rows := a.want(t, http.StatusOK, http.MethodGet, locationsPath+query, nil).rows(t); len(rows) != 1 {
			t.Errorf("%q lists %v", query, rows)
		}
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, locationsPath+"?label=site%3Dpar", nil).rows(t); len(rows) != 0 {
		t.Errorf("another label lists %v", rows)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, id, nil)
	a.want(t, http.StatusNotFound, http.MethodGet, id, nil)
}

// TestLocationInput names what cannot be.
func TestLocationInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, map[string]any{"name": "Office"}).data(t)
	for member, body := range map[string]map[string]any{
		"name":     {"name": " "},
		"key":      {"name": "東京"},
		"key#":     {"name": "Office", "key": "office"},
		"key##":    {"name": "Office", "key": "loc-Office"},
		"key###":   {"name": "Office", "key": "loc-" + strings.Repeat("a", 41)},
		"labels.A": {"name": "Office", "labels": map[string]string{"A": "b"}},
	} {
		got := a.want(t, http.StatusBadRequest, http.MethodPost, locationsPath, body)
		if said := fmt.Sprint(got.detail("member")); !strings.HasPrefix(strings.TrimRight(member, "#"), strings.Split(said, ".")[0]) {
			t.Errorf("%s: %s", member, got.raw)
		}
	}
	a.want(t, http.StatusForbidden, http.MethodPost, locationsPath, map[string]any{"name": "Lab"}) // the free tier has one
	id := locationsPath + "/" + text(made, "id")
	if got := a.want(t, http.StatusBadRequest, http.MethodPut, id, map[string]any{"key": "loc-lab"}); got.detail("member") != "key" {
		t.Errorf("another key: %s", got.raw)
	}
	if got := a.want(t, http.StatusOK, http.MethodPut, id, made); got.data(t)["revision"] != 1.0 {
		t.Errorf("what was shown is written back: %s", got.raw)
	}
}

// TestLocationRights proves that locations are of their organization, and that their tokens are for those who administer it.
func TestLocationRights(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, stranger := b.signup(t), b.signup(t)
	id := locationsPath + "/" + text(
		a.want(t, http.StatusCreated, http.MethodPost, locationsPath, map[string]any{"name": "Office"}).data(t),
		"id",
	)
	for _, one := range []struct{ method, path string }{
		{http.MethodGet, id},
		{http.MethodPut, id},
		{http.MethodDelete, id},
		{http.MethodPost, id + "/rotate-token"},
		{http.MethodGet, locationsPath + "/" + uuid.NewString()},
	} {
		var body any
		if one.method == http.MethodPut {
			body = map[string]any{"name": "Mine"}
		}
		stranger.want(t, http.StatusNotFound, one.method, one.path, body)
	}
	if rows := stranger.want(t, http.StatusOK, http.MethodGet, locationsPath, nil).rows(t); len(rows) != 0 {
		t.Errorf("a stranger sees %v", rows)
	}
}

// TestLocationInRegions names a location wherever regions are named.
func TestLocationInRegions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, stranger := b.signup(t), b.signup(t)
	made := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, map[string]any{"name": "Office"}).data(t)
	check := map[string]any{
		"name": "Home page", "type": "https", "interval_seconds": 60, "regions": []string{"loc-office"},
		"config": map[string]any{"url": "https://example.com/"},
	}
	created := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", check)
	one := created.data(t)
	if warnings := fmt.Sprint(one["warnings"]); !strings.Contains(warnings, "no agent reports from loc-office") {
		t.Errorf("warnings %s", warnings)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?region=loc-office", nil).rows(t); len(rows) != 1 {
		t.Errorf("the region lists %v", rows)
	}
	for _, got := range []answer{
		stranger.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", check),
		a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/checks/"+text(one, "id"), map[string]any{"regions": []string{"loc-lab"}}),
		a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks/bulk", map[string]any{
			"ids": []string{text(one, "id")}, "action": "set", "members": map[string]any{"regions": []string{"loc-lab"}},
		}),
	} {
		if !strings.HasSuffix(fmt.Sprint(got.detail("member")), "regions[0]") {
			t.Errorf("%s", got.raw)
		}
	}
	unknown := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks?region=nowhere", nil)
	if keys, ok := unknown.detail("valid_regions").([]any); !ok || !slices.Contains(keys, any("loc-office")) || len(keys) != 34 {
		t.Errorf("the valid regions are %v", keys)
	}
	a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(one, "id")+"/results?region=loc-office", nil)
	refused := a.want(t, http.StatusConflict, http.MethodDelete, locationsPath+"/"+text(made, "id"), nil)
	if refused.detail("checks") != 1.0 || !strings.Contains(string(refused.raw), "Home page") {
		t.Errorf("delete a location that is named: %s", refused.raw)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+text(one, "id"), nil)
	a.want(t, http.StatusNoContent, http.MethodDelete, locationsPath+"/"+text(made, "id"), nil)
}

// TestLocationTokenIsASecret proves that those who administer the organization alone make tokens, and that a token is shown once.
func TestLocationTokenIsASecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	body := map[string]any{"name": "Office"}
	reader, writer := a.keyWith(t, account.ScopeRead), a.keyWith(t, account.ScopeRead, account.ScopeWrite)
	for _, c := range []*client{reader, writer} {
		c.want(t, http.StatusForbidden, http.MethodPost, locationsPath, body)
	}
	a.as("").want(t, http.StatusUnauthorized, http.MethodPost, locationsPath, body)
	a.want(t, http.StatusRequestEntityTooLarge, http.MethodPost, locationsPath, `{"name":"`+strings.Repeat("x", 1<<20)+`"}`)
	made := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, body, "Idempotency-Key", "once").data(t)
	token, id := text(made, "token"), locationsPath+"/"+text(made, "id")
	for _, c := range []*client{reader, writer} {
		c.want(t, http.StatusForbidden, http.MethodPost, id+"/rotate-token", nil)
		c.want(t, http.StatusForbidden, http.MethodDelete, id, nil)
	}
	reader.want(t, http.StatusForbidden, http.MethodPut, id, map[string]any{"name": "Lab"})
	writer.want(t, http.StatusOK, http.MethodPut, id, map[string]any{"name": "Lab"})
	a.as("").want(t, http.StatusUnauthorized, http.MethodPost, id+"/rotate-token", nil)
	a.as(token).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil)
	for _, path := range []string{locationsPath, id, "/v1/audit-log?limit=100"} {
		if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); strings.Contains(string(got.raw), token) {
			t.Errorf("%s shows the token: %s", path, got.raw)
		}
	}
	for _, table := range []string{"locations", "idempotency_keys", "audit_log"} {
		var rows int
		err := b.store.DB().NewRaw("SELECT count(*) FROM "+table+" AS r WHERE r::text LIKE ?", "%"+token+"%").Scan(t.Context(), &rows)
		if err != nil || rows != 0 {
			t.Errorf("%d rows of %s have the token, %v", rows, table, err)
		}
	}
	if logged := a.want(
		t,
		http.StatusOK,
		http.MethodGet,
		"/v1/audit-log?limit=100",
		nil,
	); !strings.Contains(
		string(logged.raw),
		"location.create",
	) {
		t.Errorf("the audit log does not say who made the location: %s", logged.raw)
	}
}

// TestLocationInFiles proves that a file names a location as it names a region, and that an export writes it.
func TestLocationInFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	refused := a.apply(t, http.StatusBadRequest, shop(at("checks.home.regions", []any{"loc-office"})))
	if !strings.Contains(string(refused.raw), "checks.home.regions[0]") {
		t.Errorf("a location that is not there: %s", refused.raw)
	}
	a.want(t, http.StatusCreated, http.MethodPost, locationsPath, map[string]any{"name": "Office"})
	document := shop(at("checks.home.regions", []any{"loc-office"}))
	applied := a.apply(t, http.StatusOK, document)
	if did := actions(t, applied); did["check home"] != "create" {
		t.Errorf("%v", did)
	}
	if again := actions(t, a.apply(t, http.StatusOK, document)); len(again) != 0 {
		t.Errorf("applied again it does %v", again)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?region=loc-office", nil).rows(t); len(rows) != 1 {
		t.Errorf("the region lists %v", rows)
	}
}
