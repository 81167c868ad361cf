// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/api"
)

func TestAuditLog(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	a := b.signupWithPassword(t, "an older password")
	id := text(a.check(t), "id")
	a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+id, map[string]any{"name": "secret plan", "enabled": false},
		"X-Forwarded-For", "203.0.113.9, 198.51.100.7", "User-Agent", "curl/8", "X-Request-Id", "r-1")
	a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/checks/"+id, map[string]any{"name": ""})
	key := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "k"}).data(t)
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+text(key, "id"), nil)
	a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/password",
		map[string]any{"current_password": "an older password", "new_password": "a first password"})
	login := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", map[string]any{"email": a.email, "password": "a first password"}).
		data(t)
	a.as(text(login, "token")).want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+id, nil)

	r := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil)
	actions := make(map[string]map[string]any)
	var order []string
	for _, row := range r.rows(t) {
		if row["action"] != "api_key.create" || row["resource_id"] == key["id"] {
			actions[text(row, "action")] = row
		}
		order = append(order, text(row, "action"))
	}
	want := []string{
		"account.login",
		"account.password_change",
		"account.signup",
		"api_key.create",
		"api_key.delete",
		"check.create",
		"check.delete",
		"check.update",
	}
	if len(order) != len(want)+1 { // two keys were made
		t.Fatalf("actions %v, want %v", order, want)
	}
	for _, action := range want {
		if actions[action] == nil {
			t.Errorf("no %s in %v", action, order)
		}
	}
	updated := actions["check.update"]
	if updated["resource_id"] != id || updated["user_id"] != a.user.String() || updated["key_prefix"] != a.key[:12] ||
		updated["api_key_id"] == nil ||
		updated["address"] != "198.51.100.7" || updated["user_agent"] != "curl/8" ||
		updated["request_id"] != "r-1" {
		t.Errorf("update %v", updated)
	}
	if members, _ := updated["members"].([]any); len(members) != 2 || members[0] != "enabled" || members[1] != "name" {
		t.Errorf("members %v", updated["members"])
	}
	if created := actions["api_key.create"]; created["resource_id"] != key["id"] {
		t.Errorf("key %v", created)
	}
	if deleted := actions["check.delete"]; deleted["api_key_id"] != nil || deleted["key_prefix"] != nil || deleted["resource_id"] != id {
		t.Errorf("delete by session %v", deleted)
	}
	for action, members := range map[string]string{
		"account.signup": `["email","name","organization_name","password"]`,
		"check.create":   `["config","interval_seconds","name","type"]`, "check.delete": `[]`,
		"api_key.create": `["name"]`, "account.login": `["email","password"]`, "account.password_change": `["current_password","new_password"]`,
	} {
		if got := encoded(t, actions[action]["members"]); got != members {
			t.Errorf("%s gave %s, want %s", action, got, members)
		}
	}
	for _, secret := range []string{"secret plan", "a first password", "an older password", a.key, "https://example.com"} {
		if bytes.Contains(r.raw, []byte(secret)) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if other := b.signup(t); len(other.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t)) != 1 {
		t.Error("another organization sees more than its own sign-up")
	}
}

// TestForwardedAddressesAreNotTrusted holds that only trusted proxies say where a
// request came from.
func TestForwardedAddressesAreNotTrusted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), "X-Forwarded-For", "203.0.113.9")
	row := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?limit=1", nil).rows(t)[0]
	if address := text(row, "address"); !strings.HasPrefix(address, "127.") && address != "::1" {
		t.Errorf("address %s", address)
	}
}

func TestAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	id := text(a.check(t), "id")
	a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+id, map[string]any{"name": "another"})
	other := text(a.check(t), "id")
	for query, want := range map[string]int{
		"?resource=check": 3, "?resource=check&resource_id=" + id: 2, "?resource_id=" + other: 1, "?resource=rule": 0,
		"?resource=check&user_id=" + a.user.String(): 3, "?user_id=" + id: 0,
	} {
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log"+query, nil).rows(t); len(rows) != want {
			t.Errorf("%s: %d entries, want %d", query, len(rows), want)
		}
	}
	for query, member := range map[string]string{"?resource_id=x": "resource_id", "?user_id=x": "user_id"} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/audit-log"+query, nil); r.detail("member") != member {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
}
