// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// leaseFunc decides about rate leases.
type leaseFunc func(orgID uuid.UUID, want, limit int64) (account.RateLease, error)

func (f leaseFunc) LeaseRate(_ context.Context, orgID uuid.UUID, want, limit int64) (account.RateLease, error) {
	return f(orgID, want, limit)
}

func TestRateLimiterForgetsEndedWindowsOnly(t *testing.T) {
	t.Parallel()
	const windows = 10_000
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var leased int64
	limiter := rest.NewLimiter(leaseFunc(func(_ uuid.UUID, want, limit int64) (account.RateLease, error) {
		leased++
		return account.RateLease{Granted: want, Left: limit - want, Ends: account.RateWindow}, nil
	}), func(account.Tier) int64 { return 1000 }, func() time.Time { return now })
	admit := func(org uuid.UUID) (leases int64) {
		t.Helper()
		before := leased
		if rate, err := limiter.Admit(t.Context(), org, 1000); err != nil || !rate.Admitted {
			t.Fatalf("rate %v, %v", rate, err)
		}
		return leased - before
	}
	for range windows - 1 {
		admit(uuid.New())
	}
	now = now.Add(account.RateWindow / 2)
	open := uuid.New()
	admit(open)
	if n := admit(open); n != 1 { // the second lease is of two requests
		t.Fatalf("the second request took %d leases", n)
	}
	now = now.Add(account.RateWindow / 2)
	admit(uuid.New())
	if n := limiter.Windows(); n != 2 {
		t.Errorf("%d windows are remembered, want the open one and the new one", n)
	}
	if n := admit(open); n != 0 {
		t.Error("a window that is open was forgotten with its lease")
	}
}

// leaseLog grants leases as the database does, for one organization.
type leaseLog struct {
	left  int64
	ends  time.Time
	now   func() time.Time
	wants []int64
}

func (l *leaseLog) LeaseRate(_ context.Context, _ uuid.UUID, want, limit int64) (account.RateLease, error) {
	if !l.now().Before(l.ends) {
		l.left, l.ends = limit, l.now().Add(account.RateWindow)
	}
	l.wants = append(l.wants, want)
	granted := min(want, l.left)
	l.left -= granted
	return account.RateLease{Granted: granted, Left: l.left, Ends: l.ends.Sub(l.now())}, nil
}

func TestLimiterAdmitsExactlyTheLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	clock := func() time.Time { return now }
	log := &leaseLog{now: clock}
	limiter := rest.NewLimiter(log, func(account.Tier) int64 { return 1000 }, clock)
	org := uuid.New()
	admit := func(limit int64) rest.Rate {
		t.Helper()
		rate, err := limiter.Admit(t.Context(), org, limit)
		if err != nil {
			t.Fatal(err)
		}
		return rate
	}
	for window := range 2 {
		log.wants = nil
		for i := range int64(1000) {
			want := rest.Rate{Admitted: true, Left: 999 - i, Resets: 60}
			if got := admit(1000); got != want {
				t.Fatalf("window %d, request %d: %+v, want %+v", window, i, got, want)
			}
		}
		if got := admit(1000); got != (rest.Rate{Resets: 60}) {
			t.Errorf("window %d, a request too many: %+v", window, got)
		}
		// Leases double, up to 1/64 of what is left.
		if !slices.Equal(log.wants[:5], []int64{1, 2, 4, 8, 15}) || slices.Max(log.wants) != 15 || log.wants[len(log.wants)-1] != 1 {
			t.Errorf("window %d: leases of %v", window, log.wants)
		}
		now = now.Add(account.RateWindow)
	}
	if got := admit(1000); !got.Admitted {
		t.Errorf("the first request of a window: %+v", got)
	}
	now = now.Add(1500 * time.Millisecond)
	if got := admit(1000); got.Resets != 59 {
		t.Errorf("58.5 s before the end: %+v", got)
	}
	log.wants = nil
	if admit(2000); !slices.Equal(log.wants, []int64{1}) {
		t.Errorf("after the tier changed: leases of %v", log.wants)
	}
}

func TestLeasesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	clock := func() time.Time { return now }
	log := &leaseLog{now: clock}
	limiter := rest.NewLimiter(log, func(account.Tier) int64 { return 100_000 }, clock)
	org := uuid.New()
	for range 100 {
		if _, err := limiter.Admit(t.Context(), org, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Max(log.wants) != 16 {
		t.Errorf("leases of %v", log.wants)
	}
}
