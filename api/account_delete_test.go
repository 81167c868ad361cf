// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

func TestDeleteAccount(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	const path, password = "/v1/auth/me", "a compiler of words"
	confirm := func(m member) map[string]any { return map[string]any{"confirm": m.email, "password": password} }

	t.Run("EndsTheAccountAndKeepsWhatItMade", func(t *testing.T) {
		t.Parallel()
		m := b.joins(t, mails, b.session(t, owner.user.String()), account.RoleOwner)
		made := m.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "k"}).data(t)
		key := b.as(text(made, "api_key"))
		check := key.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck()).data(t)
		m.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "x" + m.email, "role": "viewer"})
		m.want(t, http.StatusNoContent, http.MethodDelete, path, map[string]any{"confirm": strings.ToUpper(m.email), "password": password})
		m.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		key.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": m.email, "password": password})
		owner.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(check, "id"), nil)
		for _, list := range []string{"/v1/members", "/v1/invitations", "/v1/api-keys"} {
			if r := owner.want(t, http.StatusOK, http.MethodGet, list, nil); strings.Contains(string(r.raw), m.email) ||
				strings.Contains(string(r.raw), text(made, "id")) {
				t.Errorf("%s: %s", list, r.raw)
			}
		}
		entries := owner.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?user_id="+m.id, nil).rows(t)
		if len(entries) < 4 {
			t.Fatalf("entries %v", entries)
		}
		for _, entry := range entries {
			var email any
			if entry["action"] == "account.delete" {
				email = m.email
			}
			if entry["user_email"] != email || entry["user_name"] != storage.DeletedUser {
				t.Errorf("entry %v", entry)
			}
		}
		// The address can be invited again.
		owner.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": m.email, "role": "viewer"})
	})

	t.Run("TheOnlyOwnerStays", func(t *testing.T) {
		t.Parallel()
		alone := b.signup(t)
		r := alone.want(t, http.StatusConflict, http.MethodDelete, path, map[string]any{"confirm": alone.email})
		if !strings.Contains(string(r.raw), "Delete the organization") {
			t.Errorf("alone: %s", r.raw)
		}
		first := b.tier(t, b.owner(t, mails), account.TierPaid)
		second := b.joins(t, mails, first.client, account.RoleViewer)
		r = first.want(t, http.StatusConflict, http.MethodDelete, path, map[string]any{"confirm": first.email})
		if !strings.Contains(string(r.raw), "Make another member an owner first, or delete the organization") {
			t.Errorf("with others: %s", r.raw)
		}
		b.session(t, first.user.String()).want(t, http.StatusOK, http.MethodPut, "/v1/members/"+second.id, map[string]any{"role": "owner"})
		first.want(t, http.StatusNoContent, http.MethodDelete, path, map[string]any{"confirm": first.email})
		second.want(t, http.StatusOK, http.MethodGet, path, nil)
	})

	t.Run("NamesTheMemberThatDoesNotMatch", func(t *testing.T) {
		t.Parallel()
		m := b.joins(t, mails, owner.client, account.RoleViewer)
		for _, test := range []struct {
			member string
			body   map[string]any
		}{
			{"confirm", map[string]any{}},
			{"confirm", map[string]any{"confirm": "", "password": password}},
			{"confirm", map[string]any{"confirm": owner.email, "password": password}},
			{"password", map[string]any{"confirm": m.email}},
			{"password", map[string]any{"confirm": m.email, "password": "wrong password"}},
		} {
			if r := m.want(t, http.StatusBadRequest, http.MethodDelete, path, test.body); r.detail("member") != test.member {
				t.Errorf("%v: %s", test.body, r.raw)
			}
		}
		m.want(t, http.StatusBadRequest, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": "y" + m.email, "password": "wrong"})
		m.want(t, http.StatusBadRequest, http.MethodPut, "/v1/auth/password",
			map[string]any{"current_password": "wrong", "new_password": password})
		for _, entry := range owner.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?user_id="+m.id, nil).rows(t) {
			if action := text(entry, "action"); action != "account.login_failed" && action != "invitation.accept" {
				t.Errorf("the log has %s, which was refused", action)
			}
		}
		m.want(t, http.StatusRequestEntityTooLarge, http.MethodDelete, path, map[string]any{"confirm": strings.Repeat("x", 1<<20)})
		b.want(t, http.StatusUnauthorized, http.MethodDelete, path, confirm(m))
		m.want(t, http.StatusNoContent, http.MethodDelete, path, confirm(m)) // with any role
	})

	t.Run("IsNotForAKeyWithoutTheScopeAdmin", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		a.keyWith(t, account.ScopeRead, account.ScopeRespond, account.ScopeWrite).
			want(t, http.StatusForbidden, http.MethodDelete, path, map[string]any{"confirm": a.email})
	})
}
