// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestVerification(t *testing.T) {
	t.Parallel()
	server, mails := withMail(t)
	b := setup(t, mails)

	t.Run("SignupsMailALinkThatMakesChecksPermanent", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		check := a.check(t)
		if check["expires_at"] == nil {
			t.Error("the check of an unverified account does not expire")
		}
		token := tokenOf(t, letter(t, server, a.email, 1), "verify")
		data := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token}).data(t)
		if user, _ := data["user"].(map[string]any); user["email_verified"] != true {
			t.Errorf("data %v", data)
		}
		if got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(check, "id"), nil).data(t); got["expires_at"] != nil {
			t.Errorf("check %v", got)
		}
		if got := a.check(t); got["expires_at"] != nil {
			t.Errorf("a new check expires: %v", got)
		}
		r := b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token})
		if r.detail("member") != "token" {
			t.Errorf("second use: %s", r.raw)
		}
		data = a.want(t, http.StatusOK, http.MethodPost, "/v1/auth/resend-verification", nil).data(t)
		if data["pending_email"] != nil || len(letters(t, server, a.email)) != 1 {
			t.Errorf("resend on a verified account: %v", data)
		}
	})

	t.Run("FollowingTheLinkAloneChangesNothing", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		token := tokenOf(t, letter(t, server, a.email, 1), "verify")
		page := b.want(t, http.StatusOK, http.MethodGet, "/verify?token="+token, nil)
		if !strings.Contains(string(page.raw), token) || page.header.Get("Referrer-Policy") != "no-referrer" ||
			page.header.Get("Cache-Control") != "no-store" {
			t.Errorf("page %v %s", page.header, page.raw)
		}
		verified := func() any {
			me := a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
			user, _ := me["user"].(map[string]any)
			return user["email_verified"]
		}
		if verified() != false {
			t.Error("the link was used by looking at it")
		}
		form := url.Values{"token": {token}}.Encode()
		done := b.want(t, http.StatusOK, http.MethodPost, "/verify", form, "Content-Type", "application/x-www-form-urlencoded")
		if !strings.Contains(string(done.raw), a.email) || verified() != true {
			t.Errorf("page %s", done.raw)
		}
	})

	t.Run("PagesEscapeWhatTheyShow", func(t *testing.T) {
		t.Parallel()
		page := b.want(t, http.StatusOK, http.MethodGet, "/verify?token="+url.QueryEscape(`"><script>alert(1)</script>`), nil)
		if strings.Contains(string(page.raw), "<script>") {
			t.Errorf("page %s", page.raw)
		}
	})

	t.Run("ResendEndsTheOlderLink", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		older := tokenOf(t, letter(t, server, a.email, 1), "verify")
		data := a.want(t, http.StatusOK, http.MethodPost, "/v1/auth/resend-verification", nil).data(t)
		if data["pending_email"] != a.email || text(data, "message") == "" {
			t.Errorf("data %v", data)
		}
		newer := tokenOf(t, letter(t, server, a.email, 2), "verify")
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": older})
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": newer})
	})

	t.Run("AnAddressChangesWhenItsLinkIsUsedAndTheOldOneIsNotified", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		letter(t, server, a.email, 1) // before the next, since mails are sent side by side
		moved := "moved-" + a.email
		data := a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": moved}).data(t)
		if data["pending_email"] != moved {
			t.Errorf("data %v", data)
		}
		address := func() string {
			me := a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
			user, _ := me["user"].(map[string]any)
			return text(user, "email")
		}
		token := tokenOf(t, letter(t, server, moved, 1), "verify")
		if address() != a.email {
			t.Error("the address changed before the link was used")
		}
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token})
		if address() != moved {
			t.Errorf("address %s", address())
		}
		if notice := letter(t, server, a.email, 2); !strings.Contains(notice, "another") || strings.Contains(notice, "token=") {
			t.Errorf("the notice is %s", notice)
		}
	})

	t.Run("AnAddressOfAnotherAccountIsRefusedWhereMailStays", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a, other := b.signup(t), b.signup(t)
		r := a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": strings.ToUpper(other.email)})
		if r.detail("member") != "new_email" {
			t.Errorf("answer %s", r.raw)
		}
	})

	t.Run("AnAccountCausesTenMailsAnHour", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		for range 10 {
			a.want(t, http.StatusOK, http.MethodPost, "/v1/auth/resend-verification", nil)
		}
		if r := a.want(t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/resend-verification", nil); r.header.Get("Retry-After") == "" {
			t.Errorf("answer %s", r.raw)
		}
	})
}

