// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"container/heap"
	"sync"
	"time"
)

// Limits of a Queue. Each protects a resource of its own.
type Limits struct {
	// Places is how many claims hold a place at the same time. It protects memory and
	// file descriptors: a probe that waits for its target uses no CPU. A quarter of the
	// places is kept for claims that are not expected to be slow.
	Places int
	// Starting is how many of them have held their place for less than Settle. It
	// protects the CPU, which a probe uses mostly at its start. Claims that are expected
	// to be slow take at most half of it.
	Starting int
	Settle   time.Duration
	// SlowAfter is how long a place is held before Leave calls it slow.
	SlowAfter time.Duration
	// AfterFunc is that of package time; nil means that one. A simulation has its own time.
	AfterFunc func(after time.Duration, do func()) Timer
}

// Timer is what Limits.AfterFunc returns: a *time.Timer, or what does the same in another time.
type Timer interface {
	Stop() bool
	Reset(after time.Duration) bool
}

// DefaultLimits returns the limits for a number of places.
func DefaultLimits(places int) Limits {
	return Limits{Places: places, Starting: min(places, 256), Settle: 100 * time.Millisecond, SlowAfter: time.Second}
}

// Claim asks for a place.
type Claim struct {
	Organization string
	Target       string // host and port
	// Slow: the place is expected to be held for SlowAfter or longer.
	Slow bool
	// Since is when the claim became due. A claim that gives up and joins again keeps its
	// place in the line of its target.
	Since time.Time
}

// Queue hands out places. A free place goes to the organization with the smallest share
// that waits, there to the target with the smallest share, and there to the claim
// that is due for the longest time. The share is that of the scarcer of two resources
// (dominant resource fairness): the places held, and the places that are starting.
//
// An order alone does not help while every place is held for ten seconds. So an
// organization gets no more places than are free, and a target no more than its organization could
// still get (dynamic thresholds, as in the shared memory of switches): of n organizations
// that take what they can, each holds 1/(n+1), and as much is left for one that comes.
//
// It is safe for concurrent use.
type Queue struct {
	limits Limits

	mu           sync.Mutex
	root         *node
	waiting      int
	startingSlow int    // starting places of claims that are expected to be slow
	served       uint64 // counts the places handed out
	joined       uint64 // counts the claims
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
	if limits.AfterFunc == nil {
		limits.AfterFunc = func(after time.Duration, do func()) Timer { return time.AfterFunc(after, do) }
	}
	return &Queue{limits: limits, root: newNode(nil, "")}
}

// Place is a claim in the queue: it waits, holds a place, or has left.
type Place struct {
	queue   *Queue
	target  *node
	class   class
	stage   stage
	since   time.Time
	joined  uint64        // orders claims that are due since the same instant
	index   int           // in the line of its target while it waits
	granted chan struct{} // closed when the place is held
	timer   Timer         // of the next stage
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
	q.joined++
	p := &Place{queue: q, granted: make(chan struct{}), since: c.Since, joined: q.joined}
	if c.Slow {
		p.class = slow
	}
	p.target = q.root.child(c.Organization).child(c.Target)
	heap.Push(&p.target.line[p.class], p)
	q.waiting++
	p.target.refresh(q.limits)
	q.dispatch()
	return p
}

// Granted returns a channel that is closed once the claim holds a place.
func (p *Place) Granted() <-chan struct{} { return p.granted }

// Leave gives the place back, or ends the wait for it. It reports whether the place was
// held for SlowAfter or longer. Only the first call counts.
func (p *Place) Leave() (wasSlow bool) {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	was := p.stage
	p.stage = left
	switch was {
	case left:
		return false
	case waiting:
		heap.Remove(&p.target.line[p.class], p.index)
		q.waiting--
	case starting, settled, aged:
		p.timer.Stop()
		p.count(was, -1)
	}
	p.target.refresh(q.limits)
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
	for q.waiting > 0 && q.root.starting < q.limits.Starting {
		fast, slower := q.first(quick), q.first(slow)
		var target *node
		var c class
		switch {
		case fast == nil && slower == nil:
			return
		case fast == nil:
			target, c = slower, slow
		case slower == nil:
			target, c = fast, quick
		case fast.parent == slower.parent:
			// Within one organization the classes take turns, so that neither waits for
			// ever.
			target, c = fast, quick
			if fast.parent.last == quick {
				target, c = slower, slow
			}
		case slower.parent.before(fast.parent):
			target, c = slower, slow
		default:
			target, c = fast, quick
		}
		q.grant(target.line[c][0])
	}
}

// first returns the target that gets the next place of a class, nil when none may get one.
func (q *Queue) first(c class) *node {
	room := q.limits.Places - q.root.held
	if c == slow {
		room -= q.limits.Places / 4
		if q.startingSlow >= max(1, q.limits.Starting/2) {
			return nil
		}
	}
	if room <= 0 {
		return nil
	}
	var found *node
	q.root.ready[c].first(func(org *node) bool {
		if org.held >= room {
			return false
		}
		target := org.ready[c].first(func(target *node) bool { return target.held < room-org.held })
		if target != nil {
			found = target
		}
		return target != nil
	})
	return found
}

// grant hands out a place.
func (q *Queue) grant(p *Place) {
	heap.Remove(&p.target.line[p.class], p.index)
	q.waiting--
	q.served++
	p.target.parent.last = p.class
	for n := p.target; n != nil; n = n.parent {
		n.served = q.served
	}
	p.stage = starting
	p.count(starting, 1)
	p.target.refresh(q.limits)
	p.timer = q.limits.AfterFunc(q.limits.Settle, p.advance)
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
		return
	case waiting, aged, left:
		return
	}
	p.count(was, -1)
	p.count(p.stage, 1)
	p.target.refresh(q.limits)
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
	}
	if at == starting && p.class == slow {
		p.queue.startingSlow += by
	}
}
