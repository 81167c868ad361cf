// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
)

func TestUnverifiedOrganizationsAreCapped(t *testing.T) {
	t.Parallel()
	private := &targets{}
	b := setup(t, func(d *api.Deps) {
		d.PrivateTargets = private
		d.Config.UnverifiedPerAddress, d.Config.UnverifiedTotal = 3, 5
		d.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	n := 0
	signup := func(status int, from string) answer {
		t.Helper()
		n++
		body := map[string]any{"email": "u" + strconv.Itoa(n) + "@example.com"}
		return b.want(t, status, http.MethodPost, "/v1/auth/quick-signup", body, "X-Forwarded-For", from)
	}
	var first answer
	for i := range 3 {
		if made := signup(http.StatusCreated, "2001:db8::"+strconv.Itoa(i)); i == 0 { // addresses of one /64 are one client's
			first = made
		}
	}
	if r := signup(http.StatusTooManyRequests, "2001:db8::9"); r.header.Get("Retry-After") == "" || r.body["code"] != "rate_limited" {
		t.Errorf("answer %s", r.raw)
	}
	withPassword := map[string]any{"email": "p@example.com", "password": "long enough", "name": "P", "organization_name": "P"}
	b.want(t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/signup", withPassword, "X-Forwarded-For", "2001:db8::9")
	user, _ := first.data(t)["user"].(map[string]any)
	if _, err := b.store.DB().NewRaw("UPDATE users SET email_verified = true WHERE id = ?", text(user, "id")).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	signup(http.StatusCreated, "2001:db8::9") // one is verified
	signup(http.StatusCreated, "198.51.100.1")
	signup(http.StatusCreated, "198.51.100.2")
	signup(http.StatusTooManyRequests, "198.51.100.3") // the instance is full
	b.clock.Advance(14*24*time.Hour + time.Second)
	signup(http.StatusCreated, "198.51.100.3")
	private.open = true
	for range 10 {
		n++
		b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "u" + strconv.Itoa(n) + "@example.com"})
	}
}
