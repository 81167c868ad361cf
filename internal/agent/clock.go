// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

const (
	// clockSamples is how many round trips count; the one that took the shortest time says by how
	// much the clocks differ.
	clockSamples = 8
	// clockStep is by how much the clock of this machine must be set for older samples to say nothing.
	clockStep = time.Second
)

// clock is this machine's clock, corrected when it is far from the platform's.
type clock struct {
	own func() time.Time
	log *slog.Logger

	mu         sync.Mutex
	read       time.Time     // of the own clock, the last one
	samples    []clockSample // newest last
	difference time.Duration // the own clock is ahead by so much
	corrects   bool
	said       bool // that it is far off
}

type clockSample struct {
	at                    time.Time // of the own clock, between question and answer
	difference, roundTrip time.Duration
}

// Now returns the present as slots count it: that of the own clock, corrected by the difference
// when this is more than agentlink.ClockCorrection.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.own()
	if !c.read.IsZero() && wasSet(c.read, now) {
		c.set(now)
	}
	c.read = now
	if c.corrects {
		return now.Add(-c.difference)
	}
	return now
}

// set takes that the own clock was set since it was read last. With a platform that has just
// answered, slots go on as they were; otherwise the clock may have been put right, or the
// machine was suspended. The caller has the lock.
func (c *clock) set(now time.Time) {
	if n := len(c.samples); n == 0 || now.Sub(c.samples[n-1].at) > agentlink.AgentTimeout {
		return
	}
	c.difference += now.Round(0).Sub(c.read.Round(0)) - now.Sub(c.read)
	c.samples = c.samples[:0]
	c.judge()
}

// judge says whether the clock is corrected, and that it is far off, when that changes. The caller has the lock.
func (c *clock) judge() {
	least := agentlink.ClockCorrection
	if c.corrects {
		least /= 2 // it does not go to and fro at the limit
	}
	c.corrects = c.difference.Abs() > least
	far := c.difference.Abs() > agentlink.ClockTolerance
	if far == c.said {
		return
	}
	c.said = far
	if far {
		c.log.Warn("the clock of this machine is not that of the platform; slots and times are corrected by the difference",
			"ahead", c.difference.Round(time.Millisecond).String())
		return
	}
	c.log.Info("the clock of this machine is that of the platform again", "ahead", c.difference.Round(time.Millisecond).String())
}

// Difference returns by how much the own clock is ahead of the platform's, 0 before it is known.
func (c *clock) Difference() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.difference
}

// observe takes a round trip: sent and received are by the own clock, and platform is the clock of
// the platform in between.
func (c *clock) observe(sent, received, platform time.Time) {
	if platform.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if wasSet(sent, c.own()) {
		return // the clock that was asked by is gone
	}
	took := received.Sub(sent)
	at := sent.Add(took / 2)
	if n := len(c.samples); n > 0 && wasSet(c.samples[n-1].at, at) {
		c.samples = c.samples[:0]
	}
	c.samples = append(c.samples, clockSample{at: at, difference: at.Round(0).Sub(platform), roundTrip: took})
	if len(c.samples) > clockSamples {
		c.samples = slices.Delete(c.samples, 0, 1)
	}
	best := c.samples[0]
	for _, sample := range c.samples {
		if sample.roundTrip <= best.roundTrip {
			best = sample
		}
	}
	c.difference = best.difference
	c.judge()
}

// wasSet reports whether the clock was set between two readings, or the machine was suspended: the
// monotonic one went by another time.
func wasSet(before, after time.Time) bool {
	return (after.Round(0).Sub(before.Round(0)) - after.Sub(before)).Abs() > clockStep
}
