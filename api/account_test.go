// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestQuickSignup(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("ReturnsAWorkingKey", func(t *testing.T) {
		t.Parallel()
		data := b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup",
			map[string]any{"email": "grace@example.com", "org_name": "Harvard Mark I"}).data(t)
		key := text(data, "api_key")
		if !regexp.MustCompile(`^vgl_[0-9A-Za-z]{38}$`).MatchString(key) {
			t.Errorf("key %q", key)
		}
		if prefix := text(data, "key_prefix"); !strings.HasPrefix(key, prefix) || len(prefix) >= len(key)/2 {
			t.Errorf("key_prefix %q", prefix)
		}
		user, _ := data["user"].(map[string]any)
		if text(user, "name") != "grace" || text(user, "email") != "grace@example.com" || user["email_verified"] != false {
			t.Errorf("user %v", user)
		}
		org, _ := data["organization"].(map[string]any)
		if text(org, "tier") != "free" || text(org, "slug") != "harvard-mark-i" {
			t.Errorf("organization %v", org)
		}
		verification, _ := data["verification"].(map[string]any)
		if verification["status"] != "unverified" || verification["checks_expire_after_days"] != 14.0 {
			t.Errorf("verification %v", verification)
		}
		b.as(key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
		b.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil, "X-API-Key", key)
	})

	t.Run("NeedsNoOrganizationName", func(t *testing.T) {
		t.Parallel()
		data := b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "solo@example.com"}).data(t)
		org, _ := data["organization"].(map[string]any)
		if text(org, "name") != "solo" {
			t.Errorf("organization %v", org)
		}
	})

	t.Run("NeverReturnsAnotherAccountsKey", func(t *testing.T) {
		t.Parallel()
		first := b.signup(t)
		again := b.want(t, http.StatusConflict, http.MethodPost, "/v1/auth/quick-signup",
			map[string]any{"email": strings.ToUpper(first.email), "org_name": "Other"})
		if again.body["code"] != "conflict" || strings.Contains(string(again.raw), "vgl_") {
			t.Errorf("answer %s", again.raw)
		}
	})
}

func TestSignupAndLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	signup := map[string]any{
		"email": "Ada@Example.com", "password": "difference engine", "name": "Ada", "organization_name": "Engines",
	}
	data := b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", signup).data(t)
	token := text(data, "token")

	t.Run("SignupReturnsAToken", func(t *testing.T) {
		t.Parallel()
		me := b.as(token).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		user, _ := me["user"].(map[string]any)
		if text(user, "email") != "Ada@Example.com" || text(user, "name") != "Ada" {
			t.Errorf("user %v", user)
		}
		if strings.Contains(string(b.as(token).do(t, http.MethodGet, "/v1/auth/me", nil).raw), "argon2") {
			t.Error("the password's hash is shown")
		}
	})

	t.Run("AnAddressSignsUpOnce", func(t *testing.T) {
		t.Parallel()
		again := map[string]any{"email": "ada@example.COM", "password": "difference engine", "name": "A", "organization_name": "E"}
		if a := b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/signup", again); a.detail("member") != "email" {
			t.Errorf("answer %s", a.raw)
		}
	})

	t.Run("LoginIgnoresTheCaseOfTheAddress", func(t *testing.T) {
		t.Parallel()
		login := map[string]any{"email": "ADA@example.com", "password": "difference engine"}
		data := b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", login).data(t)
		b.as(text(data, "token")).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	})

	t.Run("WrongPasswordAndUnknownAddressAreAnsweredAlike", func(t *testing.T) {
		t.Parallel()
		wrong := b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": "ada@example.com", "password": "analytical engine"})
		unknown := b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": "unknown@example.com", "password": "analytical engine"})
		if wrong.problem() != unknown.problem() || wrong.problem() == "" {
			t.Errorf("%q and %q", wrong.problem(), unknown.problem())
		}
	})

	t.Run("AnAccountWithoutAPasswordCannotLogIn", func(t *testing.T) {
		t.Parallel()
		quick := b.signup(t)
		for _, password := range []string{"", "x", "no one's password"} {
			b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", map[string]any{"email": quick.email, "password": password})
		}
	})
}

// TestLoginHashesForUnknownAddresses would find a login that answers at once when
// there is nothing to compare with: an argon2id hash takes some 20 ms, the rest
// of a login two or three. Load makes it slower, and never quicker.
func TestLoginHashesForUnknownAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hashing := b.listen(t, b.assemble(t))
	quickest := time.Hour
	guess := map[string]any{"email": "unknown@example.com", "password": "guess"}
	for range 5 {
		began := time.Now()
		hashing.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login", guess)
		quickest = min(quickest, time.Since(began))
	}
	if quickest < 6*time.Millisecond {
		t.Errorf("an unknown address is answered within %s", quickest)
	}
}

func TestTokenLastsSevenDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	data := b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": "ada@example.com", "password": "difference engine", "name": "Ada", "organization_name": "Engines",
	}).data(t)
	c := b.as(text(data, "token"))
	b.clock.Advance(7*24*time.Hour - time.Minute)
	c.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	b.clock.Advance(2 * time.Minute)
	if a := c.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil); a.header.Get("WWW-Authenticate") == "" {
		t.Error("no WWW-Authenticate")
	}
}
