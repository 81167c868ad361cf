// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"testing"
)

// TestAStrangersWrongPasswordsDoNotLockOutAKnownBrowser holds that a browser in which a user
// has signed in before is not held back by the failures of others, and that no other browser
// can say that it is one.
func TestAStrangersWrongPasswordsDoNotLockOutAKnownBrowser(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	known, email := s.signUp(t)
	known.follow(t, "/app/sign-out", nil)
	other, _ := s.signUp(t) // known, but to another user
	other.follow(t, "/app/sign-out", nil)
	stranger := s.browser(t)
	for range 10 {
		stranger.post(t, http.StatusUnauthorized, "/app/sign-in", url.Values{"email": {email}, "password": {"a wrong guess"}})
	}
	form := url.Values{"email": {email}, "password": {password}}
	stranger.post(t, http.StatusTooManyRequests, "/app/sign-in", form)
	other.post(t, http.StatusTooManyRequests, "/app/sign-in", form)
	for _, cookie := range []string{"x", "x.y", "vigil_browser=", known.sessionCookie(t)} {
		stranger.post(t, http.StatusTooManyRequests, "/app/sign-in", form, "Cookie", "vigil_browser="+cookie)
	}
	known.post(t, http.StatusSeeOther, "/app/sign-in", form)
}
