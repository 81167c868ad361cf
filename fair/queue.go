package fair

import (
	"container/list"
	"sync"
	"time"
)

// Limits of a Queue. Each protects a resource of its own.
type Limits struct {
	// Places is how many claims hold a place at the same time. It protects memory and
	// file descriptors: a probe that waits for its target uses no CPU.
	Places int
	// Starting is how many of them have held their place for less than Settle. It
	// protects the CPU, which a probe uses mostly at its start.
	Starting int
	Settle   time.Duration
	// SlowAfter is how long a place is held before it counts as slow. Slow places, and
	// those whose claim is expected to become slow, are at most three quarters of the
	// places: the rest is kept for quick ones.
	SlowAfter time.Duration
	// Organization and Target are the most places of one organization and of one
	// target, of which at most three quarters are slow.
	Organization, Target int
}

// DefaultLimits returns the limits for a number of places: an organization may hold half
// of them, a target a quarter, and 256 may be starting.
func DefaultLimits(places int) Limits {
	return Limits{
		Places: places, Starting: min(places, 256), Settle: 100 * time.Millisecond, SlowAfter: time.Second,
		Organization: max(1, places/2), Target: max(1, places/4),
	}
}

// slowShare returns how many of n places may be slow.
func slowShare(n int) int { return max(1, n*3/4) }

// Claim asks for a place.
type Claim struct {
	Organization string
	Target       string // host and port
	// Slow: the place is expected to be held for SlowAfter or longer.
	Slow bool
}

// Queue hands out places. A free place goes to the organization with the smallest share
// that waits, there to the target with the smallest share, and there to the first that
// came. The share is that of the scarcer of two resources (dominant resource fairness):
// the places held, and the places that are starting. It is safe for concurrent use.
type Queue struct {
	limits Limits

	mu           sync.Mutex
	root         *node
	waiting      int
	startingSlow int    // starting places of claims that are expected to be slow
	served       uint64 // counts the places handed out
	last         class  // of the last one
}

// class separates claims that are expected to be slow from the others, so that these
// wait in no line with them.
type class int

const (
	quick class = iota
	slow
	classes
)

// New returns a queue without claims.
func New(limits Limits) *Queue {
	return &Queue{limits: limits, root: newNode(nil, "", limits.Places, &limits)}
}

// Place is a claim in the queue: it waits, holds a place, or has left.
type Place struct {
	queue   *Queue
	target  *node
	class   class
	stage   stage
	element *list.Element // in the line of its target while it waits
	granted chan struct{} // closed when the place is held
	timer   *time.Timer   // of the next stage
}

// stage is where a claim is on its way.
type stage int

const (
	waiting  stage = iota
	starting       // holds a place for less than Settle
	settled        // for less than SlowAfter
	aged           // for longer
	left
)

// Join adds a claim. The caller waits for Granted or gives up, and calls Leave in both
// cases.
func (q *Queue) Join(c Claim) *Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &Place{queue: q, granted: make(chan struct{})}
	if c.Slow {
		p.class = slow
	}
	p.target = q.root.child(c.Organization, q.limits.Organization).child(c.Target, q.limits.Target)
	p.element = p.target.line[p.class].PushBack(p)
	q.waiting++
	p.target.refresh()
	q.dispatch()
	return p
}

// Granted returns a channel that is closed once the claim holds a place.
func (p *Place) Granted() <-chan struct{} { return p.granted }

// Leave gives the place back, or ends the wait for it. It reports whether the place was
// held for SlowAfter or longer. Only the first call counts.
func (p *Place) Leave() (slow bool) {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	was := p.stage
	p.stage = left
	switch was {
	case left:
		return false
	case waiting:
		p.target.line[p.class].Remove(p.element)
		q.waiting--
	case starting, settled, aged:
		p.timer.Stop()
		p.count(was, -1)
	}
	p.target.refresh()
	q.dispatch()
	return was == aged
}

// Waiting returns how many claims wait.
func (q *Queue) Waiting() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(q.waiting)
}

// Held returns how many claims hold a place.
func (q *Queue) Held() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(q.root.held)
}

// dispatch hands out places as long as the limits allow.
func (q *Queue) dispatch() {
	for q.root.starting < q.limits.Starting {
		c, ok := q.choose()
		if !ok {
			return
		}
		n := q.root
		for !n.leaf() {
			n = n.ready[c].nodes[0]
		}
		q.grant(n.line[c].Front().Value.(*Place)) //nolint:forcetypeassert // a line holds places only
	}
}

// choose returns the class that gets the next place: that of the organization with the
// smaller share. Within one organization the classes take turns, so that neither waits
// for ever.
func (q *Queue) choose() (class, bool) {
	can := [classes]bool{
		quick: q.root.admits(quick),
		slow:  q.root.admits(slow) && q.startingSlow < max(1, q.limits.Starting/2),
	}
	if !can[quick] || !can[slow] {
		if can[quick] {
			return quick, true
		}
		return slow, can[slow]
	}
	a, b := q.root.ready[quick].nodes[0], q.root.ready[slow].nodes[0]
	if a == b {
		return 1 - q.last, true
	}
	if a.before(b) {
		return quick, true
	}
	return slow, true
}

// grant hands out a place.
func (q *Queue) grant(p *Place) {
	p.target.line[p.class].Remove(p.element)
	q.waiting--
	q.served++
	q.last = p.class
	for n := p.target; n != nil; n = n.parent {
		n.served = q.served
	}
	p.stage = starting
	p.count(starting, 1)
	p.target.refresh()
	p.timer = time.AfterFunc(q.limits.Settle, p.advance)
	close(p.granted)
}

// advance moves a place to the next stage, which may make room for another one.
func (p *Place) advance() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	was := p.stage
	switch was {
	case starting:
		p.stage = settled
		p.timer.Reset(q.limits.SlowAfter - q.limits.Settle)
	case settled:
		p.stage = aged
	case waiting, aged, left:
		return
	}
	p.count(was, -1)
	p.count(p.stage, 1)
	p.target.refresh()
	q.dispatch()
}

// count adds a place in a stage to what its target, organization and process use, or
// takes it off.
func (p *Place) count(at stage, by int) {
	for n := p.target; n != nil; n = n.parent {
		n.held += by
		if at == starting {
			n.starting += by
		}
		if p.class == slow || at == aged {
			n.slow += by
		}
	}
	if at == starting && p.class == slow {
		p.queue.startingSlow += by
	}
}
