package rest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/api/rest"
)

// leaseFunc decides about rate leases.
type leaseFunc func(orgID uuid.UUID, want, limit int64) (vigil.RateLease, error)

func (f leaseFunc) LeaseRate(_ context.Context, orgID uuid.UUID, want, limit int64) (vigil.RateLease, error) {
	return f(orgID, want, limit)
}

func TestRateLimiterForgetsEndedWindowsOnly(t *testing.T) {
	t.Parallel()
	const windows = 10_000
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var leased int64
	limiter := rest.NewLimiter(leaseFunc(func(_ uuid.UUID, want, limit int64) (vigil.RateLease, error) {
		leased++
		return vigil.RateLease{Granted: want, Left: limit - want, Ends: vigil.RateWindow}, nil
	}), func(vigil.Tier) int64 { return 1000 }, func() time.Time { return now })
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
	now = now.Add(vigil.RateWindow / 2)
	open := uuid.New()
	admit(open)
	if n := admit(open); n != 1 { // the second lease is of two requests
		t.Fatalf("the second request took %d leases", n)
	}
	now = now.Add(vigil.RateWindow / 2)
	admit(uuid.New())
	if n := limiter.Windows(); n != 2 {
		t.Errorf("%d windows are remembered, want the open one and the new one", n)
	}
	if n := admit(open); n != 0 {
		t.Error("a window that is open was forgotten with its lease")
	}
}
