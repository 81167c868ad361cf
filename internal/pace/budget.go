// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

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
	// nano is the unit of loop.due: whole numbers add up exactly.
	nano = 1e9
)

// When turns end faster than the Temporal server begins others.
const (
	// gapLimit is how long a loop waits at most: after that its next turn begins at another
	// worker, or it has ended.
	gapLimit = 5 * time.Second
	// slowGap is how long the way from one turn to the next takes when the Temporal server has
	// too much to do; it is some milliseconds otherwise.
	slowGap = 200 * time.Millisecond
	// slowGaps is how many loops with such a gap, and manyGaps how many with any gap, are too
	// many.
	slowGaps = 4
	manyGaps = 64
	// beginsWithin is how long ago a turn must have begun here. Where none does, the server is
	// away, or another build of the program has the loops whose turns end.
	beginsWithin = time.Second
)

// Loop identifies a loop: one check in one region.
type Loop struct {
	Check  uuid.UUID
	Region string
}

// Budget bounds how many turns a second this process makes. While its loops have fewer slots
// than that, each slot has a turn of its own. Beyond, a turn covers several slots. It is safe
// for concurrent use.
type Budget struct {
	rate  float64 // slots a second up to which each is a turn; 0: no bound
	wide  float64 // turns a second beyond, at most rate
	burst float64

	mu    sync.Mutex
	loops map[Loop]*loop
	due   int64 // nano-slots a second of all loops
	// probed are those of due whose slots are probed by the worker. The results of the others arrive.
	probed int64
	slots  int // that a turn covers whose slots are probed, at least 1
	shares int // that a turn would cover if no loop took more than its share, at least 1
	tokens float64
	filled time.Time // when tokens was computed
	paused []pause   // loops without a turn, in the order of time
	ended  []pause   // turns of the last gapLimit whose loop waits for another, oldest first
	gaps   int       // how many of these loops still wait
	begun  time.Time // when the last turn began of a loop that waited
}

// loop is a loop of this process.
type loop struct {
	due     int64 // nano-slots a second
	probed  int64 // due where the worker probes, else 0
	running bool
	waits   bool      // for its next turn, which is expected here
	since   time.Time // when its turn ended
	listed  bool      // in paused
}

// pause is the end of a turn.
type pause struct {
	key Loop
	at  time.Time
}

// NewBudget returns a budget, which begins with a full burst. While the loops have up to rate slots
// a second, each is a turn; beyond, there are wide turns a second, at most rate. A rate of 0 is no bound.
func NewBudget(rate, wide float64) *Budget {
	burst := max(leastBurst, rate*burstTime.Seconds())
	return &Budget{rate: rate, wide: min(wide, rate), burst: burst, tokens: burst, slots: 1, shares: 1, loops: make(map[Loop]*loop)}
}

// Begin records that a turn of a loop has begun.
func (b *Budget) Begin(key Loop, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetGaps(now)
	if l := b.loops[key]; l != nil && l.waits {
		l.waits, b.begun = false, now
		b.gaps--
	}
}

