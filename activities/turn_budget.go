// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"math"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
)

const (
	// burstTime is how long the budget of turns saves what is not used, and leastBurst
	// how many turns it saves at least.
	burstTime  = 20 * time.Second
	leastBurst = 20
	// loopGrace is how long a loop counts after its turn has ended: its next turn begins
	// when its vote is reported, and thousands of turns may end at the same time.
	loopGrace = time.Minute
	// lowerBy is by how much the slots due must fall before turns cover fewer of them, so
	// that a number at the edge does not change with every check.
	lowerBy = 1.1
	// nano is the unit of dueLoop.due: whole numbers add up exactly.
	nano = 1e9
)

// turnBudget bounds how many turns a second this process makes. While its loops have
// fewer slots than that, each slot has a turn of its own. Beyond, a turn covers several
// slots. It is safe for concurrent use.
type turnBudget struct {
	rate  float64 // turns a second; 0: no bound
	burst float64

	mu     sync.Mutex
	loops  map[loopKey]*dueLoop
	due    int64 // nano-slots a second of all loops
	slots  int   // that a turn covers, at least 1
	tokens float64
	filled time.Time    // when tokens was computed
	paused []pausedLoop // loops without a turn, in the order of time
}

// dueLoop is a loop of this process.
type dueLoop struct {
	due     int64 // nano-slots a second
	running bool
	since   time.Time // when its turn ended
	listed  bool      // in paused
}

type pausedLoop struct {
	key loopKey
	at  time.Time
}

// newTurnBudget returns a budget of rate turns a second, which begins with a full burst.
func newTurnBudget(rate float64) *turnBudget {
	burst := max(leastBurst, rate*burstTime.Seconds())
	return &turnBudget{rate: rate, burst: burst, tokens: burst, slots: 1, loops: make(map[loopKey]*dueLoop)}
}

// run counts a loop whose turn runs here, at its present interval.
func (b *turnBudget) run(key loopKey, interval time.Duration, now time.Time) {
	if b.rate == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	loop := b.loops[key]
	if loop == nil {
		loop = &dueLoop{}
		b.loops[key] = loop
	}
	due := int64(nano * float64(time.Second) / float64(interval))
	b.due += due - loop.due
	loop.due, loop.running = due, true
	b.update(now)
}

// pause records that the turn of a loop has ended. The loop counts for loopGrace more.
func (b *turnBudget) pause(key loopKey, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	loop := b.loops[key]
	if loop == nil {
		return
	}
	loop.running, loop.since = false, now
	if !loop.listed {
		loop.listed = true
		b.paused = append(b.paused, pausedLoop{key, now})
	}
}

// update forgets the loops that have no turn for loopGrace, and computes slots. The
// caller must hold b.mu.
func (b *turnBudget) update(now time.Time) {
	for len(b.paused) > 0 && now.Sub(b.paused[0].at) >= loopGrace {
		key := b.paused[0].key
		b.paused = b.paused[1:]
		loop := b.loops[key]
		switch {
		case loop.running:
			loop.listed = false
		case now.Sub(loop.since) < loopGrace:
			b.paused = append(b.paused, pausedLoop{key, now})
		default:
			b.due -= loop.due
			delete(b.loops, key)
		}
	}
	turns := float64(b.due) / nano / b.rate
	if need := turnsCeil(turns); need > b.slots {
		b.slots = need
	} else if lower := turnsCeil(turns * lowerBy); lower < b.slots {
		b.slots = lower
	}
}

func turnsCeil(turns float64) int { return int(max(1, min(math.Ceil(turns), math.MaxInt32))) }

// take takes a token for a turn, and reports whether there was one: whether the process
// is within its budget.
func (b *turnBudget) take(now time.Time) bool {
	if b.rate == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// left reports whether the process is within its budget, without taking a token.
func (b *turnBudget) left(now time.Time) bool {
	if b.rate == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.tokens >= 1
}

// fill adds the tokens of the time since the last call. The caller must hold b.mu.
func (b *turnBudget) fill(now time.Time) {
	if passed := now.Sub(b.filled); passed > 0 {
		if !b.filled.IsZero() {
			b.tokens = min(b.burst, b.tokens+passed.Seconds()*b.rate)
		}
		b.filled = now
	}
}

// most returns how many slots a turn of a loop may cover, at least 1, and why: as many as
// the budget demands, but not more than fit into the window.
func (b *turnBudget) most(now time.Time, interval, window time.Duration) (int, vigil.TurnReason) {
	if b.rate == 0 {
		return 1, vigil.TurnEverySlot
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(now)
	fit := max(1, int(window/interval))
	switch {
	case b.slots == 1:
		return 1, vigil.TurnEverySlot
	case fit < b.slots:
		return fit, vigil.TurnWindow
	}
	return b.slots, vigil.TurnBudget
}

// TurnFigures are what the budget of turns of a process is at the moment.
type TurnFigures struct {
	// Rate is the budget in turns a second, 0 without a bound.
	Rate float64
	// Due is how many slots a second the loops of the process have.
	Due float64
	// Slots is how many slots a turn covers, at least 1; fewer where the window ends it.
	Slots int
	// Tokens is how many turns may be made beyond the rate.
	Tokens float64
}

// Turns returns the budget of turns of this process.
func (w *Watcher) Turns() TurnFigures {
	b, now := w.budget, w.Now()
	figures := TurnFigures{Rate: b.rate, Slots: 1}
	if b.rate == 0 {
		return figures
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(now)
	b.fill(now)
	figures.Due, figures.Slots, figures.Tokens = float64(b.due)/nano, b.slots, b.tokens
	return figures
}
