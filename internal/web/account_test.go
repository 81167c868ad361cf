// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

func TestAccount(t *testing.T) {
	t.Parallel()
	s := open(t, "")

	t.Run("ShowsTheUserAndTheSessions", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		other := s.browser(t)
		other.post(t, http.StatusSeeOther, "/app/sign-in", url.Values{"email": {email}, "password": {password}}, "User-Agent", firefox)
		b.get(t, http.StatusOK, "/app/account").
			shows(t, email+", not confirmed", "Engines", "Owner", "paid", "Firefox on Linux", "This one", "127.0.0.1")
	})

	t.Run("EndsOneSession", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		other, third := s.browser(t), s.signIn(t, email, password)
		other.post(t, http.StatusSeeOther, "/app/sign-in", url.Values{"email": {email}, "password": {password}}, "User-Agent", firefox)
		page := b.get(t, http.StatusOK, "/app/account").text
		_, after, _ := strings.Cut(page, "Firefox on Linux")
		action := regexp.MustCompile(`/app/account/sessions/[0-9a-f-]{36}/end`).FindString(after)
		b.follow(t, action, nil).shows(t, "The session has ended.")
		other.get(t, http.StatusSeeOther, "/app/account")
		third.get(t, http.StatusOK, "/app/account")
		b.follow(t, action, nil) // twice is no mistake
	})

	t.Run("AnotherUsersSessionStays", func(t *testing.T) {
		t.Parallel()
		b, _ := s.signUp(t)
		stranger, email := s.signUp(t)
		s.signIn(t, email, password)
		page := stranger.get(t, http.StatusOK, "/app/account").text
		b.post(t, http.StatusSeeOther, regexp.MustCompile(`/app/account/sessions/[0-9a-f-]{36}/end`).FindString(page), nil)
		if now := stranger.get(t, http.StatusOK, "/app/account").text; strings.Count(now, "/end\"") != strings.Count(page, "/end\"") {
			t.Error("the session has ended")
		}
	})

	t.Run("SigningOutEverywhereEndsEverySession", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		other := s.signIn(t, email, password)
		b.follow(t, "/app/account/sign-out-everywhere", nil).shows(t, "You are signed out everywhere.")
		for _, ended := range []*browser{b, other} {
			if to := ended.get(t, http.StatusSeeOther, "/app/account").location; !strings.HasPrefix(to, "/app/sign-in") {
				t.Errorf("leads to %s", to)
			}
		}
		s.signIn(t, email, password).get(t, http.StatusOK, "/app/account")
	})

	t.Run("ANewPasswordKeepsThisSessionAndEndsTheOthers", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		other := s.signIn(t, email, password)
		wrong := b.post(t, http.StatusUnprocessableEntity, "/app/account/password",
			url.Values{"current_password": {"a wrong one"}, "new_password": {"analytical engine"}})
		wrong.shows(t, "The password stays as it is.", `id="f-current_password-error"`)
		if strings.Contains(wrong.text, "analytical engine") {
			t.Error("the page has the password")
		}
		b.follow(t, "/app/account/password", url.Values{"current_password": {password}, "new_password": {"analytical engine"}}).
			shows(t, "Every other session has ended.")
		other.get(t, http.StatusSeeOther, "/app/account")
		s.signIn(t, email, "analytical engine").get(t, http.StatusOK, "/app/account")
	})

	t.Run("AnotherAddressNeedsItsLink", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		b.post(t, http.StatusUnprocessableEntity, "/app/account/email", url.Values{"new_email": {"no address"}}).
			shows(t, "The address stays as it is.", `id="f-new_email-error"`, `value="no address"`)
		next := "new-" + email
		b.follow(t, "/app/account/email", url.Values{"new_email": {next}}).shows(t, "A link to confirm the address was sent to it.", email)
		link := s.mails.link(t, next, "/verify")
		at, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		b.post(t, http.StatusOK, "/verify", url.Values{"token": {at.Query().Get("token")}}).shows(t, `href="/app"`)
		b.get(t, http.StatusOK, "/app/account").shows(t, next+", confirmed")
	})

	t.Run("TheLinkOfTheAddressIsMailedAgain", func(t *testing.T) {
		t.Parallel()
		b, _ := s.signUp(t)
		b.follow(t, "/app/account/verification", nil).shows(t, "A link to confirm the address was sent to it.")
	})
}