func TestVerificationLinksLastADay(t *testing.T) {
	t.Parallel()
	server, mails := withMail(t)
	b := setup(t, mails)
	a := b.signup(t)
	token := tokenOf(t, letter(t, server, a.email, 1), "verify")
	b.clock.Advance(24 * time.Hour)
	b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token})
}

func TestUnverifiedChecksExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path := "/v1/checks/" + text(a.check(t), "id")
	expire := func() {
		t.Helper()
		if _, err := b.store.ExpireChecks(t.Context(), b.clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	b.clock.Advance(14*24*time.Hour - time.Second)
	expire()
	a.want(t, http.StatusOK, http.MethodGet, path, nil)
	b.clock.Advance(time.Second)
	expire()
	a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	server, mails := withMail(t)
	b := setup(t, mails)
	form := func(values url.Values) (string, string, string, string) {
		return "/recover", values.Encode(), "Content-Type", "application/x-www-form-urlencoded"
	}
	use := func(t *testing.T, status int, values url.Values) answer {
		t.Helper()
		path, body, name, value := form(values)
		return b.want(t, status, http.MethodPost, path, body, name, value)
	}
	newKey := func(t *testing.T, page answer) string {
		t.Helper()
		key := regexp.MustCompile(`vgl_[0-9A-Za-z]{38}`).FindString(string(page.raw))
		if key == "" {
			t.Fatalf("no key on the page: %s", page.raw)
		}
		return key
	}

	t.Run("TheLinkMakesOneNewKey", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		letter(t, server, a.email, 1) // before the next, since mails are sent side by side
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": strings.ToUpper(a.email)})
		token := tokenOf(t, letter(t, server, a.email, 2), "recover")
		b.want(t, http.StatusOK, http.MethodGet, "/recover?token="+token, nil)
		key := newKey(t, use(t, http.StatusOK, url.Values{"token": {token}}))
		me := b.as(key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		if user, _ := me["user"].(map[string]any); text(user, "id") != a.user.String() || user["email_verified"] != true {
			t.Errorf("me %v", me)
		}
		if page := use(t, http.StatusBadRequest, url.Values{"token": {token}}); strings.Contains(string(page.raw), "vgl_") {
			t.Errorf("second use: %s", page.raw)
		}
	})

	t.Run("AnUnknownAddressIsAnsweredAlikeAndGetsNothing", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		known := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": a.email})
		unknown := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": "unknown@example.com"})
		if string(known.raw) != string(unknown.raw) {
			t.Errorf("%s and %s", known.raw, unknown.raw)
		}
		letter(t, server, a.email, 2)
		if got := letters(t, server, "unknown@example.com"); len(got) != 0 {
			t.Errorf("mail to an unknown address: %v", got)
		}
	})

	t.Run("ASecondQuickSignupMailsTheOwner", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		letter(t, server, a.email, 1)
		b.want(t, http.StatusConflict, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": a.email})
		token := tokenOf(t, letter(t, server, a.email, 2), "recover")
		newKey(t, use(t, http.StatusOK, url.Values{"token": {token}}))
	})

	t.Run("APasswordCanBeChosenAndEndsSessions", func(t *testing.T) {
		t.Parallel()
		signup := map[string]any{"email": "lost@example.com", "password": "forgotten words", "name": "L", "organization_name": "L"}
		session := text(b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", signup).data(t), "token")
		letter(t, server, "lost@example.com", 1)
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": "lost@example.com"})
		token := tokenOf(t, letter(t, server, "lost@example.com", 2), "recover")
		use(t, http.StatusBadRequest, url.Values{"token": {token}, "password": {"short"}})
		use(t, http.StatusOK, url.Values{"token": {token}, "password": {"remembered words"}})
		b.as(session).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
		login := map[string]any{"email": "lost@example.com", "password": "remembered words"}
		b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", login)
		login["password"] = "forgotten words"
		b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", login)
	})
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	b := setup(t)
	signup := map[string]any{"email": "ada@example.com", "password": "difference engine", "name": "A", "organization_name": "A"}
	token := text(b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", signup).data(t), "token")
	other := b.serve(t).as(token) // another process, which has seen the token
	other.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)

	wrong := map[string]any{"current_password": "analytical engine", "new_password": "a new password"}
	if r := b.as(token).want(t, http.StatusBadRequest, http.MethodPut, "/v1/auth/password", wrong); r.detail("member") != "current_password" {
		t.Errorf("answer %s", r.raw)
	}
	right := map[string]any{"current_password": "difference engine", "new_password": "a new password"}
	fresh := text(b.as(token).want(t, http.StatusOK, http.MethodPut, "/v1/auth/password", right).data(t), "token")
	b.as(token).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
	b.as(fresh).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	b.clock.Advance(5 * time.Second)
	other.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)

	t.Run("AKeyAloneSetsNoPassword", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		a.want(t, http.StatusForbidden, http.MethodPut, "/v1/auth/password", map[string]any{"new_password": "my first password"})
		b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": a.email, "password": "my first password"})
	})
}

func TestFailedLoginsAreHeldBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": "ada@example.com", "password": "difference engine", "name": "A", "organization_name": "A"})
	for _, email := range []string{"ada@example.com", "unknown@example.com"} {
		for range 10 {
			b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": email, "password": "guess"})
		}
		r := b.want(
			t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/login", map[string]any{"email": email, "password": "difference engine"},
		)
		if r.body["code"] != "rate_limited" || r.header.Get("Retry-After") != "2" {
			t.Errorf("%s: %s, Retry-After %s", email, r.raw, r.header.Get("Retry-After"))
		}
	}
	b.clock.Advance(2 * time.Second)
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", map[string]any{"email": "ada@example.com", "password": "difference engine"})
	b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": "ada@example.com", "password": "guess"})
}

// TestCreationAllowance holds that it binds only where mail reaches people.
func TestCreationAllowance(t *testing.T) {
	t.Parallel()
	server, mails := withMail(t)
	b := setup(t, mails)
	a := b.signup(t)
	create := func() answer { return a.do(t, http.MethodPost, "/v1/checks", newCheck()) }
	for range 30 {
		if r := create(); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	r := create()
	if r.status != http.StatusForbidden || r.body["code"] != "plan_limit" || r.detail("limit") != 30.0 || r.detail("current") != 30.0 ||
		r.detail("requested") != 1.0 ||
		r.detail("tier") != "free" {
		t.Errorf("unverified: %d %s", r.status, r.raw)
	}
	token := tokenOf(t, letter(t, server, a.email, 1), "verify")
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/verify", map[string]any{"token": token})
	for range 60 {
		if r := create(); r.status != http.StatusCreated {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	if r := create(); r.status != http.StatusForbidden || r.detail("limit") != 90.0 {
		t.Errorf("verified: %d %s", r.status, r.raw)
	}
	b.clock.Advance(time.Hour)
	if r := create(); r.status != http.StatusCreated {
		t.Errorf("an hour later: %d %s", r.status, r.raw)
	}
	without := setup(t)
	if plan := account.PlanOf(account.TierFree, 0); plan.CreationsPerHour != 30 {
		t.Fatal("the plan changed")
	}
	a = without.signup(t)
	for range 31 {
		a.check(t)
	}
}
