// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// drainEvery is the time between two batches of the spool, and drainResults how many results one
	// has: 1,000 a second, while what is new goes its own way.
	drainEvery   = 400 * time.Millisecond
	drainResults = 400
	drainBytes   = 400_000
)

// errNoSession is a report without a session.
var errNoSession = errors.New("there is no session")

// drain sends what the spool has, when some of it is late, until ctx ends.
func (a *Agent) drain(ctx context.Context) {
	for timing.Sleep(ctx, drainEvery) == nil {
		oldest, ok := a.spool.oldest()
		if !ok || a.link.session() == nil || a.clock.Now().Sub(oldest) <= agentlink.Late {
			continue // there is nothing, or it goes with what is new
		}
		if _, err := a.sendSpooled(ctx); err != nil {
			a.failed(ctx, err)
			_ = timing.Sleep(ctx, time.Second)
		}
	}
}

// sendSpooled sends the first results of the spool, and returns how many. Only one batch is under way.
func (a *Agent) sendSpooled(ctx context.Context) (int, error) {
	a.spooling.Lock()
	defer a.spooling.Unlock()
	first, err := a.spool.head(drainResults, drainBytes)
	if err != nil {
		a.Log.ErrorContext(ctx, "a file of the spool cannot be read: its results are lost", "error", err)
	}
	if len(first.items) == 0 {
		return 0, nil
	}
	if err := a.send(ctx, first.items); err != nil {
		return 0, err
	}
	return len(first.items), a.spool.acknowledge(first)
}
