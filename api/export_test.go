package api

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Rates exposes the rate limiter to tests.
type Rates struct{ *rates }

// NewRates returns a rate limiter on a store.
func NewRates(store leases, now func() time.Time) Rates { return Rates{newRates(store, now)} }

// Admit counts a request and reports whether it may pass.
func (r Rates) Admit(ctx context.Context, orgID uuid.UUID, limit int64) (bool, error) {
	got, err := r.admit(ctx, orgID, limit)
	return got.admitted, err
}

// Windows returns how many windows are remembered.
func (r Rates) Windows() int { return len(r.windows) }
