// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// clockEvery is how often the clock is compared with the database's.
	clockEvery = 5 * time.Second
	// clockCorrection is the difference from which on it is corrected. An answer that takes longer says too little.
	clockCorrection = time.Second
)

// clock is by what a process writes the times of rows, and judges those of others: its own clock, corrected where it is far
// from the database's, with which all processes agree so. Workers probe by their own clock, which they compare with each renewal
// of their lease.
type clock struct {
	own   func() time.Time
	log   *slog.Logger
	ahead atomic.Int64 // nanoseconds by which it is corrected
}

// Now returns the present. Its monotonic reading is corrected, too: it is compared with times of this clock alone.
func (c *clock) Now() time.Time { return c.own().Add(-c.Ahead()) }

// Ahead is by how much the own clock is ahead of the database's; zero while that is little.
func (c *clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// follow compares the clock with the database's again and again, until ctx ends.
func (c *clock) follow(ctx context.Context, database func(context.Context) (time.Time, error)) {
	for timing.Sleep(ctx, clockEvery) == nil {
		c.compare(ctx, database)
	}
}

// compare compares it once. While the database is away the last difference counts.
func (c *clock) compare(ctx context.Context, database func(context.Context) (time.Time, error)) {
	limited, cancel := context.WithTimeout(ctx, clockCorrection)
	defer cancel()
	sent := c.own()
	at, err := database(limited)
	if err != nil {
		return
	}
	before, ahead, least := c.Ahead(), timing.Ahead(sent, c.own(), at), clockCorrection
	if before != 0 {
		least /= 2 // it does not go to and fro at the limit
	}
	if ahead.Abs() <= least {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
	switch {
	case before == 0 && ahead != 0:
		c.log.WarnContext(ctx, "the clock of this machine is not that of the database: times of rows are corrected by the difference",
			"ahead", ahead.Round(time.Millisecond))
	case before != 0 && ahead == 0:
		c.log.InfoContext(ctx, "the clock of this machine is that of the database again")
	}
}
