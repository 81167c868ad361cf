// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
)

func (b *browser) sessionCookie(t *testing.T) string {
	t.Helper()
	at, err := url.Parse(b.site.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range b.Jar.Cookies(at) {
		if cookie.Name == "vigil" {
			return cookie.Value
		}
	}
	return ""
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	_, email := s.signUp(t)

	t.Run("APageWithoutASessionLeadsToSignInAndBack", func(t *testing.T) {
		t.Parallel()
		b := s.browser(t)
		to := b.get(t, http.StatusSeeOther, "/app/help?x=1").location
		if to != "/app/sign-in?next=%2Fapp%2Fhelp%3Fx%3D1" {
			t.Fatalf("leads to %s", to)
		}
		b.get(t, http.StatusOK, to).shows(t, `name="next" value="/app/help?x=1"`, "Forgot it", "vigil login-link")
		form := url.Values{"email": {email}, "password": {password}, "next": {"/app/help?x=1"}}
		if to = b.post(t, http.StatusSeeOther, "/app/sign-in", form).location; to != "/app/help?x=1" {
			t.Errorf("leads to %s", to)
		}
		b.get(t, http.StatusOK, to)
	})

	t.Run("LeadsToNoOtherSite", func(t *testing.T) {
		t.Parallel()
		for _, next := range []string{"https://evil.example/", "//evil.example/app", `/\evil.example`, "/v1/checks", "javascript:alert(1)"} {
			form := url.Values{"email": {email}, "password": {password}, "next": {next}}
			if to := s.browser(t).post(t, http.StatusSeeOther, "/app/sign-in", form).location; to != "/app" {
				t.Errorf("%q leads to %s", next, to)
			}
		}
	})

	t.Run("AWrongPasswordKeepsTheAddressAndNotThePassword", func(t *testing.T) {
		t.Parallel()
		b := s.browser(t)
		wrong := b.post(t, http.StatusUnauthorized, "/app/sign-in", url.Values{"email": {email}, "password": {"analytical engine"}})
		wrong.shows(t, email, "The email address or the password is wrong.")
		if strings.Contains(wrong.text, "analytical engine") {
			t.Error("the page has the password")
		}
		b.get(t, http.StatusSeeOther, "/app/help")
	})

	t.Run("TheCookieIsOfTheBrowserAloneAndItsTokenIsStoredAsAHash", func(t *testing.T) {
		t.Parallel()
		b := s.browser(t)
		set := b.post(t, http.StatusSeeOther, "/app/sign-in", url.Values{"email": {email}, "password": {password}}).sessionCookie()
		for _, part := range []string{"vigil=", "HttpOnly", "SameSite=Lax", "Path=/"} {
			if !strings.Contains(set, part) {
				t.Errorf("Set-Cookie %q lacks %s", set, part)
			}
		}
		var stored bool
		err := s.store.DB().NewRaw("SELECT EXISTS (SELECT FROM sessions WHERE token = ?0 OR position(?0 IN encode(data, 'escape')) > 0)",
			b.sessionCookie(t)).Scan(t.Context(), &stored)
		if err != nil || stored {
			t.Errorf("the token is stored: %v, %v", stored, err)
		}
	})

	t.Run("SigningInRenewsTheToken", func(t *testing.T) {
		t.Parallel()
		b := s.signIn(t, email, password)
		before := b.sessionCookie(t)
		b.post(t, http.StatusSeeOther, "/app/sign-in", url.Values{"email": {email}, "password": {password}})
		if after := b.sessionCookie(t); after == before || after == "" {
			t.Errorf("the token was %q and is %q", before, after)
		}
		planted := s.browser(t)
		planted.get(t, http.StatusSeeOther, "/app/help", "Cookie", "vigil="+before)
	})

	t.Run("UnderTLSTheCookieIsBoundToTheHost", func(t *testing.T) {
		t.Parallel()
		s := open(t, "https://vigil.example.com")
		set := s.browser(t).post(t, http.StatusSeeOther, "/app/sign-up", url.Values{
			"name": {"Ada"}, "organization_name": {"Engines"}, "email": {"ada@example.com"}, "password": {password},
		}).header.Values("Set-Cookie")
		if text := strings.Join(set, "\n"); !strings.Contains(text, "__Host-vigil=") || !strings.Contains(text, "Secure") {
			t.Errorf("Set-Cookie %q", set)
		}
	})

	t.Run("SigningOutEndsTheSessionAndNoOther", func(t *testing.T) {
		t.Parallel()
		b, other := s.signIn(t, email, password), s.signIn(t, email, password)
		cookie := b.sessionCookie(t)
		b.follow(t, "/app/sign-out", nil).shows(t, "You are signed out.")
		b.get(t, http.StatusSeeOther, "/app/help")
		s.browser(t).get(t, http.StatusSeeOther, "/app/help", "Cookie", "vigil="+cookie)
		other.get(t, http.StatusOK, "/app/help")
	})

	t.Run("APageOfAnotherOriginChangesNothing", func(t *testing.T) {
		t.Parallel()
		b := s.signIn(t, email, password)
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		} {
			b.post(t, http.StatusForbidden, "/app/sign-out", nil, headers...)
		}
		b.get(t, http.StatusOK, "/app/help")
	})

	t.Run("StaticFilesHaveNoSession", func(t *testing.T) {
		t.Parallel()
		b := s.browser(t)
		page := b.get(t, http.StatusOK, "/app/sign-in")
		_, rest, _ := strings.Cut(page.text, `<link rel="stylesheet" href="`)
		path, _, _ := strings.Cut(rest, `"`)
		if file := b.get(
			t,
			http.StatusOK,
			path,
		); file.header.Get("Set-Cookie") != "" ||
			!strings.Contains(file.header.Get("Cache-Control"), "immutable") {
			t.Errorf("headers %v", file.header)
		}
	})
}

