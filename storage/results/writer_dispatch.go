// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	minRetryDelay = 50 * time.Millisecond // while Postgres is unavailable; doubles after each attempt
	maxRetryDelay = 2 * time.Second
	minLockDelay  = 20 * time.Millisecond // of a loop that is locked; doubles after each attempt
	maxLockDelay  = 500 * time.Millisecond

	// A transaction may take commitTimeout, so that a server that does not answer is known
	// in seconds; after one that took longer, the next may take twice as long.
	minCommitTimeout = 5 * time.Second
	maxCommitTimeout = pg.CommitLimit
)

// lane holds the rows of one loop that are not stored yet, oldest first.
type lane struct {
	key       loopKey
	rows      []*pendingRow
	busy      bool          // a transaction has rows of it
	notBefore time.Time     // when to try again after it was locked
	delay     time.Duration // of the last wait for a lock
	// contended: a transaction failed with it for a lock that cannot be skipped. It is tried
	// without others, so that only its own rows wait.
	contended bool
}

// since is when the oldest row of a waiting lane came.
func (l *lane) since() time.Time { return l.rows[0].came }

// due is when the rows of a waiting lane must be stored.
func (l *lane) due() time.Time {
	due := l.rows[0].came.Add(l.rows[0].maxDelay)
	for _, p := range l.rows[1:] {
		if at := p.came.Add(p.maxDelay); at.Before(due) {
			due = at
		}
	}
	return due
}

// dispatcher gives the waiting rows to transactions. Its methods run in one goroutine.
type dispatcher struct {
	*ResultWriter

	work     context.Context //nolint:containedctx // ends when accepted rows are given up
	lanes    map[loopKey]*lane
	waiting  []*lane // the lanes with rows that are not busy, oldest first
	finished chan attempt
	inFlight int
	wake     *time.Timer

	// Until restUntil there is nothing to start, unless restRows more rows come: each row
	// that comes need not look at all that wait.
	restUntil time.Time
	restRows  int

	draining    bool
	pausedUntil time.Time     // Postgres is unavailable
	pause       time.Duration // of the last pause
	timeout     time.Duration // of one transaction
	together    int           // how many contended lanes are tried at once
}

func newDispatcher(work context.Context, w *ResultWriter) *dispatcher {
	wake := time.NewTimer(time.Hour)
	wake.Stop()
	return &dispatcher{
		ResultWriter: w, work: work, lanes: make(map[loopKey]*lane), finished: make(chan attempt, resultWriters),
		wake: wake, timeout: minCommitTimeout, together: 1,
	}
}

// accept takes rows and stores them until ctx ends or the writer is closed.
func (d *dispatcher) accept(ctx context.Context) {
	for d.dispatch(); ; {
		select {
		case p := <-d.queue:
			if d.add(p); d.rests(p) {
				continue
			}
		case a := <-d.finished:
			d.settle(a)
		case <-d.wake.C:
		case <-ctx.Done():
			return
		case <-d.closing:
			return
		}
		d.dispatch()
	}
}

// drain stores the rows that were accepted, without waiting for more, until the work's
// context ends.
func (d *dispatcher) drain() {
	d.draining = true
	for {
		if d.dispatch(); d.inFlight == 0 && len(d.waiting) == 0 {
			return
		}
		select {
		case a := <-d.finished:
			d.settle(a)
		case <-d.wake.C:
		case <-d.work.Done():
			for d.inFlight > 0 {
				d.settle(<-d.finished)
			}
			d.giveUp()
			return
		}
	}
}

// giveUp completes the waiting rows without having stored them.
func (d *dispatcher) giveUp() {
	for _, l := range d.waiting {
		for _, p := range l.rows {
			p.complete(vigil.StoredResult{}, errStopped)
		}
		delete(d.lanes, l.key)
	}
	d.waiting = nil
}

// add appends a row to the lane of its loop.
func (d *dispatcher) add(p *pendingRow) {
	l := d.lanes[p.key()]
	if l == nil {
		l = &lane{key: p.key()}
		d.lanes[l.key] = l
	}
	p.came = d.clock()
	if l.rows = append(l.rows, p); len(l.rows) == 1 && !l.busy {
		d.waiting = append(d.waiting, l)
	}
}

// clock measures delays, which a test's clock must not stop.
func (d *dispatcher) clock() time.Time { return time.Now() } //nolint:forbidigo // durations only

// rests reports whether a row that came changes nothing about when the next transaction
// starts.
func (d *dispatcher) rests(p *pendingRow) bool {
	d.restRows--
	return d.restRows > 0 && !p.came.Add(p.maxDelay).Before(d.restUntil)
}

// dispatch starts the transactions that are due, and sets the timer for the next.
func (d *dispatcher) dispatch() {
	d.wake.Stop()
	d.restRows = 0
	if d.inFlight == resultWriters {
		return // the end of a transaction wakes the dispatcher
	}
	now := d.clock()
	if now.Before(d.pausedUntil) {
		d.wake.Reset(d.pausedUntil.Sub(now))
		return
	}
	next, rows := d.dispatchReady(now)
	d.dispatchSuspects(now)
	for _, l := range d.waiting {
		if l.notBefore.After(now) {
			next = min(next, l.notBefore.Sub(now))
		}
	}
	if len(d.waiting) > 0 {
		d.wake.Reset(next)
		d.restUntil, d.restRows = now.Add(next), d.maxRows-rows
	}
}

