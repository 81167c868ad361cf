// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// newAccount returns a body for sign-up.
func newAccount() object {
	return object{
		"email": fmt.Sprintf("person%d@example.com", serial.Add(1)), "password": "long enough", "name": "Ada", "organization_name": "Engines",
	}
}

// TestAccount tests section 4, Authentication and account.
func TestAccount(t *testing.T) {
	t.Parallel()

	t.Run("POST /v1/auth/signup", func(t *testing.T) {
		t.Parallel()
		account := newAccount()
		data := anonymous(t).want(http.StatusCreated, "POST", "/v1/auth/signup", account).data()
		has(t, "data", data, shape{"token": "string", "user": "object", "organization": "object"})
		user, _ := data["user"].(object)
		organization, _ := data["organization"].(object)
		has(t, "user", user, userShape())
		has(t, "organization", organization, organizationShape())
		anonymous(t).want(http.StatusBadRequest, "POST", "/v1/auth/signup", account) // the address is taken
		for _, required := range []string{"email", "password", "name", "organization_name"} {
			body := newAccount()
			delete(body, required)
			anonymous(t).want(http.StatusBadRequest, "POST", "/v1/auth/signup", body)
		}
	})

	t.Run("POST /v1/auth/login", func(t *testing.T) {
		t.Parallel()
		account := newAccount()
		anonymous(t).want(http.StatusCreated, "POST", "/v1/auth/signup", account)
		login := object{"email": account["email"], "password": account["password"]}
		data := anonymous(t).want(http.StatusOK, "POST", "/v1/auth/login", login).data()
		has(t, "data", data, shape{"token": "string", "user": "object", "organization": "object"})
		login["password"] = "something else"
		anonymous(t).want(http.StatusUnauthorized, "POST", "/v1/auth/login", login)
		anonymous(t).want(http.StatusUnauthorized, "POST", "/v1/auth/login", object{"email": "unknown@example.com", "password": "something else"})
	})

	t.Run("POST /v1/auth/quick-signup", func(t *testing.T) {
		t.Parallel()
		email := fmt.Sprintf("quick%d@example.com", serial.Add(1))
		body := object{"email": email, "org_name": "Quick"}
		data := anonymous(t).want(http.StatusCreated, "POST", "/v1/auth/quick-signup", body).data()
		has(t, "data", data, shape{
			"api_key": "string", "key_prefix": "string", "user": "object", "organization": "object", "verification": "object",
		})
		again := anonymous(t).want(http.StatusConflict, "POST", "/v1/auth/quick-signup", body)
		if strings.Contains(string(again.raw), "vgl_") {
			t.Errorf("it returns a key: %s", again.raw)
		}
		mailTo(t, email, "/recover?token=")
	})

	t.Run("GET /v1/auth/me", func(t *testing.T) {
		t.Parallel()
		data := newCaller(t).want(http.StatusOK, "GET", "/v1/auth/me", nil).data()
		user, _ := data["user"].(object)
		organization, _ := data["organization"].(object)
		has(t, "user", user, userShape())
		has(t, "organization", organization, organizationShape())
		anonymous(t).want(http.StatusUnauthorized, "GET", "/v1/auth/me", nil)
	})

	t.Run("PUT /v1/auth/email", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		moved := "moved-" + c.email
		data := c.want(http.StatusOK, "PUT", "/v1/auth/email", object{"new_email": moved}).data()
		if data["pending_email"] != moved || text(data["message"]) == "" {
			t.Errorf("data %v", data)
		}
		verify(t, moved)
		user, _ := c.want(http.StatusOK, "GET", "/v1/auth/me", nil).data()["user"].(object)
		if user["email"] != moved || user["email_verified"] != true {
			t.Errorf("user %v", user)
		}
		mailTo(t, c.email, "another") // the old address gets a notice
		c.want(http.StatusBadRequest, "PUT", "/v1/auth/email", object{"new_email": "nonsense"})
		anonymous(t).want(http.StatusUnauthorized, "PUT", "/v1/auth/email", object{"new_email": moved})
	})

	t.Run("POST /v1/auth/resend-verification", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		data := c.want(http.StatusOK, "POST", "/v1/auth/resend-verification", nil).data()
		if data["pending_email"] != c.email || text(data["message"]) == "" {
			t.Errorf("data %v", data)
		}
		anonymous(t).want(http.StatusUnauthorized, "POST", "/v1/auth/resend-verification", nil)
	})
}

// verify opens the verification link that was mailed to an address, as a person would.
func verify(t *testing.T, address string) {
	t.Helper()
	mail := mailTo(t, address, "/verify?token=")
	token := regexp.MustCompile(`/verify\?token=([A-Za-z0-9_-]+)`).FindStringSubmatch(mail)
	if token == nil {
		t.Fatalf("no link in %s", mail)
	}
	anonymous(t).want(http.StatusOK, "POST", "/v1/auth/verify", object{"token": token[1]})
}

