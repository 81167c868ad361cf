// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"github.com/vigil-monitor/vigil/storage/results"
)

// The rules of the result writer.
const (
	groupDelay = results.GroupDelay
	groupRows  = results.GroupRows
	// retryDelay is how long the writer waits at most after a transaction that failed since Postgres was away.
	retryDelay = time.Second
)

// row is a result that waits to be stored.
type row struct {
	loop   uint32
	turn   uint16
	wakes  bool // the worker was asleep when it was probed
	missed int32
	slot   int64
	late   int64
	came   int64
}

// write gives a row to the writer of a worker.
func (w *world) write(of uint32, r row, due int64) {
	p := w.workers[of]
	p.rows = append(p.rows, r)
	switch {
	case len(p.rows) >= groupRows:
		w.dispatch(of)
	case len(p.rows) == 1 || due < p.due:
		p.due = due
		w.lookAtGroup(of)
	}
}

// lookAtGroup looks at the rows of a worker when they must be stored.
func (w *world) lookAtGroup(of uint32) {
	p := w.workers[of]
	p.groupTurn++
	w.events.push(event{at: max(w.now, p.due), of: of, turn: p.groupTurn, kind: atGroup})
}

// dispatch divides the rows that wait among the idle transactions, as the writer does.
func (w *world) dispatch(of uint32) {
	p := w.workers[of]
	if !p.alive || len(p.rows) == 0 || p.inFlight == results.GroupsInFlight {
		return // the end of a transaction looks again
	}
	if len(p.rows) < groupRows && p.due > w.now {
		w.lookAtGroup(of)
		return
	}
	groups := make([][]row, results.Groups(len(p.rows), results.GroupsInFlight-p.inFlight))
	left := p.rows[:0]
	for _, r := range p.rows {
		g := int(r.loop*2654435761>>8) % len(groups) // by its loop
		if len(groups[g]) == groupRows {
			left = append(left, r)
			continue
		}
		groups[g] = append(groups[g], r)
	}
	p.rows = left
	if len(left) > 0 {
		p.due = w.now
	}
	for _, group := range groups {
		if len(group) > 0 {
			w.store(of, group)
		}
	}
}

// store begins the transaction of a group.
func (w *world) store(of uint32, group []row) {
	p := w.workers[of]
	p.inFlight++
	at := -1
	for i, flight := range p.flights {
		if flight == nil {
			at = i
		}
	}
	if at < 0 {
		at = len(p.flights)
		p.flights = append(p.flights, nil)
	}
	p.flights[at] = group
	begins := w.now
	if w.now >= w.awayFrom && w.now < w.awayUntil {
		begins = w.awayUntil + w.random(retryDelay)
	}
	_, ends := p.host.work(begins, core(w.m.Worker.Group))
	_, ends = w.database.work(ends, core(w.m.Postgres.Group+w.m.Postgres.Result*float64(len(group))))
	ends = max(ends+int64(w.o.Commit), w.now+1)
	w.events.push(event{at: ends, of: of, turn: uint16(at), kind: atStored})
}

// storedGroup ends a transaction: the loops of its rows go on.
func (w *world) storedGroup(of uint32, flight int) {
	p := w.workers[of]
	if !p.alive || flight >= len(p.flights) || p.flights[flight] == nil {
		return // lost with its worker
	}
	group := p.flights[flight]
	p.flights[flight] = nil
	p.inFlight--
	w.out.group(w)
	for i := range group {
		r := &group[i]
		l := &w.loops[r.loop]
		if l.turn != r.turn {
			continue // another worker has the loop
		}
		w.out.result(w, l, r)
		l.first = l.slot.IsZero()
		l.slot, l.stored = w.instant(r.slot), w.now
		l.covered++
		w.decide(r.loop)
		l.first = false
	}
	w.dispatch(of)
}
