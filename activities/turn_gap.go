// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"sync"
	"time"
)

const (
	// gapLimit is how long a loop counts that has no turn: its next turn begins at
	// another worker, or its loop has ended.
	gapLimit = 5 * time.Second
	// slowGap is how long the way from one turn to the next takes when the Temporal
	// server has too much to do; it is some milliseconds otherwise.
	slowGap = 200 * time.Millisecond
	// slowGaps is how many loops with such a gap, and manyGaps how many with any gap, show
	// that turns end faster than the server begins others.
	slowGaps = 4
	manyGaps = 64
	// beginsWithin is how long ago a turn must have begun here. Where none does, the server is
	// away, or another build of the program has the loops whose turns end.
	beginsWithin = time.Second
)

// turnGaps knows the loops of this process that wait for their next turn, so that a calm
// loop does not end its turn while hundreds of others do: it would wait behind them and
// miss slots. The zero value is not ready; it is safe for concurrent use.
type turnGaps struct {
	mu    sync.Mutex
	since map[loopKey]time.Time // when the last turn ended, of loops without a turn
	order []pausedLoop          // the same and loops that have a turn again, oldest first
	begun time.Time             // when the last turn began of a loop that had one here before
}

func newTurnGaps() *turnGaps { return &turnGaps{since: make(map[loopKey]time.Time)} }

// end records that the turn of a loop has ended.
func (g *turnGaps) end(key loopKey, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(now)
	g.since[key] = now
	g.order = append(g.order, pausedLoop{key, now})
}

// begin records that a turn of a loop has begun.
func (g *turnGaps) begin(key loopKey, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, waited := g.since[key]; waited {
		g.begun = now
		delete(g.since, key)
	}
}

// crowded reports whether turns end faster than others begin.
func (g *turnGaps) crowded(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(now)
	if now.Sub(g.begun) > beginsWithin {
		return false
	}
	if len(g.since) > manyGaps {
		return true
	}
	slow := 0
	for _, p := range g.order {
		if slow == slowGaps || now.Sub(p.at) <= slowGap {
			break
		}
		if g.since[p.key].Equal(p.at) {
			slow++
		}
	}
	return slow == slowGaps
}

// forget drops what is older than gapLimit. The caller must hold g.mu.
func (g *turnGaps) forget(now time.Time) {
	old := 0
	for ; old < len(g.order) && now.Sub(g.order[old].at) >= gapLimit; old++ {
		if p := g.order[old]; g.since[p.key].Equal(p.at) {
			delete(g.since, p.key)
		}
	}
	g.order = g.order[old:]
}
