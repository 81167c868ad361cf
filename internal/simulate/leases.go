// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// adoptionTime is for how long the loops of a revoked lease are left to those who may adopt them (storage/loops).
const adoptionTime = 5 * time.Second

// lostLease is that of a worker that was lost.
type lostLease struct {
	renewed int64 // when it was renewed last
	revoked int64 // 0: not yet
	// open are the loops whose turns others may adopt, those due first first, and closed those that must be nudged: they had
	// no turn, or one without a result.
	open, closed []uint32
}

// renew renews the lease of a worker, whose loops then go on that waited for it, and adopts what is lost.
func (w *world) renew(of uint32) {
	p := w.workers[of]
	w.events.push(event{at: w.now + int64(fleet.LeaseRenewal), of: of, kind: atRenewal})
	if !p.alive || w.now >= w.awayFrom && w.now < w.awayUntil {
		return
	}
	p.renewed = w.now
	for _, i := range p.waiting {
		w.events.push(event{at: w.now, of: i, turn: w.loops[i].turn, kind: atSlot})
	}
	p.waiting = nil
	w.adoptSome(of)
}

// adoptSome makes some turns of revoked leases those of a worker, in one transaction.
func (w *world) adoptSome(of uint32) {
	p := w.workers[of]
	if p.adopting != nil {
		return
	}
	var some []uint32
	for _, lost := range w.lost {
		if lost.revoked == 0 {
			continue
		}
		n := min(fleet.AdoptAtOnce-len(some), len(lost.open))
		some = append(some, lost.open[:n]...)
		lost.open = lost.open[n:]
	}
	if len(some) == 0 {
		return
	}
	p.adopting = some
	_, ends := w.database.work(w.now, core(w.m.Adopt.Postgres*float64(len(some))))
	w.events.push(event{at: ends + int64(w.o.Commit), of: of, kind: atAdopted})
}

// adopted begins the turns that a worker has adopted: each reads its stored results first.
func (w *world) adopted(of uint32) {
	p := w.workers[of]
	some := p.adopting
	p.adopting = nil
	if !p.alive {
		return // the sweep finds them again: not simulated, since nothing is lost twice
	}
	for _, i := range some {
		_, ends := p.host.work(w.now, core(w.m.Adopt.Worker))
		w.moveTo(i, of)
		w.loops[i].adopted = true
		w.events.push(event{at: ends, of: i, turn: w.loops[i].turn, kind: atTurn})
	}
	w.adoptSome(of)
}

// moveTo makes a loop that of another worker: what it waited for is void.
func (w *world) moveTo(i, of uint32) {
	l := &w.loops[i]
	l.worker, l.running = of, false
	l.turn++
}

// sweep revokes leases that are no longer renewed, and nudges loops that no worker may adopt or has adopted in time.
func (w *world) sweep() {
	w.events.push(event{at: w.now + int64(fleet.SweepPass), kind: atSweep})
	if _, served := w.anyWorker(); !served {
		return // a region without a worker is left alone
	}
	// While Postgres was away no worker could renew, so they get time for that.
	if w.awayUntil > 0 && w.now < w.awayUntil+int64(fleet.LeaseTimeout+fleet.LeaseRenewal) {
		return
	}
	left := fleet.NudgeAtOnce
	for _, lost := range w.lost {
		switch {
		case lost.revoked == 0 && w.now-lost.renewed > int64(fleet.LeaseTimeout):
			lost.revoked = w.now
		case lost.revoked == 0:
			continue
		}
		lost.closed, left = w.nudge(lost.closed, left)
		if w.now-lost.revoked > int64(adoptionTime) { // those that are due last: adoption goes on with the others
			lost.open, left = w.nudge(lost.open, left)
		}
	}
}

// nudge has Temporal begin other turns for the last of some loops, up to a limit, and returns the others. A pass waits for the
// answers of Temporal, so it does not go on while that has more to do than until the next one.
func (w *world) nudge(loops []uint32, limit int) (left []uint32, rest int) {
	for len(loops) > 0 && limit > 0 && w.temporal.backlog(w.now) < int64(fleet.SweepPass) {
		i := loops[len(loops)-1]
		loops = loops[:len(loops)-1]
		next, _ := w.anyWorker()
		w.moveTo(i, next)
		w.pass(i)
		w.out.nudges++
		limit--
	}
	return loops, limit
}

// lose loses what the options say.
func (w *world) lose() {
	w.lossAt = w.now
	w.out.lost(w)
	var dead []uint32
	for i := range w.workers {
		switch {
		case w.o.Lose == LoseHost && i == 0, w.o.Lose == LoseZone && i%w.o.Zones == 0, w.o.Lose == LoseRegion:
			dead = append(dead, uint32(i))
		}
	}
	switch {
	case w.o.Lose == LoseZone:
		w.awayFrom, w.awayUntil = w.now, w.now+int64(w.o.Failover)
	case w.o.OneMachine: // the sweep is lost with it, and takes the same time before it judges
		w.awayFrom, w.awayUntil = w.now, w.now+int64(w.o.Away)
	}
	leases := make(map[uint32]*lostLease, len(dead))
	for _, of := range dead {
		p := w.workers[of]
		p.alive, p.rows, p.flights, p.inFlight, p.waiting = false, nil, nil, 0, nil
		p.groupTurn++
		leases[of] = &lostLease{renewed: p.renewed}
		w.lost = append(w.lost, leases[of])
	}
	for i := range w.loops {
		l := &w.loops[i]
		lost := leases[l.worker]
		if lost == nil {
			continue
		}
		if l.moved = true; l.running && l.covered > 0 {
			lost.open = append(lost.open, uint32(i))
			l.turn++
			continue
		}
		if l.running { // a turn without a result, which no row names
			lost.closed = append(lost.closed, uint32(i))
			l.turn++
		}
	}
	for _, lost := range w.lost {
		slices.SortFunc(lost.open, func(a, b uint32) int {
			return cmp.Or(w.next(a).Compare(w.next(b)), cmp.Compare(a, b))
		})
	}
	w.out.movedLoops = w.countMoved()
	if w.o.Away > 0 {
		w.events.push(event{at: w.now + int64(w.o.Away), kind: atReturn})
	}
}

// next is the slot that a loop has next.
func (w *world) next(i uint32) time.Time { return w.loops[i].schedule.Next(w.loops[i].slot) }

func (w *world) countMoved() (n int64) {
	for i := range w.loops {
		if w.loops[i].moved {
			n++
		}
	}
	return n
}

// comeBack starts the lost workers again, as processes that know no loop.
func (w *world) comeBack() {
	rate, wide, _ := w.o.rates() // judged before
	for _, p := range w.workers {
		if p.alive {
			continue
		}
		p.alive, p.renewed = true, w.now
		p.budget, p.lateness, p.places = pace.NewBudget(rate, wide), &pace.Lateness{}, newPlaces(w, w.o.MaxProbes)
	}
}