func TestSigningUp(t *testing.T) {
	t.Parallel()
	s := open(t, "")

	t.Run("SignsInAndMailsTheLinkOfTheAddress", func(t *testing.T) {
		t.Parallel()
		b, email := s.signUp(t)
		b.get(t, http.StatusOK, "/app/help")
		s.mails.link(t, email, "/verify")
	})

	t.Run("TheAPISaysWhatIsWrongWithEachField", func(t *testing.T) {
		t.Parallel()
		wrong := s.browser(t).post(t, http.StatusUnprocessableEntity, "/app/sign-up", url.Values{
			"name": {"Ada & Co"}, "organization_name": {""}, "email": {"no address"}, "password": {"short"},
		})
		wrong.shows(t, "No account made yet.", `id="f-password-error"`, `id="f-email-error"`, `id="f-organization_name-error"`, "Ada &amp; Co")
		if strings.Contains(wrong.text, "short\"") {
			t.Error("the page has the password")
		}
	})
}

func TestRecovering(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	other := s.browser(t)
	known := other.post(t, http.StatusOK, "/app/recover", url.Values{"email": {email}})
	unknown := other.post(t, http.StatusOK, "/app/recover", url.Values{"email": {"unknown@example.com"}})
	if known.text != unknown.text {
		t.Error("the page says whether an account has the address")
	}
	link := s.mails.link(t, email, "/recover")
	other.get(t, http.StatusOK, link).shows(t, "New password")
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	other.post(t, http.StatusOK, "/recover", url.Values{"token": {at.Query().Get("token")}, "password": {"analytical engine"}}).
		shows(t, "/app/sign-in")
	b.get(t, http.StatusSeeOther, "/app/help") // the session has ended
	s.signIn(t, email, "analytical engine").get(t, http.StatusOK, "/app/help")
}

// TestAFormOfTheDashboardThatDoesNotArrive holds that a stranger's form whose body stops to
// arrive does not hold its connection.
func TestAFormOfTheDashboardThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	s := open(t, "", func(d *api.Deps) { d.Config.BodyDeadline = 300 * time.Millisecond })
	for _, path := range []string{"/app/sign-in", "/app/sign-up", "/app/checks"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")) //nolint:noctx // a test's own socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nemail"); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
			t.Errorf("%s: the connection is still open after a minute (%v): %.200s", path, err, answer)
		}
	}
}