// dispatchReady divides the ready lanes by hash among the idle transactions, when there are
// enough rows or the first has waited for the delay. It returns how long to wait for that, and
// how many rows are ready by then.
func (d *dispatcher) dispatchReady(now time.Time) (wait time.Duration, rows int) {
	idle := resultWriters - d.inFlight
	var ready []*lane
	due := now
	for _, l := range d.waiting {
		if l.contended || l.notBefore.After(now) {
			continue
		}
		if at := l.due(); len(ready) == 0 || at.Before(due) {
			due = at
		}
		ready = append(ready, l)
		rows += len(l.rows)
	}
	if wait = due.Sub(now); len(ready) > 0 && rows < d.maxRows && wait > 0 && !d.draining {
		return wait, rows
	}
	if len(ready) == 0 {
		return time.Hour, 0 // a row or the end of a transaction wakes the dispatcher
	}
	groups := make([][]*lane, Groups(rows, idle))
	taken := make([]int, len(groups))
	for _, l := range ready {
		if i := l.hash() % uint64(len(groups)); taken[i] < d.maxRows {
			groups[i] = append(groups[i], l)
			taken[i] += len(l.rows)
		}
	}
	for _, lanes := range groups {
		d.start(lanes)
	}
	return 0, rows // those that did not fit
}

// dispatchSuspects tries lanes that could not be locked apart from the others, and never
// with the last idle connection.
func (d *dispatcher) dispatchSuspects(now time.Time) {
	if resultWriters-d.inFlight < 2 && !d.draining || d.inFlight == resultWriters {
		return
	}
	var contended []*lane
	for _, l := range d.waiting {
		if l.contended && !l.notBefore.After(now) && len(contended) < d.together {
			contended = append(contended, l)
		}
	}
	d.start(contended)
}

//nolint:gochecknoglobals // the seed of a hash that only this process uses
var laneSeed = maphash.MakeSeed()

func (l *lane) hash() uint64 { return maphash.Comparable(laneSeed, l.key) }

// start gives the rows of lanes to a transaction. Rows whose Write has returned are
// dropped.
func (d *dispatcher) start(lanes []*lane) {
	a := attempt{timeout: d.timeout}
	for _, l := range lanes {
		rows := dropAbandoned(l.rows[:min(len(l.rows), d.maxRows)])
		l.rows = slices.Clone(l.rows[min(len(l.rows), d.maxRows):])
		l.busy = true
		a.lanes = append(a.lanes, l)
		a.group = append(a.group, rows...)
	}
	if len(a.lanes) == 0 {
		return
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(l *lane) bool { return l.busy })
	d.inFlight++
	go func() {
		a.run(d.work, d.ResultWriter)
		d.finished <- a
	}()
}

// settle takes back the lanes of an attempt and the rows that it has not stored.
func (d *dispatcher) settle(a attempt) {
	d.inFlight--
	now := d.clock()
	if a.err != nil {
		d.unavailable(now, a)
	} else {
		d.pause, d.timeout = 0, minCommitTimeout
	}
	contended, refused := false, false
	for _, l := range a.lanes {
		left := a.left[l.key]
		l.rows, l.busy = append(left.rows, l.rows...), false
		contended, refused = contended || l.contended, refused || left.refused
		switch {
		case len(l.rows) == 0:
			delete(d.lanes, l.key)
			continue
		case left.locked || left.refused:
			d.postpone(l, now)
			l.contended = left.refused
		case len(left.rows) == 0:
			l.delay, l.notBefore, l.contended = 0, time.Time{}, false
		}
		d.waiting = append(d.waiting, l)
	}
	if contended && a.err == nil {
		d.together = min(2*d.together, d.maxRows)
		if refused {
			d.together = 1
		}
	}
	slices.SortStableFunc(d.waiting, func(a, b *lane) int { return a.since().Compare(b.since()) })
}

// postpone lets a lane wait before it is tried again, with a jitter, so that two processes
// do not take turns in finding each other's lock.
func (d *dispatcher) postpone(l *lane, now time.Time) {
	if before := l.delay; before < maxLockDelay {
		l.delay = min(max(2*before, minLockDelay), maxLockDelay)
		if l.delay == maxLockDelay {
			d.log.WarnContext(d.work, "results of a loop wait for a lock that another transaction holds",
				"check", l.key.check, "region", l.key.region, "waited", now.Sub(l.since()))
		}
	}
	l.notBefore = now.Add(l.delay/2 + rand.N(l.delay/2)) //nolint:gosec // spreads retries
}

// unavailable pauses all transactions, since what failed was the way to the server.
func (d *dispatcher) unavailable(now time.Time, a attempt) {
	if pg.IsTimeout(a.err) {
		d.timeout = min(2*d.timeout, maxCommitTimeout)
	}
	if now.Before(d.pausedUntil) || d.work.Err() != nil {
		return
	}
	d.pause = min(max(2*d.pause, minRetryDelay), maxRetryDelay)
	d.pausedUntil = now.Add(d.pause)
	oldest := now
	for _, p := range a.group {
		if p.came.Before(oldest) {
			oldest = p.came
		}
	}
	d.log.WarnContext(d.work, "results wait for the database",
		"rows", len(a.group), "waited", now.Sub(oldest), "retry_in", d.pause, "error", a.err)
}