// TestVerificationStates tests section 3, Account verification.
func TestVerificationStates(t *testing.T) {
	t.Parallel()
	service := newTarget(t)
	c := newCaller(t)
	check := c.check(service.URL)
	created, _ := time.Parse(time.RFC3339, text(check["created_at"]))
	expires, err := time.Parse(time.RFC3339, text(check["expires_at"]))
	if age := expires.Sub(created); err != nil || age < 14*24*time.Hour-time.Minute || age > 14*24*time.Hour+time.Minute {
		t.Errorf("an unverified account's check expires after %s", age)
	}
	verify(t, c.email)
	if got := c.want(http.StatusOK, "GET", "/v1/checks/"+text(check["id"]), nil).data(); got["expires_at"] != nil {
		t.Errorf("a verified account's check expires at %v", got["expires_at"])
	}
}

// TestAuthentication tests section 5.
func TestAuthentication(t *testing.T) {
	t.Parallel()

	t.Run("1 a JWT is valid for 7 days", func(t *testing.T) {
		t.Parallel()
		token := text(anonymous(t).want(http.StatusCreated, "POST", "/v1/auth/signup", newAccount()).data()["token"])
		session := caller{t: t, credential: token}
		session.want(http.StatusOK, "GET", "/v1/checks", nil)
		raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		var claims struct {
			Exp, Iat int64
		}
		if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp-claims.Iat != 7*24*60*60 {
			t.Errorf("claims %s", raw)
		}
	})

	t.Run("2 an API key is a bearer credential or X-API-Key", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		if !strings.HasPrefix(c.credential, "vgl_") {
			t.Errorf("key %.8s", c.credential)
		}
		c.want(http.StatusOK, "GET", "/v1/checks", nil)
		anonymous(t).want(http.StatusOK, "GET", "/v1/checks", nil, "X-API-Key", c.credential)
	})

	t.Run("2 an API key is revoked within 5 seconds", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		key := c.want(http.StatusCreated, "POST", "/v1/api-keys", object{"name": "short-lived"}).data()
		other := caller{t: t, credential: text(key["api_key"])}
		other.want(http.StatusOK, "GET", "/v1/checks", nil)
		listed := c.want(http.StatusOK, "GET", "/v1/api-keys", nil)
		if len(listed.list()) != 2 || strings.Contains(string(listed.raw), other.credential) {
			t.Errorf("listed %s", listed.raw)
		}
		c.want(http.StatusNoContent, "DELETE", "/v1/api-keys/"+text(key["id"]), nil)
		began := time.Now()
		eventually(t, "the key is refused", func() bool { return other.do("GET", "/v1/checks", nil).status == http.StatusUnauthorized })
		if took := time.Since(began); took > 15*time.Second { // three times what is promised
			t.Errorf("it took %s", took)
		}
	})

	t.Run("3 a password has at least 8 characters", func(t *testing.T) {
		t.Parallel()
		body := newAccount()
		body["password"] = "1234567"
		anonymous(t).want(http.StatusBadRequest, "POST", "/v1/auth/signup", body)
	})

	t.Run("4 the email address recovers access", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		anonymous(t).want(http.StatusOK, "POST", "/v1/auth/recover", object{"email": c.email})
		mailTo(t, c.email, "/recover?token=")
	})

	t.Run("5 all endpoints but System need a credential", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			"/v1/auth/me", "/v1/api-keys", "/v1/checks", "/v1/usage", "/v1/notification-channels",
			"/v1/incidents", "/v1/deliveries", "/v1/stream/alerts", "/v1/audit-log",
		} {
			if a := anonymous(t).want(http.StatusUnauthorized, "GET", path, nil); !strings.Contains(text(a.body["error"]), "Authorization") {
				t.Errorf("%s: %s", path, a.raw)
			}
		}
		anonymous(t).want(http.StatusOK, "GET", "/v1/template-variables", nil)
	})

	t.Run("6 everything is scoped to the organization", func(t *testing.T) {
		t.Parallel()
		service := newTarget(t)
		mine, other := newCaller(t), newCaller(t)
		id := text(mine.check(service.URL)["id"])
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			var body any
			if method == "PUT" {
				body = object{"name": "stolen"}
			}
			other.want(http.StatusNotFound, method, "/v1/checks/"+id, body)
		}
		if got := mine.want(http.StatusOK, "GET", "/v1/checks/"+id, nil).data(); got["name"] != "Service" {
			t.Errorf("check %v", got)
		}
	})
}
