// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

// inbox is the mail server of a test, with the API that uses it.
type inbox struct {
	*testServer
	server  *mailtest.Server
	mailing func(*api.Deps)
}

func setupMail(t *testing.T) inbox {
	t.Helper()
	server, mails := withMail(t)
	return inbox{setup(t, mails), server, mails}
}

// link waits for the first mail to an address with a link to a page, and returns its token.
func (i inbox) link(t *testing.T, to, page string) string {
	t.Helper()
	var found string
	eventually(t, "a mail to "+to+" with the link arrives", func() bool {
		for _, one := range letters(t, i.server, to) {
			if strings.Contains(one, "/"+page+"?token=") {
				found = one
			}
		}
		return found != ""
	})
	return tokenOf(t, found, page)
}

// submit sends the form of a page.
func (i inbox) submit(t *testing.T, status int, page string, values url.Values) answer {
	t.Helper()
	return i.want(t, status, http.MethodPost, "/"+page, values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// prove confirms the address of a new account.
func (i inbox) prove(t *testing.T, a person) {
	t.Helper()
	i.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": i.link(t, a.email, "verify")})
}

func (i inbox) address(t *testing.T, a person) string {
	t.Helper()
	user, _ := a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)["user"].(map[string]any)
	return text(user, "email")
}

func TestRecoveryEndsWhatCameBefore(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a := b.signupWithPassword(t, "of the attacker")
	b.prove(t, a)
	login := map[string]any{"email": a.email, "password": "of the attacker"}
	session := b.as(text(b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", login).data(t), "token"))
	second := a.as(text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "second"}).data(t), "api_key"))
	moved := "moved-" + a.email
	a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": moved, "password": "of the attacker"})
	confirm, change := b.link(t, moved, "verify"), b.link(t, a.email, "email-change")
	elsewhere := b.serve(t).as(a.key) // another process, which knows the key
	elsewhere.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)

	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": a.email})
	page := b.submit(t, http.StatusOK, "recover", url.Values{"token": {b.link(t, a.email, "recover")}})
	made := regexp.MustCompile(`vgl_\w{8}`).FindString(string(page.raw))
	if made == "" {
		t.Fatalf("no key: %s", page.raw)
	}
	b.mailed(t, a.email, "Your account was recovered", "begins with: "+made, "has no password", "127.")
	for name, c := range map[string]*client{"the first key": a.client, "the second key": second, "the session": session} {
		if got := c.do(t, http.MethodGet, "/v1/auth/me", nil); got.status != http.StatusUnauthorized {
			t.Errorf("%s still works: %s", name, got.raw)
		}
	}
	b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", login)
	b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": confirm})
	b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/email/approve", map[string]any{"token": change})
	// The other process knows the key for some seconds more; nothing that it makes may last.
	elsewhere.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/api-keys", map[string]any{"name": "third"})
	elsewhere.want(t, http.StatusUnauthorized, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": moved})
}

// mailed waits for a mail to an address that has all the parts.
func (i inbox) mailed(t *testing.T, to string, parts ...string) {
	t.Helper()
	eventually(t, "the mail to "+to+" arrives", func() bool {
		for _, one := range letters(t, i.server, to) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(one, part) }) {
				return true
			}
		}
		return false
	})
}

func TestFirstVerification(t *testing.T) {
	t.Parallel()
	b := setupMail(t)

	t.Run("TheLinkShowsWhatTheAccountIs", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "of <someone>"})
		token := b.link(t, a.email, "verify")
		for range 2 { // the token is not consumed
			got := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify/inspect", map[string]any{"token": token}).data(t)
			keys, _ := got["keys"].([]any)
			if got["email"] != a.email || got["first"] != true || len(keys) != 2 ||
				text(got, "created_at") == "" || !strings.HasPrefix(text(got, "created_address"), "127.") {
				t.Fatalf("got %v", got)
			}
			names := map[string]bool{}
			for _, one := range keys {
				key, _ := one.(map[string]any)
				names[text(key, "name")] = strings.HasPrefix(text(key, "key_prefix"), "vgl_") && text(key, "created_at") != ""
			}
			if !names["of <someone>"] || !names["quick sign-up"] {
				t.Errorf("keys %v", keys)
			}
		}
		page := string(b.want(t, http.StatusOK, http.MethodGet, "/verify?token="+token, nil).raw)
		for _, part := range []string{"This is my account", "I did not make this", "of &lt;someone&gt;", "127.", a.key[:12]} {
			if !strings.Contains(page, part) {
				t.Errorf("the page lacks %q: %s", part, page)
			}
		}
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify/inspect", map[string]any{"token": "unknown"})
	})

	t.Run("ByDefaultItKeepsCredentials", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		b.prove(t, a)
		a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	})

	for name, use := range map[string]func(t *testing.T, token string){
		"ByTheAPI": func(t *testing.T, token string) {
			t.Helper()
			b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token, "end_credentials": true})
		},
		"ByThePage": func(t *testing.T, token string) {
			t.Helper()
			b.submit(t, http.StatusOK, "verify", url.Values{"token": {token}, "end_credentials": {"true"}})
		},
	} {
		t.Run("ItEndsThoseOfAStranger"+name, func(t *testing.T) {
			t.Parallel()
			a := b.signupWithPassword(t, "of a stranger")
			use(t, b.link(t, a.email, "verify"))
			a.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
			b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": a.email, "password": "of a stranger"})
			page := b.submit(t, http.StatusOK, "recover", url.Values{"token": {b.link(t, a.email, "recover")}, "password": {"of the owner"}})
			if !strings.Contains(string(page.raw), "vgl_") {
				t.Errorf("page %s", page.raw)
			}
			b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", map[string]any{"email": a.email, "password": "of the owner"})
			b.mailed(t, a.email, "Your account was recovered", "password that was chosen")
		})
	}
}