// Run counts a loop whose turn runs here, at its present interval. Its results arrive, or the worker
// probes.
func (b *Budget) Run(key Loop, interval time.Duration, arrives bool, now time.Time) {
	if b.rate == 0 {
		return
	}
	due := int64(nano * float64(time.Second) / float64(interval))
	probed := due
	if arrives {
		probed = 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.loops[key]
	if l == nil {
		l = &loop{}
		b.loops[key] = l
	}
	if l.running && l.due == due && l.probed == probed {
		return
	}
	b.due += due - l.due
	b.probed += probed - l.probed
	l.due, l.probed, l.running = due, probed, true
	b.update(now)
}

// End records that the turn of a loop has ended, and whether its next one is expected at this
// process. The loop counts for loopGrace more.
func (b *Budget) End(key Loop, expected bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetGaps(now)
	l := b.loops[key]
	if l == nil {
		return
	}
	l.running, l.since = false, now
	if !l.listed {
		l.listed = true
		b.paused = append(b.paused, pause{key, now})
	}
	if l.waits {
		b.gaps--
	}
	if l.waits = expected; expected {
		b.gaps++
		b.ended = append(b.ended, pause{key, now})
	}
}

// Crowded reports whether turns end faster than others begin. A calm loop does not end its
// turn then: it would wait behind hundreds of others and miss slots.
func (b *Budget) Crowded(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetGaps(now)
	if b.rate == 0 || now.Sub(b.begun) > beginsWithin {
		return false
	}
	slow := 0
	for _, p := range b.ended {
		if slow == slowGaps || now.Sub(p.at) <= slowGap {
			break
		}
		if b.waitsSince(p) {
			slow++
		}
	}
	return b.gaps > manyGaps || slow == slowGaps
}

// forgetGaps drops the gaps that are over gapLimit. The caller must hold b.mu.
func (b *Budget) forgetGaps(now time.Time) {
	for len(b.ended) > 0 && now.Sub(b.ended[0].at) >= gapLimit {
		if b.waitsSince(b.ended[0]) {
			b.loops[b.ended[0].key].waits = false
			b.gaps--
		}
		b.ended = b.ended[1:]
	}
}

// waitsSince reports whether a loop still waits for the turn after the one that ended then.
func (b *Budget) waitsSince(p pause) bool {
	l := b.loops[p.key]
	return l != nil && l.waits && l.since.Equal(p.at)
}

// update forgets the loops that have no turn for loopGrace, and computes slots. The
// caller must hold b.mu.
func (b *Budget) update(now time.Time) {
	b.forgetGaps(now)
	for len(b.paused) > 0 && now.Sub(b.paused[0].at) >= loopGrace {
		key := b.paused[0].key
		b.paused = b.paused[1:]
		l := b.loops[key]
		switch {
		case l.running:
			l.listed = false
		case now.Sub(l.since) < loopGrace:
			b.paused = append(b.paused, pause{key, now})
		default:
			b.due -= l.due
			b.probed -= l.probed
			delete(b.loops, key)
		}
	}
	b.slots, b.shares = b.demanded(b.slots, b.probed), b.demanded(b.shares, b.due)
}

// demanded returns how many slots each turn of loops covers that have due nano-slots a second together,
// when it was as many before. The caller must hold b.mu.
func (b *Budget) demanded(before int, due int64) int {
	if need := b.slotsOf(float64(due) / nano); need > before {
		return need
	}
	return min(before, b.slotsOf(float64(due)/nano*lowerBy))
}

// slotsOf returns how many slots each turn covers, at least 1, when so many slots a second are due.
func (b *Budget) slotsOf(due float64) int {
	if due <= b.rate {
		return 1
	}
	return int(max(1, min(math.Ceil(due/b.wide), math.MaxInt32)))
}

// turns is how many turns a second there are at the moment. The caller must hold b.mu.
func (b *Budget) turns() float64 {
	if b.slots == 1 {
		return b.rate
	}
	return b.wide
}

// Take takes a token for a turn, and reports whether there was one: whether the process is
// within its budget.
func (b *Budget) Take(now time.Time) bool {
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

// Left reports whether the process is within its budget, without taking a token.
func (b *Budget) Left(now time.Time) bool {
	if b.rate == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.tokens >= 1
}

// fill adds the tokens of the time since the last call. The caller must hold b.mu.
func (b *Budget) fill(now time.Time) {
	if passed := now.Sub(b.filled); passed > 0 {
		if !b.filled.IsZero() {
			b.tokens = min(b.burst, b.tokens+passed.Seconds()*b.turns())
		}
		b.filled = now
	}
}

// Most returns how many slots a turn of a loop may cover, at least 1, and why: as many as the
// budget demands, but not more than fit into the window. Where results arrive it is as many as fit
// once the budget is less than the slots: nothing is lost with such a turn, so that those which
// probe have the rest.
func (b *Budget) Most(now time.Time, interval, window time.Duration, arrives bool) (int, vigil.TurnReason) {
	if b.rate == 0 {
		return 1, vigil.TurnEverySlot
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(now)
	fit := max(1, int(window/interval))
	switch {
	case arrives && b.shares > 1:
		return fit, vigil.TurnWindow
	case b.slots == 1:
		return 1, vigil.TurnEverySlot
	case fit < b.slots:
		return fit, vigil.TurnWindow
	}
	return b.slots, vigil.TurnBudget
}

// Running returns the loops whose turns run here, in no order; none without a bound, where a turn is a slot.
func (b *Budget) Running() []Loop {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []Loop
	for key, l := range b.loops {
		if l.running {
			keys = append(keys, key)
		}
	}
	return keys
}

// Figures are what the budget of a process is at the moment.
type Figures struct {
	// Rate is the budget in turns a second, 0 without a bound.
	Rate float64
	// Due is how many slots a second the loops of the process have.
	Due float64
	// Slots is how many slots a turn covers, at least 1; fewer where the window ends it.
	Slots int
	// Tokens is how many turns may be made beyond the rate.
	Tokens float64
}

// Figures returns what the budget is now.
func (b *Budget) Figures(now time.Time) Figures {
	if b.rate == 0 {
		return Figures{Slots: 1}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(now)
	b.fill(now)
	return Figures{Rate: b.turns(), Due: float64(b.due) / nano, Slots: b.slots, Tokens: b.tokens}
}