func TestMembersPage(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	owner, ownerEmail := s.signUp(t)
	// joins invites a person, who accepts in a browser of their own.
	joins := func(t *testing.T, email, role string) *browser {
		t.Helper()
		owner.follow(t, "/app/members", url.Values{"email": {email}, "role": {role}}).shows(t, "An invitation is mailed to "+email)
		b, link := s.browser(t), s.mails.link(t, email, "/app/invitation")
		b.get(t, http.StatusOK, link).shows(t, "Join Engines", "You are invited as "+role+", with the address "+email)
		at, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"token": {at.Query().Get("token")}, "name": {"Grace " + role}, "password": {"short"}}
		b.post(t, http.StatusUnprocessableEntity, "/app/invitation", form).shows(t, "Not accepted yet.", "Grace "+role, `id="f-password-error"`)
		form.Set("password", "a compiler of words")
		b.post(t, http.StatusSeeOther, "/app/invitation", form)
		b.get(t, http.StatusOK, "/app/help").shows(t, "You are a member of Engines.")
		b.get(t, http.StatusGone, link).shows(t, "This link does not work")
		b.post(t, http.StatusGone, "/app/invitation", form)
		return b
	}
	path := func(t *testing.T, email, action string) string {
		t.Helper()
		_, row, found := strings.Cut(owner.get(t, http.StatusOK, "/app/members").text, `data-label="Email">`+email)
		if !found {
			t.Fatalf("%s is not listed", email)
		}
		return regexp.MustCompile(`/app/members/[0-9a-f-]{36}/`).FindString(row) + action
	}

	t.Run("AnEditorJoinsAndDoesNotChangeMembers", func(t *testing.T) {
		t.Parallel()
		editor := joins(t, "editor@example.com", "editor")
		page := editor.get(t, http.StatusOK, "/app/members")
		page.shows(t, ownerEmail, "Grace editor", "An owner invites and removes members.")
		if strings.Contains(page.text, "/remove") || strings.Contains(page.text, "Invite a person") {
			t.Error("the page offers what the role does not allow")
		}
		editor.post(t, http.StatusForbidden, "/app/members", url.Values{"email": {"x@example.com"}, "role": {"owner"}}).
			shows(t, "Your role in the organization is editor")
		editor.post(t, http.StatusForbidden, path(t, "editor@example.com", "role"), url.Values{"role": {"owner"}})
		editor.post(t, http.StatusForbidden, path(t, ownerEmail, "remove"), nil)
	})

	t.Run("ARoleChanges", func(t *testing.T) {
		t.Parallel()
		joins(t, "viewer@example.com", "viewer")
		owner.follow(t, path(t, "viewer@example.com", "role"), url.Values{"role": {"responder"}}).shows(t, "Grace viewer is now responder.")
	})

	t.Run("ARemovedMemberIsSignedOut", func(t *testing.T) {
		t.Parallel()
		b := joins(t, "responder@example.com", "responder")
		owner.get(t, http.StatusOK, path(t, "responder@example.com", "remove")).shows(t, "Remove Grace responder?", "responder@example.com")
		owner.follow(t, path(t, "responder@example.com", "remove"), nil).shows(t, "The member is removed.")
		b.get(t, http.StatusSeeOther, "/app/members")
	})

	t.Run("TheLastOwnerStays", func(t *testing.T) {
		t.Parallel()
		alone, email := s.signUp(t)
		page := alone.get(t, http.StatusOK, "/app/members").text
		own := regexp.MustCompile(`/app/members/[0-9a-f-]{36}/`).FindString(page)
		alone.post(t, http.StatusConflict, own+"role", url.Values{"role": {"viewer"}}).shows(t, "The role stays as it is.", "only owner", email)
		alone.get(t, http.StatusOK, own+"remove").shows(t, "Leave the organization?")
		alone.post(t, http.StatusConflict, own+"remove", nil).shows(t, "The member stays.", "only owner")
	})

	t.Run("AnInvitationIsRevoked", func(t *testing.T) {
		t.Parallel()
		owner.follow(t, "/app/members", url.Values{"email": {"late@example.com"}, "role": {"viewer"}})
		link := s.mails.link(t, "late@example.com", "/app/invitation")
		_, row, _ := strings.Cut(owner.get(t, http.StatusOK, "/app/members").text, `<th scope="row">late@example.com`)
		owner.follow(t, regexp.MustCompile(`/app/invitations/[0-9a-f-]{36}/revoke`).FindString(row), nil).shows(t, "The invitation is revoked.")
		s.browser(t).get(t, http.StatusGone, link)
	})

	t.Run("FaultyInvitationsSayWhy", func(t *testing.T) {
		t.Parallel()
		owner.post(t, http.StatusUnprocessableEntity, "/app/members", url.Values{"email": {"no address"}, "role": {"viewer"}}).
			shows(t, "No invitation is made yet.", `id="f-email-error"`, `value="no address"`)
		owner.post(t, http.StatusConflict, "/app/members", url.Values{"email": {ownerEmail}, "role": {"viewer"}}).
			shows(t, "is a member of the organization already")
	})
}