func TestChangeOfAProvenAddress(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	request := func(t *testing.T, a person, body map[string]any) string {
		t.Helper()
		moved := "moved-" + a.email
		body["new_email"] = moved
		got := a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", body).data(t)
		if got["pending_email"] != moved {
			t.Errorf("got %v", got)
		}
		return moved
	}

	t.Run("AKeyAloneNeedsTheOldAddress", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		b.prove(t, a)
		moved := request(t, a, map[string]any{})
		allow := b.link(t, a.email, "email-change")
		page := string(b.want(t, http.StatusOK, http.MethodGet, "/email-change?token="+allow, nil).raw)
		if !strings.Contains(page, "Allow the change") || !strings.Contains(page, "Stop the change") || !strings.Contains(page, moved) {
			t.Errorf("page %s", page)
		}
		if got := letters(t, b.server, moved); len(got) != 0 {
			t.Fatalf("the new address got a link before the old one agreed: %v", got)
		}
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": allow})
		b.submit(t, http.StatusOK, "email-change", url.Values{"token": {allow}})
		if b.address(t, a) != a.email {
			t.Error("the address changed before the new one was confirmed")
		}
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": b.link(t, moved, "verify")})
		if got := b.address(t, a); got != moved {
			t.Errorf("address %s", got)
		}
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/email/stop", map[string]any{"token": allow})
	})

	t.Run("ThePasswordIsEnough", func(t *testing.T) {
		t.Parallel()
		a := b.signupWithPassword(t, "difference engine")
		b.prove(t, a)
		wrong := map[string]any{"new_email": "x" + a.email, "password": "wrong words"}
		r := a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/auth/email", wrong)
		if r.detail("member") != "password" {
			t.Errorf("got %s", r.raw)
		}
		moved := request(t, a, map[string]any{"password": "difference engine"})
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": b.link(t, moved, "verify")})
		if got := b.address(t, a); got != moved {
			t.Errorf("address %s", got)
		}
	})

	for name, password := range map[string]string{"OfAKey": "", "WithThePassword": "difference engine"} {
		t.Run("TheOldAddressStopsARequest"+name, func(t *testing.T) {
			t.Parallel()
			a := b.signupWithPassword(t, "difference engine")
			b.prove(t, a)
			moved := request(t, a, map[string]any{"password": password})
			stop := b.link(t, a.email, "email-change")
			if password == "" {
				b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/email/approve", map[string]any{"token": stop})
			}
			confirm := b.link(t, moved, "verify")
			b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/email/stop", map[string]any{"token": stop})
			b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": confirm})
			if b.address(t, a) != a.email {
				t.Error("the address changed")
			}
		})
	}
}

func TestOwnersAreMailed(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a := b.signupWithPassword(t, "difference engine")
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{
		"name": "see https://evil.example", "scopes": []string{"read"}, "expires_at": b.clock.Now().Add(time.Hour),
	}).data(t)
	b.mailed(t, a.email, "A new API key", text(made, "key_prefix"), "[read]", "127.", "[link removed]")
	a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/password",
		map[string]any{"current_password": "difference engine", "new_password": "analytical engine"})
	b.mailed(t, a.email, "Your password was changed", "127.", "/app/recover")
}

// TestMailQuotas holds that limits are those of an address and an account, over all
// processes.
func TestMailQuotas(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	victim := map[string]any{"new_email": "victim@example.com"}
	for range 2 {
		a := b.signup(t)
		for range 10 {
			a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", victim)
		}
		elsewhere := b.serve(t).as(a.key)
		r := elsewhere.want(t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/resend-verification", nil)
		if r.header.Get("Retry-After") == "" {
			t.Errorf("got %s", r.raw)
		}
	}
	third := b.signup(t)
	third.want(t, http.StatusTooManyRequests, http.MethodPut, "/v1/auth/email", victim)
	third.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": "other@example.com"})
	eventually(t, "20 mails arrive", func() bool { return len(letters(t, b.server, "victim@example.com")) == 20 })
	b.clock.Advance(24 * time.Hour)
	third.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", victim)
}

func TestFailedLoginsAndRecoveryRequestsAreAudited(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a, other := b.signupWithPassword(t, "difference engine"), b.signup(t)
	b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
		map[string]any{"email": strings.ToUpper(a.email), "password": "guess"}, "User-Agent", "guesser/1")
	b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": "unknown@example.com", "password": "guess"})
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": a.email})
	find := func(c *client, action string) map[string]any {
		for _, row := range c.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
			if row["action"] == action {
				return row
			}
		}
		return nil
	}
	for _, action := range []string{"account.login_failed", "account.recover_request"} {
		eventually(t, action+" is audited", func() bool { return find(a.client, action) != nil })
		row := find(a.client, action)
		if row["resource_id"] != a.user.String() || row["user_id"] != nil || row["api_key_id"] != nil ||
			!strings.HasPrefix(text(row, "address"), "127.") {
			t.Errorf("%s: %v", action, row)
		}
		if find(other.client, action) != nil {
			t.Errorf("another organization sees %s", action)
		}
	}
	if row := find(a.client, "account.login_failed"); row["user_agent"] != "guesser/1" {
		t.Errorf("entry %v", row)
	}
}
