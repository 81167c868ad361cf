// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

// invitationToken returns the token of the nth invitation that was mailed to an address.
func invitationToken(t *testing.T, mails *mailtest.Server, address string, n int) string {
	t.Helper()
	return tokenOf(t, letter(t, mails, address, n), "app/invitation")
}

// owner makes an organization whose owner's address is confirmed.
func (b *testServer) owner(t *testing.T, mails *mailtest.Server) person {
	t.Helper()
	a := b.signup(t)
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": tokenOf(t, letter(t, mails, a.email, 1), "verify")})
	return a
}

// member is a member who accepted an invitation, with a session token.
type member struct {
	*client
	id    string
	email string
}

// joins invites a person and accepts.
func (b *testServer) joins(t *testing.T, mails *mailtest.Server, owner *client, role account.Role) member {
	t.Helper()
	email := fmt.Sprintf("member%d@example.com", serial.Add(1))
	owner.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": email, "role": role})
	data := b.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations/accept", map[string]any{
		"token": invitationToken(t, mails, email, 1), "name": "Grace", "password": "a compiler of words",
	}).data(t)
	user, _ := data["user"].(map[string]any)
	return member{client: b.as(text(data, "token")), id: text(user, "id"), email: email}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	invite := func(t *testing.T, email, role string) string {
		t.Helper()
		made := owner.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": email, "role": role}).data(t)
		if made["email"] != email || made["role"] != role || made["invited_by"] != owner.user.String() || made["token"] != nil {
			t.Errorf("invitation %v", made)
		}
		return text(made, "id")
	}
	accept := func(t *testing.T, status int, token string) answer {
		t.Helper()
		return b.want(t, status, http.MethodPost, "/v1/invitations/accept",
			map[string]any{"token": token, "name": "Grace", "password": "a compiler of words"})
	}

	t.Run("MakesAMemberWithItsRoleAndAProvenAddress", func(t *testing.T) {
		t.Parallel()
		invite(t, "grace@example.com", "responder")
		token := invitationToken(t, mails, "grace@example.com", 1)
		shown := b.want(t, http.StatusOK, http.MethodPost, "/v1/invitations/inspect", map[string]any{"token": token}).data(t)
		if shown["email"] != "grace@example.com" || shown["role"] != "responder" || shown["organization"] != "Engines" {
			t.Errorf("shown %v", shown)
		}
		data := accept(t, http.StatusCreated, token).data(t)
		me := b.as(text(data, "token")).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		user, _ := me["user"].(map[string]any)
		org, _ := me["organization"].(map[string]any)
		if user["role"] != "responder" || user["email_verified"] != true || text(org, "id") != owner.org.String() {
			t.Errorf("me %v", me)
		}
		if scopes, _ := me["scopes"].([]any); !slices.Equal(scopes, []any{"read", "respond"}) {
			t.Errorf("scopes %v", me["scopes"])
		}
		if again := accept(t, http.StatusBadRequest, token); again.detail("member") != "token" {
			t.Errorf("used twice: %s", again.raw)
		}
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": "grace@example.com", "password": "a compiler of words"})
	})

	t.Run("EndsAfterSevenDays", func(t *testing.T) {
		t.Parallel()
		b := setup(t, mailing)
		owner := b.owner(t, mails)
		owner.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "late@example.com", "role": "viewer"})
		b.clock.Advance(7 * 24 * time.Hour)
		refused := b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/invitations/accept", map[string]any{
			"token": invitationToken(t, mails, "late@example.com", 1), "name": "Late", "password": "a compiler of words",
		})
		if !strings.Contains(refused.problem(), "7 days") {
			t.Errorf("answer %s", refused.raw)
		}
		if list := owner.want(t, http.StatusOK, http.MethodGet, "/v1/invitations", nil).rows(t); len(list) != 0 {
			t.Errorf("open invitations %v", list)
		}
	})

	t.Run("IsRevoked", func(t *testing.T) {
		t.Parallel()
		id := invite(t, "revoked@example.com", "viewer")
		token := invitationToken(t, mails, "revoked@example.com", 1)
		owner.want(t, http.StatusNoContent, http.MethodDelete, "/v1/invitations/"+id, nil)
		accept(t, http.StatusBadRequest, token)
		owner.want(t, http.StatusNotFound, http.MethodDelete, "/v1/invitations/"+id, nil)
	})

	t.Run("ReplacesAnEarlierOneToTheSameAddress", func(t *testing.T) {
		t.Parallel()
		invite(t, "twice@example.com", "viewer")
		first := invitationToken(t, mails, "twice@example.com", 1)
		invite(t, "twice@example.com", "editor")
		accept(t, http.StatusBadRequest, first)
		second := b.want(t, http.StatusOK, http.MethodPost, "/v1/invitations/inspect",
			map[string]any{"token": invitationToken(t, mails, "twice@example.com", 2)}).data(t)
		if second["role"] != "editor" {
			t.Errorf("shown %v", second)
		}
	})

	t.Run("AnAddressWithAnAccountIsAConflict", func(t *testing.T) {
		t.Parallel()
		owner.want(t, http.StatusConflict, http.MethodPost, "/v1/invitations",
			map[string]any{"email": strings.ToUpper(owner.email), "role": "viewer"})
		local := setup(t)
		local.signup(t).want(t, http.StatusConflict, http.MethodPost, "/v1/invitations",
			map[string]any{"email": local.signup(t).email, "role": "viewer"})
	})

	t.Run("FaultyMembersAreNamed", func(t *testing.T) {
		t.Parallel()
		for name, body := range map[string]map[string]any{
			"email": {"email": "no address", "role": "viewer"}, "role": {"email": "a@example.com", "role": "admin"},
		} {
			if got := owner.want(t, http.StatusBadRequest, http.MethodPost, "/v1/invitations", body); got.detail("member") != name {
				t.Errorf("%v: %s", body, got.raw)
			}
		}
	})

	t.Run("CountsInThePlan", func(t *testing.T) {
		t.Parallel()
		free := b.owner(t, mails)
		for _, email := range []string{"one@example.com", "two@example.com", "two@example.com"} {
			free.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": email, "role": "viewer"})
		}
		over := free.want(t, http.StatusForbidden, http.MethodPost, "/v1/invitations",
			map[string]any{"email": "three@example.com", "role": "viewer"})
		if over.body["code"] != "plan_limit" {
			t.Errorf("answer %s", over.raw)
		}
		usage := free.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)
		limits, _ := usage["limits"].(map[string]any)
		if members, _ := limits["members"].(map[string]any); members["used"] != 3.0 || members["limit"] != 3.0 {
			t.Errorf("usage %v", limits["members"])
		}
	})

	t.Run("NeedsAProvenAddressWhereMailLeavesTheMachine", func(t *testing.T) {
		t.Parallel()
		stranger := b.signup(t)
		refused := stranger.want(t, http.StatusForbidden, http.MethodPost, "/v1/invitations",
			map[string]any{"email": "grace@example.com", "role": "owner"})
		if !strings.Contains(refused.problem(), "Confirm your email address") {
			t.Errorf("answer %s", refused.raw)
		}
		token := tokenOf(t, letter(t, mails, stranger.email, 1), "verify")
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token})
		stranger.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "proven@example.com", "role": "editor"})
		// Where mail stays on the machine, no address can be confirmed.
		local := setup(t).signup(t)
		local.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "local@example.com", "role": "editor"})
	})

	t.Run("OfAnotherOrganizationIsNotFound", func(t *testing.T) {
		t.Parallel()
		id := invite(t, "theirs@example.com", "viewer")
		b.signup(t).want(t, http.StatusNotFound, http.MethodDelete, "/v1/invitations/"+id, nil)
	})

	t.Run("RecoveryEndsTheInvitationsOfTheAccount", func(t *testing.T) {
		t.Parallel()
		lost := b.owner(t, mails)
		lost.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "thief@example.com", "role": "editor"})
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": lost.email})
		b.recoverBy(t, tokenOf(t, letter(t, mails, lost.email, 2), "recover"))
		accept(t, http.StatusBadRequest, invitationToken(t, mails, "thief@example.com", 1))
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	signedIn := b.session(t, owner.user.String())
	setRole := func(t *testing.T, status int, by *client, id string, role account.Role) answer {
		t.Helper()
		return by.want(t, status, http.MethodPut, "/v1/members/"+id, map[string]any{"role": role})
	}
	later := func() { b.clock.Advance(5 * time.Second) } // processes know users for some seconds

	t.Run("AreListed", func(t *testing.T) {
		t.Parallel()
		viewer := b.joins(t, mails, owner.client, account.RoleViewer)
		rows := viewer.want(t, http.StatusOK, http.MethodGet, "/v1/members?limit=100", nil).rows(t)
		if first := rows[0]; first["email"] != owner.email || first["role"] != "owner" {
			t.Errorf("first is %v", first)
		}
		if !slices.ContainsFunc(rows, func(row map[string]any) bool { return row["email"] == viewer.email && row["role"] == "viewer" }) {
			t.Errorf("members %v", rows)
		}
		for _, row := range rows {
			if row["password"] != nil || row["password_hash"] != nil {
				t.Errorf("member %v", row)
			}
		}
	})

	t.Run("ActWithTheScopesOfTheirRole", func(t *testing.T) {
		t.Parallel()
		check := map[string]any{"name": "c", "type": "http", "config": map[string]any{"url": "http://127.0.0.1:9"}, "interval_seconds": 60}
		for role, scopes := range map[account.Role][]any{
			account.RoleViewer: {"read"}, account.RoleResponder: {"read", "respond"}, account.RoleEditor: {"read", "respond", "write"},
		} {
			someone := b.joins(t, mails, owner.client, role)
			someone.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil)
			refused := someone.want(t, http.StatusForbidden, http.MethodPost, "/v1/invitations",
				map[string]any{"email": "x@example.com", "role": "owner"})
			if got, _ := refused.detail("scopes").([]any); refused.detail("required") != "admin" || !slices.Equal(got, scopes) {
				t.Errorf("%s: %s", role, refused.raw)
			}
			if got := someone.do(t, http.MethodPost, "/v1/checks", check).status; (got == http.StatusForbidden) != (role != account.RoleEditor) {
				t.Errorf("%s: creating a check is answered %d", role, got)
			}
			// What concerns their own account is theirs with any role.
			someone.want(t, http.StatusOK, http.MethodGet, "/v1/auth/sessions", nil)
			someone.want(t, http.StatusOK, http.MethodPut, "/v1/auth/password",
				map[string]any{"current_password": "a compiler of words", "new_password": "another compiler"})
		}
	})

	t.Run("ADemotedMembersKeyLosesRights", func(t *testing.T) {
		t.Parallel()
		second := b.joins(t, mails, signedIn, account.RoleOwner)
		key := b.as(text(second.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "all"}).data(t), "api_key"))
		keys := key.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil).rows(t)
		if !slices.ContainsFunc(keys, func(row map[string]any) bool { return row["user_id"] == second.id }) {
			t.Errorf("no key says that it is of %s: %v", second.id, keys)
		}
		setRole(t, http.StatusOK, owner.client, second.id, account.RoleViewer)
		refused := key.want(t, http.StatusForbidden, http.MethodGet, "/v1/api-keys", nil)
		if !strings.Contains(refused.problem(), "viewer") || refused.detail("required") != "admin" {
			t.Errorf("answer %s", refused.raw)
		}
		key.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil)
		setRole(t, http.StatusOK, signedIn, second.id, account.RoleOwner)
		key.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil)
	})

	t.Run("ADemotedOwnerCannotActInAnotherProcessThatKnowsTheOldRole", func(t *testing.T) {
		t.Parallel()
		second := b.joins(t, mails, signedIn, account.RoleOwner)
		elsewhere := b.serve(t, mailing).as(second.credential)
		elsewhere.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil)
		setRole(t, http.StatusOK, owner.client, second.id, account.RoleViewer)
		setRole(t, http.StatusForbidden, elsewhere, second.id, account.RoleOwner)
		elsewhere.want(t, http.StatusForbidden, http.MethodPost, "/v1/invitations",
			map[string]any{"email": "friend@example.com", "role": "owner"})
		elsewhere.want(t, http.StatusForbidden, http.MethodDelete, "/v1/members/"+owner.user.String(), nil)
	})

	t.Run("ARemovedMembersSessionsAndKeysEnd", func(t *testing.T) {
		t.Parallel()
		second := b.joins(t, mails, signedIn, account.RoleOwner)
		key := b.as(text(second.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "all"}).data(t), "api_key"))
		second.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "accomplice@example.com", "role": "owner"})
		owner.want(t, http.StatusNoContent, http.MethodDelete, "/v1/members/"+second.id, nil)
		second.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
		key.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
		b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": second.email, "password": "a compiler of words"})
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/invitations/inspect",
			map[string]any{"token": invitationToken(t, mails, "accomplice@example.com", 1)})
		owner.want(t, http.StatusNotFound, http.MethodDelete, "/v1/members/"+second.id, nil)
	})

	t.Run("TheLastOwnerStays", func(t *testing.T) {
		t.Parallel()
		alone := b.tier(t, b.owner(t, mails), account.TierPaid)
		viewer := b.joins(t, mails, alone.client, account.RoleViewer)
		setRole(t, http.StatusConflict, alone.client, alone.user.String(), account.RoleEditor)
		alone.want(t, http.StatusConflict, http.MethodDelete, "/v1/members/"+alone.user.String(), nil)
		setRole(t, http.StatusOK, b.session(t, alone.user.String()), viewer.id, account.RoleOwner)
		setRole(t, http.StatusOK, alone.client, alone.user.String(), account.RoleEditor)
		setRole(t, http.StatusForbidden, alone.client, viewer.id, account.RoleViewer)
		later()
		viewer.want(t, http.StatusNoContent, http.MethodDelete, "/v1/members/"+alone.user.String(), nil)
	})

	t.Run("OfTwoOwnersWhoLeaveAtOnceOneStays", func(t *testing.T) {
		t.Parallel()
		first := b.owner(t, mails)
		second := b.joins(t, mails, b.session(t, first.user.String()), account.RoleOwner)
		left := make(chan int)
		go func() { left <- first.do(t, http.MethodDelete, "/v1/members/"+first.user.String(), nil).status }()
		go func() { left <- second.do(t, http.MethodDelete, "/v1/members/"+second.id, nil).status }()
		statuses := []int{<-left, <-left}
		if !slices.Contains(statuses, http.StatusNoContent) || !slices.Contains(statuses, http.StatusConflict) {
			t.Errorf("answers %v", statuses)
		}
	})

	t.Run("AnotherOrganizationsMembersAreNotFound", func(t *testing.T) {
		t.Parallel()
		stranger := b.signup(t)
		setRole(t, http.StatusNotFound, stranger.client, owner.user.String(), account.RoleViewer)
		stranger.want(t, http.StatusNotFound, http.MethodDelete, "/v1/members/"+owner.user.String(), nil)
		setRole(t, http.StatusNotFound, stranger.client, uuid.NewString(), account.RoleViewer)
	})

	t.Run("TheAuditLogNamesWho", func(t *testing.T) {
		t.Parallel()
		editor := b.joins(t, mails, owner.client, account.RoleEditor)
		editor.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", map[string]any{
			"name": "named", "type": "http", "config": map[string]any{"url": "http://127.0.0.1:9"}, "interval_seconds": 60,
			"regions": []string{"na-east-ewr"},
		})
		owner.want(t, http.StatusNoContent, http.MethodDelete, "/v1/members/"+editor.id, nil)
		found := map[string]map[string]any{}
		for _, entry := range owner.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?limit=100", nil).rows(t) {
			if entry["user_email"] == editor.email || entry["resource_id"] == editor.id {
				found[text(entry, "action")] = entry
			}
		}
		for _, action := range []string{"check.create", "invitation.accept"} {
			if entry := found[action]; entry == nil || entry["user_id"] != editor.id || entry["user_name"] != "Grace" {
				t.Errorf("%s: %v", action, entry)
			}
		}
		if entry := found["member.delete"]; entry == nil || entry["user_email"] != owner.email {
			t.Errorf("member.delete: %v", entry)
		}
	})
}

// recoverBy uses the link of a recovery.
func (b *testServer) recoverBy(t *testing.T, token string) {
	t.Helper()
	form := url.Values{"token": {token}}.Encode()
	b.plainly().want(t, http.StatusOK, http.MethodPost, "/recover", form, "Content-Type", "application/x-www-form-urlencoded")
}
