// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/vigil-monitor/vigil/api"
)

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)

	t.Run("AKeyIsShownOnce", func(t *testing.T) {
		t.Parallel()
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "  deploy "}).data(t)
		key := text(made, "api_key")
		if text(made, "name") != "deploy" || made["last_used_at"] != nil {
			t.Errorf("made %v", made)
		}
		listed := a.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil)
		if !slices.ContainsFunc(listed.rows(t), func(row map[string]any) bool {
			return row["id"] == made["id"] && strings.HasPrefix(key, text(row, "key_prefix")) && row["name"] == "deploy"
		}) {
			t.Errorf("listed %s", listed.raw)
		}
		if strings.Contains(string(listed.raw), key) {
			t.Error("the list shows the key")
		}
		a.as(key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	})

	t.Run("WhatAKeyShowsMayBeSentAndChangesNothing", func(t *testing.T) {
		t.Parallel()
		body := map[string]any{
			"name":       "x",
			"id":         "00000000-0000-4000-8000-000000000000",
			"created_at": "2001-01-01T00:00:00Z",
			"api_key":    "vgl_x",
		}
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", body).data(t)
		if made["id"] == body["id"] || made["created_at"] == body["created_at"] || made["api_key"] == body["api_key"] {
			t.Errorf("made %v", made)
		}
	})
}

func TestRevokedKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	other := b.serve(t).as("") // another process on the same database
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "short"}).data(t)
	key := text(made, "api_key")
	b.as(key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	other.as(key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+text(made, "id"), nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, "/v1/api-keys/"+text(made, "id"), nil)
	b.as(key).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
	b.clock.Advance(5 * time.Second)
	other.as(key).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
}

// TestTokenAfterSessionsWereEndedElsewhere logs in at one process after all sessions were ended, and uses the token
// at another one, which knows the user from before.
func TestTokenAfterSessionsWereEndedElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const password = "difference engine"
	a := b.signupWithPassword(t, password)
	other := b.serve(t).as("")
	login := func() string {
		return text(
			b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", map[string]any{"email": a.email, "password": password}).data(t),
			"token",
		)
	}
	old := login()
	other.as(old).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	if err := b.store.EndSessions(t.Context(), a.user); err != nil {
		t.Fatal(err)
	}
	other.as(login()).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	other.as(old).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
}

func TestKeyUseIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	lastUsed := func() string {
		return text(a.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil).rows(t)[0], "last_used_at")
	}
	eventually(t, "the use of the key is noted", func() bool { return lastUsed() != "" })
	first := lastUsed()
	b.clock.Advance(30 * time.Second)
	lastUsed()
	b.clock.Advance(20 * time.Second)
	if now := lastUsed(); now != first {
		t.Errorf("noted again after 50 s: %s, then %s", first, now)
	}
	b.clock.Advance(20 * time.Second)
	eventually(t, "the use of the key is noted again", func() bool { return lastUsed() != first })
}

// TestCredentials holds that nothing but a good credential is let in.
func TestCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	signingKey := bytes.Repeat([]byte{7}, 32)
	now := b.clock.Now()
	good := func(changes ...func(jwt.MapClaims)) jwt.MapClaims {
		claims := jwt.MapClaims{
			"iss": "vigil", "aud": "api", "sub": a.user.String(), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "sv": 0,
		}
		for _, change := range changes {
			change(claims)
		}
		return claims
	}
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		token, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	set := func(name string, value any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = value } }
	b.as(sign(jwt.SigningMethodHS256, signingKey, good())).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)

	flipped := []byte(a.key)
	flipped[10] = map[bool]byte{true: 'x', false: 'y'}[flipped[10] != 'x']
	for name, header := range map[string]string{
		"none":                    "",
		"no scheme":               a.key,
		"another scheme":          "Basic " + a.key,
		"empty bearer":            "Bearer ",
		"a word":                  "Bearer sesame",
		"key with a wrong letter": "Bearer " + string(flipped),
		"key cut short":           "Bearer " + a.key[:len(a.key)-1],
		"key with more":           "Bearer " + a.key + "0",
		"unknown key":             "Bearer " + unknownKey(t),
		"alg none":                "Bearer " + sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good()),
		"alg HS512":               "Bearer " + sign(jwt.SigningMethodHS512, signingKey, good()),
		"another signing key":     "Bearer " + sign(jwt.SigningMethodHS256, bytes.Repeat([]byte{8}, 32), good()),
		"empty signing key":       "Bearer " + sign(jwt.SigningMethodHS256, []byte{}, good()),
		"expired":                 "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("exp", now.Add(-time.Second).Unix()))),
		"without expiry":          "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(func(c jwt.MapClaims) { delete(c, "exp") })),
		"issued tomorrow":         "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("iat", now.Add(24*time.Hour).Unix()))),
		"another issuer":          "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("iss", "evil"))),
		"another audience":        "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("aud", "codec"))),
		"without an audience":     "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(func(c jwt.MapClaims) { delete(c, "aud") })),
		"unknown user":            "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("sub", "00000000-0000-4000-8000-000000000000"))),
		"no user":                 "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("sub", "root"))),
		"another session version": "Bearer " + sign(jwt.SigningMethodHS256, signingKey, good(set("sv", 9))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := b.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil, "Authorization", header)
			if r.body["code"] != "unauthorized" || r.header.Get("WWW-Authenticate") == "" {
				t.Errorf("answer %s", r.raw)
			}
			if name == "none" && !strings.Contains(r.problem(), "Authorization header") {
				t.Errorf("sentence %q", r.problem())
			}
		})
	}
	t.Run("a token is no key", func(t *testing.T) {
		t.Parallel()
		b.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil, "X-API-Key", sign(jwt.SigningMethodHS256, signingKey, good()))
	})
}

func TestOlderSigningKeysAreAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := text(b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": "ada@example.com", "password": "difference engine", "name": "Ada", "organization_name": "Engines",
	}).data(t), "token")
	rotated := b.serve(t, func(d *api.Deps) {
		d.Config.OlderSigningKeys = [][]byte{d.Config.SigningKey}
		d.Config.SigningKey = bytes.Repeat([]byte{9}, 32)
	})
	rotated.as(token).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	dropped := b.serve(t, func(d *api.Deps) { d.Config.SigningKey = bytes.Repeat([]byte{9}, 32) })
	dropped.as(token).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
}

func unknownKey(t *testing.T) string {
	t.Helper()
	plain, _, err := api.NewKey("never stored")
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
