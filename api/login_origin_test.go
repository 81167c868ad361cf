// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/vigil-monitor/vigil/api"
)

// TestAStrangersWrongPasswordsDoNotLockOutTheOwner holds that wrong passwords from one network
// hold back that network, whether or not the address has an account.
func TestAStrangersWrongPasswordsDoNotLockOutTheOwner(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	const email, password = "ada@example.com", "difference engine"
	b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": email, "password": password, "name": "Ada", "organization_name": "Engines",
	})
	login := func(status int, from, email, password string) {
		t.Helper()
		b.want(t, status, http.MethodPost, "/v1/auth/login", map[string]any{"email": email, "password": password}, "X-Forwarded-For", from)
	}
	for _, address := range []string{email, "unknown@example.com"} {
		for range 10 {
			login(http.StatusUnauthorized, "192.0.2.1", address, "a wrong guess")
		}
		login(http.StatusTooManyRequests, "192.0.2.1", address, password)
	}
	login(http.StatusUnauthorized, "198.51.100.1", email, "a wrong guess")
	login(http.StatusOK, "198.51.100.1", email, password)
	login(http.StatusTooManyRequests, "192.0.2.1", email, password)
}
