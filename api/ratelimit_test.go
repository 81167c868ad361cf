// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// hold keeps the windows open that are: a machine may be too slow for the minute
// of the database's clock.
func (b *testServer) hold(t *testing.T) {
	t.Helper()
	if _, err := b.store.DB().NewRaw("UPDATE rate_windows SET started = started + interval '1 hour'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// reopen makes the database forget that windows are open, and held so.
func (b *testServer) reopen(t *testing.T) {
	t.Helper()
	if _, err := b.store.DB().NewRaw("UPDATE rate_windows SET started = started - interval '1 hour 1 minute'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Hour + account.RateWindow)
}

// burst sends n requests at once, spread over clients, and counts the admitted.
func burst(t *testing.T, n int, clients ...*client) int64 {
	t.Helper()
	var admitted atomic.Int64
	var group sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			r := clients[i%len(clients)].do(t, http.MethodGet, "/v1/auth/me", nil)
			switch r.status {
			case http.StatusOK:
				admitted.Add(1)
			case http.StatusTooManyRequests:
				if r.header.Get("Retry-After") == "" || r.body["code"] != "rate_limited" {
					t.Errorf("answer %s", r.raw)
				}
			default:
				t.Errorf("status %d: %s", r.status, r.raw)
			}
		})
	}
	group.Wait()
	return admitted.Load()
}

func TestRateLimit(t *testing.T) {
	t.Parallel()

	t.Run("OneProcessAdmitsExactlyAThousand", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a, other := b.signup(t), b.signup(t)
		n := burst(t, 10, a.client)
		b.hold(t)
		if n += burst(t, 1090, a.client); n != 1000 {
			t.Errorf("%d admitted, want 1000", n)
		}
		other.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
		b.reopen(t)
		n = burst(t, 10, a.client)
		b.hold(t)
		if n += burst(t, 1090, a.client); n != 1000 {
			t.Errorf("%d admitted in the next window, want 1000", n)
		}
	})

	t.Run("SeveralProcessesTogetherAdmitNoMore", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a, other := b.signup(t), b.signup(t)
		second, third := b.serve(t).as(a.key), b.serve(t).as(a.key)
		n := burst(t, 30, a.client, second, third)
		b.hold(t)
		n += burst(t, 2970, a.client, second, third)
		t.Logf("%d of 3000 admitted by three processes", n)
		if n > 1000 || n < 950 {
			t.Errorf("%d admitted, want 950 to 1000", n)
		}
		second.as(other.key).want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	})

	t.Run("AnIdleProcessKeepsLittleFromTheOthers", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := b.signup(t)
		clients := []*client{a.client}
		for range 9 {
			clients = append(clients, b.serve(t).as(a.key))
		}
		n := burst(t, 50, clients...) // then nine of them fall silent
		b.hold(t)
		n += burst(t, 1100, a.client)
		t.Logf("%d admitted with nine idle processes", n)
		if n > 1000 || n < 950 {
			t.Errorf("%d admitted, want 950 to 1000", n)
		}
	})
}

func TestRateHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.EnterpriseRate = 5 })
	free := b.signup(t)
	left := func(r answer) int {
		t.Helper()
		match := regexp.MustCompile(`^"org";r=(\d+);t=([1-9]\d?)$`).FindStringSubmatch(r.header.Get("RateLimit"))
		if match == nil {
			t.Fatalf("RateLimit %q", r.header.Get("RateLimit"))
		}
		n, _ := strconv.Atoi(match[1])
		return n
	}
	for i := range 30 {
		r := free.do(t, http.MethodGet, "/v1/checks/nothing", nil) // errors count as well
		if r.header.Get("RateLimit-Policy") != `"org";q=1000;w=60` || left(r) != 999-i {
			t.Fatalf("request %d: %q %q", i, r.header.Get("RateLimit-Policy"), r.header.Get("RateLimit"))
		}
	}
	usage := free.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)
	if limits, _ := usage["rate_limit"].(map[string]any); limits["limit"] != 1000.0 || limits["remaining"] != 969.0 ||
		limits["window_seconds"] != 60.0 {
		t.Errorf("usage %v", usage)
	}
	enterprise := b.tier(t, b.signup(t), account.TierEnterprise)
	if n := burst(t, 8, enterprise.client); n != 5 {
		t.Errorf("%d admitted by the enterprise tier's own limit of 5", n)
	}
}

func TestEnterpriseWithoutLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	r := a.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil)
	limits, _ := r.data(t)["rate_limit"].(map[string]any)
	if r.header.Get("RateLimit") != "" || limits["limit"] != nil || limits["remaining"] != nil {
		t.Errorf("headers %v, usage %v", r.header, limits)
	}
}

func TestAddressRate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.AddressRate = 20 })
	for range 20 {
		b.want(
			t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": "x@example.com" + strconv.Itoa(int(serial.Add(1))), "password": "x"},
		)
	}
	r := b.want(t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/signup", map[string]any{})
	if r.header.Get("Retry-After") == "" {
		t.Errorf("answer %s", r.raw)
	}
	b.want(t, http.StatusTooManyRequests, http.MethodPost, "/verify", "token=x", "Content-Type", "application/x-www-form-urlencoded")
	b.want(t, http.StatusOK, http.MethodGet, "/v1/regions", nil)
	b.clock.Advance(account.RateWindow)
	b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/signup", map[string]any{})
}

// leaseStore grants rate leases as a test decides.
type leaseStore struct {
	lease func(orgID uuid.UUID, want, limit int64) (account.RateLease, error)
}

func (s *leaseStore) LeaseRate(_ context.Context, orgID uuid.UUID, want, limit int64) (account.RateLease, error) {
	return s.lease(orgID, want, limit)
}

func TestRateLimitWithoutItsStore(t *testing.T) {
	t.Parallel()
	var failure atomic.Pointer[error]
	b := setup(t)
	a := b.signup(t)
	check := a.check(t)
	limited := b.serve(t, func(d *api.Deps) {
		d.Stores.Rates = &leaseStore{lease: func(_ uuid.UUID, want, limit int64) (account.RateLease, error) {
			if err := failure.Load(); err != nil {
				return account.RateLease{}, *err
			}
			return account.RateLease{Granted: want, Left: limit - want, Ends: account.RateWindow}, nil
		}}
	}).as(a.key)

	fail := func(err error) { failure.Store(&err) }
	fail(errors.New("connection refused"))
	r := limited.want(t, http.StatusInternalServerError, http.MethodPost, "/v1/checks", newCheck())
	if r.body["code"] != "internal" || strings.Contains(string(r.raw), "refused") {
		t.Errorf("answer %s", r.raw)
	}
	fail(vigil.Errorf(vigil.CodeUnavailable, "The database does not answer."))
	r = limited.want(t, http.StatusServiceUnavailable, http.MethodPost, "/v1/checks/"+text(check, "id")+"/test", nil)
	if r.header.Get("Retry-After") == "" || r.header.Get("RateLimit") != "" {
		t.Errorf("headers %v", r.header)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(rows) != 1 || len(b.loops.tests) != 0 {
		t.Errorf("a request that could not be counted was served: %v", rows)
	}
	failure.Store(nil)
	r = limited.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck())
	if got := r.header.Get("RateLimit"); got != `"org";r=999;t=60` {
		t.Errorf("the first request that is counted left %s", got)
	}
}
