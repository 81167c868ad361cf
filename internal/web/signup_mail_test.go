// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/web"
)

// TestSignUpByMail holds that, where mail leaves the machine, the page of a sign-up is the same
// for an address that has an account and one that has none, and that the mail says the rest.
func TestSignUpByMail(t *testing.T) {
	t.Parallel()
	s := openAs(t, "", func(c *web.Config) { c.MailLeaves = true })
	fresh := uuid.NewString() + "@example.com"
	ask := func(email string) string {
		return s.browser(t).post(t, http.StatusOK, "/app/sign-up", url.Values{
			"name": {"Ada"}, "organization_name": {"Engines"}, "email": {email}, "password": {password},
		}).text
	}
	s.browser(t).get(t, http.StatusOK, "/app/sign-up").shows(t, "Send the link")
	first := ask(fresh)
	link := s.mails.link(t, fresh, "/app/sign-up/confirm")
	// Without the link there is no account: the password of the form opens nothing.
	s.browser(t).post(t, http.StatusUnauthorized, "/app/sign-in", url.Values{"email": {fresh}, "password": {password}})

	b := s.browser(t)
	for range 2 { // a scanner that follows the link does not use it
		b.get(t, http.StatusOK, link).shows(t, "Engines", fresh)
	}
	parsed, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	token := parsed.Query().Get("token")
	b.post(t, http.StatusUnprocessableEntity, "/app/sign-up/confirm", url.Values{"token": {token}, "password": {"short"}})
	b.post(t, http.StatusSeeOther, "/app/sign-up/confirm", url.Values{"token": {token}, "password": {password}})
	b.get(t, http.StatusOK, "/app/account").shows(t, fresh)
	s.browser(t).get(t, http.StatusGone, link).shows(t, "was used")
	s.browser(t).post(t, http.StatusGone, "/app/sign-up/confirm", url.Values{"token": {token}, "password": {password}})

	if second := ask(fresh); second != first {
		t.Errorf("the page for an address with an account is %s, and without one %s", second, first)
	}
	s.mails.link(t, fresh, "/recover")
}
