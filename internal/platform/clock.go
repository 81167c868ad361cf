// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// clockEvery is how often the clock is compared with the database's, and clockLimit how long that may take.
	clockEvery = 5 * time.Second
	clockLimit = 5 * time.Second
)

// clock is by what a process writes the times of rows, and judges those of others: that of its machine, or the database's where
// they are further apart than fleet.ClockLimit. Workers probe by that of their machine, and not at all beyond that limit, so
// within it all processes go by the clocks of machines.
//
// From one comparison to the next it goes on by the monotonic clock. So a clock of the machine that is set, or one that is
// corrected from now on, does not change how old an instant is that this process has seen.
type clock struct {
	own func() time.Time
	log *slog.Logger
	ref atomic.Pointer[reference] // nil before the first comparison
}

// reference is an instant.
type reference struct {
	own, at   time.Time // by the clock of the machine, and by this one
	corrected bool
}

// Now returns the present.
func (c *clock) Now() time.Time {
	now := c.own()
	ref := c.ref.Load()
	if ref == nil {
		return now
	}
	return ref.now(now)
}

// now is the present by a reference, where the clock of the machine shows own.
func (r *reference) now(own time.Time) time.Time { return r.at.Add(own.Sub(r.own)) }

// follow compares the clock with the database's again and again, until ctx ends.
func (c *clock) follow(ctx context.Context, database func(context.Context) (time.Time, error)) {
	for ok := true; ok; ok = timing.Sleep(ctx, clockEvery) == nil {
		c.compare(ctx, database)
	}
}

// compare compares it once. While the database is away it goes on.
func (c *clock) compare(ctx context.Context, database func(context.Context) (time.Time, error)) {
	limited, cancel := context.WithTimeout(ctx, clockLimit)
	defer cancel()
	sent := c.own()
	at, err := database(limited)
	if err != nil {
		return
	}
	received := c.own()
	ahead, limit := timing.Ahead(sent, received, at), fleet.ClockLimit
	last := c.ref.Load()
	corrected := last != nil && last.corrected
	if corrected {
		limit /= 2 // it does not go to and fro at the limit
	}
	next := &reference{own: received, at: received}
	if ahead.Abs() > limit {
		next.at, next.corrected = received.Round(0).Add(-ahead), true
		if corrected && last.now(received).Sub(next.at).Abs() <= received.Sub(sent)/2 {
			return // as far as can be known it is right
		}
	}
	c.ref.Store(next)
	switch {
	case !corrected && next.corrected:
		c.log.WarnContext(ctx, "the clock of this machine is not that of the database, which counts for times of rows",
			"ahead", ahead.Round(time.Millisecond))
	case corrected && !next.corrected:
		c.log.InfoContext(ctx, "the clock of this machine is that of the database again")
	}
}
