// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vigil-monitor/vigil/internal/account"
)

// session returns a client with a session token of a user who never signed out.
func (b *testServer) session(t *testing.T, userID string) *client {
	t.Helper()
	now := b.clock.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "vigil", "aud": "api", "sub": userID, "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(), "sv": 0,
	}).SignedString(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return b.as(token)
}

// TestRightsToInvite holds that no credential gives a role that may do more than itself, by an
// invitation or by a change of a role, and that the owners learn of it.
func TestRightsToInvite(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	signedIn := b.session(t, owner.user.String())
	keyWith := func(t *testing.T, scopes ...string) *client {
		t.Helper()
		made := owner.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "k", "scopes": scopes}).data(t)
		return b.as(text(made, "api_key"))
	}

	t.Run("AKeyGivesAtMostItsScopesAndNeverTheRoleOwner", func(t *testing.T) {
		t.Parallel()
		viewer := b.joins(t, mails, owner.client, account.RoleViewer)
		for _, one := range []struct {
			scopes  []string
			allowed string // the most that it gives; empty: nothing
		}{
			{[]string{"admin"}, ""},
			{[]string{"read", "admin"}, "viewer"},
			{[]string{"read", "respond", "admin"}, "responder"},
			{[]string{"read", "respond", "write", "admin"}, "editor"},
		} {
			key, within := keyWith(t, one.scopes...), one.allowed != ""
			for _, role := range []string{"viewer", "responder", "editor", "owner"} {
				invited, changed := http.StatusForbidden, http.StatusForbidden
				if within {
					invited, changed = http.StatusCreated, http.StatusOK
				}
				email := role + strings.Join(one.scopes, "") + "@example.com"
				got := key.want(t, invited, http.MethodPost, "/v1/invitations", map[string]any{"email": email, "role": role})
				if !within && got.body["code"] != "forbidden" {
					t.Errorf("%v as %s: %s", one.scopes, role, got.raw)
				}
				if role != "viewer" { // which the member is already
					key.want(t, changed, http.MethodPut, "/v1/members/"+viewer.id, map[string]any{"role": role})
					// A lesser role is no more than the member had.
					keyWith(t, "admin").want(t, http.StatusOK, http.MethodPut, "/v1/members/"+viewer.id, map[string]any{"role": "viewer"})
				}
				within = within && role != one.allowed
			}
		}
	})

	t.Run("ADemotedOwnersInvitationsAreWithdrawn", func(t *testing.T) {
		t.Parallel()
		second := b.joins(t, mails, signedIn, account.RoleOwner)
		second.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "again@example.com", "role": "owner"})
		token := invitationToken(t, mails, "again@example.com", 1)
		owner.want(t, http.StatusOK, http.MethodPut, "/v1/members/"+second.id, map[string]any{"role": "editor"})
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/invitations/accept",
			map[string]any{"token": token, "name": "Again", "password": "a compiler of words"})
	})

	t.Run("TheOwnersAreMailedAboutANewMember", func(t *testing.T) {
		t.Parallel()
		alone := b.tier(t, b.owner(t, mails), account.TierPaid)
		joined := b.joins(t, mails, alone.client, account.RoleEditor)
		mailed := func(what string) bool {
			for _, one := range letters(t, mails, alone.email) {
				if strings.Contains(one, joined.email) && strings.Contains(one, what) {
					return true
				}
			}
			return false
		}
		eventually(t, "the owner is mailed about the member", func() bool { return mailed("is a member of") })
		b.session(t, alone.user.String()).want(t, http.StatusOK, http.MethodPut, "/v1/members/"+joined.id, map[string]any{"role": "owner"})
		eventually(t, "the owner is mailed about the owner", func() bool { return mailed("was made an owner of") })
	})
}
