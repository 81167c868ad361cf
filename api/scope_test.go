// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

// keyWith returns a client with a new key of these scopes.
func (a person) keyWith(t *testing.T, scopes ...account.Scope) *client {
	t.Helper()
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "scoped", "scopes": scopes}).data(t)
	return a.as(text(made, "api_key"))
}

// TestScopes calls every operation with a key that has the scope of the OpenAPI document
// alone, and with one that has all the others.
func TestScopes(t *testing.T) {
	t.Parallel()
	doc := document(t)
	a := setup(t).signup(t)
	only, without := map[account.Scope]*client{}, map[account.Scope]*client{}
	for _, scope := range account.Scopes() {
		only[scope] = a.keyWith(t, scope)
		without[scope] = a.keyWith(t, slices.DeleteFunc(account.Scopes(), func(s account.Scope) bool { return s == scope })...)
	}
	parameter := regexp.MustCompile(`{\w+}`)
	counted := map[account.Scope]int{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if ofAgents(path) {
				continue
			}
			name, _ := op.Extensions["x-required-scope"].(string)
			scope := account.Scope(name)
			if open := op.Security != nil && len(*op.Security) == 0; open || op.OperationID == "get-me" {
				if scope != "" {
					t.Errorf("%s %s needs the scope %q", method, path, scope)
				}
				continue
			}
			counted[scope]++
			at := parameter.ReplaceAllString(path, uuid.NewString())
			refused := without[scope].want(t, http.StatusForbidden, method, at, nil)
			if refused.detail("required") != name || refused.detail("scopes") == nil {
				t.Errorf("%s %s without the scope: %s", method, path, refused.raw)
			}
			if op.OperationID == "stream-alerts" || op.OperationID == "change-password" {
				continue // one does not end, the other needs a body for its own answer
			}
			if got := only[scope].do(t, method, at, nil); got.status == http.StatusForbidden || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s with the scope %s: %d %s", method, path, scope, got.status, got.raw)
			}
		}
	}
	for _, scope := range account.Scopes() {
		if counted[scope] == 0 {
			t.Errorf("no operation needs the scope %s", scope)
		}
	}
}

func TestKeyScopes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	create := func(t *testing.T, c *client, status int, body map[string]any) answer {
		t.Helper()
		body["name"] = "k"
		return c.want(t, status, http.MethodPost, "/v1/api-keys", body)
	}

	t.Run("AKeyHasAllScopesAndNoEndByDefault", func(t *testing.T) {
		t.Parallel()
		made := create(t, a.client, http.StatusCreated, map[string]any{}).data(t)
		if len(made["scopes"].([]any)) != 4 || made["expires_at"] != nil {
			t.Errorf("made %v", made)
		}
	})

	t.Run("TheKeyOfTheRequestIsShown", func(t *testing.T) {
		t.Parallel()
		me := a.keyWith(t, account.ScopeRespond, account.ScopeRead).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		key, _ := me["api_key"].(map[string]any)
		if scopes, _ := key["scopes"].([]any); !slices.Equal(scopes, []any{"read", "respond"}) {
			t.Errorf("the key is %v", key)
		}
	})

	t.Run("AKeyCreatesNoneThatMayDoMore", func(t *testing.T) {
		t.Parallel()
		limited := a.keyWith(t, account.ScopeAdmin, account.ScopeRead)
		refused := create(t, limited, http.StatusForbidden, map[string]any{"scopes": []string{"read", "write"}})
		if refused.detail("required") != "write" {
			t.Errorf("got %s", refused.raw)
		}
		made := create(t, limited, http.StatusCreated, map[string]any{}).data(t)
		if scopes := made["scopes"].([]any); !slices.Equal(scopes, []any{"read", "admin"}) {
			t.Errorf("scopes %v", scopes)
		}
	})

	t.Run("AKeyCreatesNoneThatLivesLonger", func(t *testing.T) {
		t.Parallel()
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		made := create(t, a.client, http.StatusCreated, map[string]any{"expires_at": end}).data(t)
		limited := a.as(text(made, "api_key"))
		if later := create(
			t,
			limited,
			http.StatusBadRequest,
			map[string]any{"expires_at": end.Add(time.Second)},
		); later.detail(
			"member",
		) != "expires_at" {
			t.Errorf("got %s", later.raw)
		}
		for _, body := range []map[string]any{{}, {"expires_at": nil}, {"expires_at": end}} {
			if child := create(t, limited, http.StatusCreated, body).data(t); text(child, "expires_at") != end.Format(time.RFC3339) {
				t.Errorf("it ends at %v", child["expires_at"])
			}
		}
	})

	t.Run("FaultyMembersAreNamed", func(t *testing.T) {
		t.Parallel()
		for member, body := range map[string]map[string]any{
			"scopes":     {"scopes": []string{}},
			"scopes[0]":  {"scopes": []string{"all"}},
			"expires_at": {"expires_at": "2001-01-01T00:00:00Z"},
		} {
			if got := create(t, a.client, http.StatusBadRequest, body); got.detail("member") != member {
				t.Errorf("%v: %s", body, got.raw)
			}
		}
	})

	t.Run("AnExpiredKeyIsRefused", func(t *testing.T) {
		t.Parallel()
		made := create(t, a.client, http.StatusCreated, map[string]any{"expires_at": time.Now().Add(time.Hour)}).data(t)
		key := a.as(text(made, "api_key"))
		key.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
		if _, err := b.store.DB().
			NewRaw("UPDATE api_keys SET expires_at = created_at - interval '1 s' WHERE id = ?", made["id"]).
			Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := b.serve(t).as(text(made, "api_key")) // without a cached key
		if got := other.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil); !strings.Contains(got.problem(), "expired") {
			t.Errorf("got %s", got.raw)
		}
	})

	t.Run("AddressesOfTheAuditLogNeedAdmin", func(t *testing.T) {
		t.Parallel()
		address := func(scopes ...account.Scope) string {
			rows := a.keyWith(t, scopes...).want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t)
			return text(rows[len(rows)-1], "address")
		}
		if got := address(account.ScopeRead); got != "" {
			t.Errorf("read shows %q", got)
		}
		if got := address(account.ScopeRead, account.ScopeAdmin); got == "" {
			t.Error("admin shows no address")
		}
	})
}
