// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/fair"
)

// readShares shares the reads of the API among organizations.
type readShares struct{ places *fair.Queue }

// newReadShares has two places for each processor of the machine. An organization that asks for
// all it can holds at most half of them: reads take a processor each, here or in Postgres.
func newReadShares() readShares {
	places := 2 * runtime.NumCPU()
	return readShares{fair.New(fair.Limits{Places: places, Starting: places, Settle: time.Millisecond, SlowAfter: time.Second})}
}

// Take waits for a place.
func (s readShares) Take(ctx context.Context, organization, user uuid.UUID) (func(), error) {
	place := s.places.Join(fair.Claim{Organization: organization.String(), Target: user.String(), Since: time.Now()})
	select {
	case <-place.Granted():
		return func() { place.Leave() }, nil
	case <-ctx.Done():
		place.Leave()
		return nil, context.Cause(ctx)
	}
}
