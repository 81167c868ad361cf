// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// tokenTo waits for a mail to an address with a link to a page, and returns its token.
func tokenTo(t *testing.T, address, page string) string {
	t.Helper()
	mail := mailTo(t, address, "/"+page+"?token=")
	return regexp.MustCompile(`/` + page + `\?token=([A-Za-z0-9_-]+)`).FindStringSubmatch(mail)[1]
}

// TestAccountAccess tests who may use and change an account, and how that ends.
func TestAccountAccess(t *testing.T) {
	t.Parallel()

	t.Run("recovery ends keys, and makes one", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		anonymous(t).want(http.StatusOK, "POST", "/v1/auth/recover", object{"email": c.email})
		form := url.Values{"token": {tokenTo(t, c.email, "recover")}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, baseURL+"/recover", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := conforming(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Fatalf("the page answers %d", response.StatusCode)
		}
		c.want(http.StatusUnauthorized, "GET", "/v1/auth/me", nil)
	})

	t.Run("a verification link describes the account, and can end its keys", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		token := tokenTo(t, c.email, "verify")
		data := anonymous(t).want(http.StatusOK, "POST", "/v1/auth/verify/inspect", object{"token": token}).data()
		has(t, "data", data, shape{"email": "string", "first": "boolean", "created_at": "date-time", "created_address": "string"})
		if keys, _ := data["keys"].([]any); len(keys) != 1 {
			t.Errorf("data %v", data)
		}
		anonymous(t).want(http.StatusOK, "POST", "/v1/auth/verify", object{"token": token, "end_credentials": true})
		c.want(http.StatusUnauthorized, "GET", "/v1/auth/me", nil)
		tokenTo(t, c.email, "recover")
	})

	t.Run("a key alone moves a confirmed address with its consent only", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		verify(t, c.email)
		moved := "moved-" + c.email
		if data := c.want(http.StatusOK, "PUT", "/v1/auth/email", object{"new_email": moved}).data(); data["pending_email"] != moved {
			t.Errorf("data %v", data)
		}
		anonymous(t).want(http.StatusOK, "POST", "/v1/auth/email/approve", object{"token": tokenTo(t, c.email, "email-change")})
		verify(t, moved)
		user, _ := c.want(http.StatusOK, "GET", "/v1/auth/me", nil).data()["user"].(object)
		if user["email"] != moved {
			t.Errorf("user %v", user)
		}
	})

	t.Run("a key alone sets no password", func(t *testing.T) {
		t.Parallel()
		newCaller(t).want(http.StatusForbidden, "PUT", "/v1/auth/password", object{"new_password": "long enough"})
	})

	t.Run("failed logins are in the audit log", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		anonymous(t).want(http.StatusUnauthorized, "POST", "/v1/auth/login", object{"email": c.email, "password": "something"})
		eventually(t, "an entry", func() bool {
			return strings.Contains(string(c.want(http.StatusOK, "GET", "/v1/audit-log", nil).raw), "account.login_failed")
		})
	})
}
