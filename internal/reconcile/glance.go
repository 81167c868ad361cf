// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// glanceAge is for how long passes share what one of them has read. Those with the same time begin together.
const glanceAge = loopsInterval / 10

// workStore says what there may be to do.
type workStore interface {
	SweepWork(ctx context.Context, now time.Time) (fleet.Work, error)
}

// glance is what there may be to do, read once for the passes that begin together: at rest there is nothing, and one
// statement says so instead of one for each pass.
type glance struct {
	store workStore
	now   func() time.Time

	turn chan struct{} // has a buffer of one: who may use the rest
	read time.Time     // when the answer came; zero: there was none
	work fleet.Work
	err  error
}

// where is a pass that runs only where some says that there may be work for it.
func (g *glance) where(some func(fleet.Work) bool, run func(context.Context, work) error) func(context.Context, work) error {
	return func(ctx context.Context, w work) error {
		found, err := g.look(ctx)
		if err != nil || !some(found) {
			return err
		}
		return run(ctx, w)
	}
}

// look returns what was read in the last glanceAge, also when that failed: passes that have waited for one that read do not
// wait for the database one after the other.
func (g *glance) look(ctx context.Context) (fleet.Work, error) {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return fleet.Work{}, ctx.Err()
	}
	if g.read.IsZero() || g.now().Sub(g.read) >= glanceAge {
		ctx, cancel := context.WithTimeout(ctx, passTimeout)
		defer cancel()
		g.work, g.err = g.store.SweepWork(ctx, g.now())
		g.read = g.now()
	}
	return g.work, g.err
}

// forget has the next pass read again.
func (g *glance) forget() {
	g.turn <- struct{}{}
	g.read = time.Time{}
	<-g.turn
}
