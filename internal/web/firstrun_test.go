// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// link makes a login link for an account, and returns its token.
func (s *site) link(t *testing.T, email string) string {
	t.Helper()
	user, err := s.store.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	token, hash, err := api.NewLoginLink()
	if err == nil {
		err = s.store.CreateLoginLink(t.Context(), user.ID, hash)
	}
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	const operator = "operator@vigil.invalid"
	_, _, err := s.store.CreateOperator(t.Context(), account.Organization{Name: "Operator"},
		account.User{Email: operator, EmailVerified: true, Name: "operator"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("ALoginLinkLeadsToThePageThatWasAskedForBefore", func(t *testing.T) {
		t.Parallel()
		const page = "/app/incidents/c1b0a0de-64e3-5a0c-9a35-7a6a0f0f6f52?lane=all"
		b := s.browser(t)
		b.get(t, http.StatusSeeOther, page)
		if to := b.post(t, http.StatusSeeOther, "/app/first-run", url.Values{"token": {s.link(t, operator)}}).location; to != page {
			t.Errorf("the sign-in leads to %s, want %s", to, page)
		}
		if to := b.post(t, http.StatusSeeOther, "/app/first-run", url.Values{"token": {s.link(t, operator)}}).location; to != "/app" {
			t.Errorf("the next sign-in leads to %s again", to)
		}
	})

	t.Run("TheLinkShowsAPageAndItsButtonSignsInOnce", func(t *testing.T) {
		t.Parallel()
		token, b := s.link(t, operator), s.browser(t)
		for range 3 { // a prefetch does not use it
			b.get(t, http.StatusOK, "/app/first-run?token="+token).shows(t, "Continue as operator")
		}
		form := url.Values{"token": {token}}
		if to := b.post(t, http.StatusSeeOther, "/app/first-run", form).location; to != "/app" {
			t.Errorf("leads to %s", to)
		}
		b.get(t, http.StatusOK, "/app/account").shows(t, "Operator", "Invite your own address")
		other := s.browser(t)
		for _, used := range []answer{
			other.get(t, http.StatusGone, "/app/first-run?token="+token), other.post(t, http.StatusGone, "/app/first-run", form),
		} {
			used.shows(t, "was used, or is older than 10 minutes", "vigil login-link")
		}
		other.get(t, http.StatusSeeOther, "/app/help")
	})

	t.Run("IsNotForOtherMachines", func(t *testing.T) {
		t.Parallel()
		token := s.link(t, operator)
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
			b := s.browser(t)
			b.get(t, http.StatusForbidden, "/app/first-run?token="+token, header, "for=192.0.2.1").shows(t, "on the machine that runs Vigil")
			b.post(t, http.StatusForbidden, "/app/first-run", url.Values{"token": {token}}, header, "for=192.0.2.1")
		}
		s.browser(t).get(t, http.StatusOK, "/app/first-run?token="+token)
	})

	t.Run("EndsAfterTenMinutes", func(t *testing.T) {
		t.Parallel()
		token := s.link(t, operator)
		_, err := s.store.DB().NewRaw("UPDATE login_links SET expires_at = expires_at - make_interval(secs => ?) WHERE hash = sha256(?)",
			account.LoginLinkLifetime.Seconds(), []byte(token)).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.browser(t).get(t, http.StatusGone, "/app/first-run?token="+token)
	})

	t.Run("IsInTheAuditLog", func(t *testing.T) {
		t.Parallel()
		b := s.browser(t)
		b.post(t, http.StatusSeeOther, "/app/first-run", url.Values{"token": {s.link(t, operator)}})
		var found int
		err := s.store.DB().NewRaw(`SELECT count(*) FROM audit_log
			WHERE action = 'account.login_link' AND user_email = ? AND address = '127.0.0.1'`, operator).Scan(t.Context(), &found)
		if err != nil || found == 0 {
			t.Errorf("%d entries, %v", found, err)
		}
	})

	t.Run("ANameIsShownAsText", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		_, err := s.store.DB().NewRaw("UPDATE users SET name = '<b>Ada' WHERE email = ?", email).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if page := b.get(t, http.StatusOK, "/app/first-run?token="+s.link(t, email)); strings.Contains(page.text, "<b>Ada") {
			t.Errorf("page %s", page.text)
		}
	})
}
