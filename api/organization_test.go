// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestRenameOrganization(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	other := b.signup(t)
	const path = "/v1/organization"

	t.Run("IsSeenEverywhereAtOnceAndLeavesTheSlug", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		before := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		renamed := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "  Difference Engines "}).data(t)
		if renamed["name"] != "Difference Engines" || renamed["slug"] != before["slug"] || renamed["id"] != before["id"] {
			t.Errorf("renamed %v, before %v", renamed, before)
		}
		if now := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); now["name"] != "Difference Engines" {
			t.Errorf("read %v", now)
		}
		me := a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		if org, _ := me["organization"].(map[string]any); org["name"] != "Difference Engines" {
			t.Errorf("me %v", me)
		}
		entries := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?resource=organization", nil).rows(t)
		if len(entries) != 1 || entries[0]["action"] != "organization.update" || text(entries[0], "user_id") != a.user.String() ||
			text(entries[0], "resource_id") != a.org.String() {
			t.Errorf("entries %v", entries)
		}
	})

	t.Run("RefusesWhatIsNoName", func(t *testing.T) {
		t.Parallel()
		for _, body := range []any{
			map[string]any{},
			map[string]any{"name": ""},
			map[string]any{"name": "  "},
			map[string]any{"name": nil},
			map[string]any{"name": 7},
			map[string]any{"name": strings.Repeat("x", 201)},
			map[string]any{"name": "a\x00b"},
			map[string]any{"name": "in\u202evisible"},
		} {
			if r := other.want(t, http.StatusBadRequest, http.MethodPut, path, body); r.detail("member") != "name" {
				t.Errorf("%v: %s", body, r.raw)
			}
		}
	})

	t.Run("IsForOwnersWithTheScopeAdmin", func(t *testing.T) {
		t.Parallel()
		b.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		b.want(t, http.StatusUnauthorized, http.MethodPut, path, map[string]any{"name": "Mine"})
		for _, role := range []account.Role{account.RoleEditor, account.RoleResponder, account.RoleViewer} {
			member := b.joins(t, mails, owner.client, role)
			member.want(t, http.StatusOK, http.MethodGet, path, nil)
			member.want(t, http.StatusForbidden, http.MethodPut, path, map[string]any{"name": "Mine"})
		}
		made := owner.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys",
			map[string]any{"name": "k", "scopes": []string{"read", "respond", "write"}}).data(t)
		b.as(text(made, "api_key")).want(t, http.StatusForbidden, http.MethodPut, path, map[string]any{"name": "Mine"})
		if now := owner.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); now["name"] == "Mine" {
			t.Errorf("renamed: %v", now)
		}
	})
}
