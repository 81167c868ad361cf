// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// worker is a worker process on its host.
type worker struct {
	host     *host
	budget   *pace.Budget
	lateness *pace.Lateness
	alive    bool
	renewed  int64    // when its lease was renewed last
	waiting  []uint32 // loops whose slot came while the lease did not hold
	probed   int64    // when its last probe began

	places *places

	// The result writer.
	rows      []row // that wait to be stored
	due       int64 // when the first of them must be
	groupTurn uint16
	inFlight  int
	flights   [][]row // of each transaction; nil where it is idle
	adopting  []uint32
}

// parked reports whether the lease does not hold: the worker takes no turns and starts no probes.
func (p *worker) parked(now int64) bool { return now-p.renewed > int64(fleet.LeaseTimeout) }

// places are those for probes of a worker: the platform's own queue, in the time of the simulation.
type places struct {
	queue  *fair.Queue
	held   []held    // in the order in which they are given back
	timers []*timer  // of places that are held, in the order in which they end: all are for the same time
	wait   []waiting // claims without a place
	look   int64     // when the worker looks at them next; 0: it does not
}

type held struct {
	until int64
	place *fair.Place
}

type waiting struct {
	loop  uint32
	turn  uint16
	place *fair.Place
}

// timer is one of fair.Queue. Once it was reset it is for a time that no probe of a simulation needs: what is slow is so by
// its claim.
type timer struct {
	at   int64
	do   func()
	over bool
}

func (t *timer) Stop() bool {
	was := !t.over
	t.over, t.do = true, nil
	return was
}

func (t *timer) Reset(time.Duration) bool { return t.Stop() }

func newPlaces(w *world, most int) *places {
	s := &places{}
	limits := fair.DefaultLimits(most)
	limits.AfterFunc = func(after time.Duration, do func()) fair.Timer {
		t := &timer{at: w.now + int64(after), do: do}
		s.timers = append(s.timers, t)
		return t
	}
	s.queue = fair.New(limits)
	return s
}

// settle gives places back whose probes have ended, and lets those settle that are held for long enough.
func (s *places) settle(now int64) {
	for len(s.held) > 0 && s.held[0].until <= now {
		s.held[0].place.Leave()
		s.held = s.held[1:]
	}
	for len(s.timers) > 0 && (s.timers[0].over || s.timers[0].at <= now) {
		t := s.timers[0]
		s.timers = s.timers[1:]
		if do := t.do; !t.over {
			t.over = true
			do()
		}
	}
}

// hold keeps a place until a probe has ended. Most take as long as the one before them, so most go to the end.
func (s *places) hold(until int64, place *fair.Place) {
	s.held = append(s.held, held{until, place})
	for i := len(s.held) - 1; i > 0 && s.held[i-1].until > s.held[i].until; i-- {
		s.held[i-1], s.held[i] = s.held[i], s.held[i-1]
	}
}

// granted reports whether a claim holds a place.
func granted(p *fair.Place) bool {
	select {
	case <-p.Granted():
		return true
	default:
		return false
	}
}

// slotDue probes the slot of a loop that is due, once it has a place.
func (w *world) slotDue(i uint32) {
	l := &w.loops[i]
	p := w.workers[l.worker]
	if !p.alive {
		return // the loop is lost, until another worker has it
	}
	if p.parked(w.now) {
		p.waiting = append(p.waiting, i)
		return
	}
	slot := l.schedule.Due(l.slot, w.instant(w.now))
	if w.since(slot) > w.now {
		w.decide(i)
		return
	}
	p.places.settle(w.now)
	place := p.places.queue.Join(w.claim(i))
	if granted(place) {
		w.probe(i, place)
		return
	}
	p.places.wait = append(p.places.wait, waiting{loop: i, turn: l.turn, place: place})
	w.lookLater(l.worker)
}

// claim is that of the probe of a loop.
func (w *world) claim(i uint32) fair.Claim {
	l := &w.loops[i]
	return fair.Claim{
		Organization: strconv.Itoa(int(i) % w.o.Organizations), Target: strconv.Itoa(int(i)), Slow: w.slow(i),
		Since: l.schedule.Next(l.slot),
	}
}

// slow reports whether the target of a loop hangs.
func (w *world) slow(i uint32) bool {
	return w.o.Slow > 0 && float64(i) < w.o.Slow*float64(len(w.loops))
}

// lookAtPlaces begins the probes whose claims hold a place by now.
func (w *world) lookAtPlaces(of uint32) {
	p := w.workers[of]
	if !p.alive || p.places.look == 0 || p.places.look > w.now {
		return
	}
	p.places.look = 0
	p.places.settle(w.now)
	if int(p.places.queue.Waiting()) == len(p.places.wait) && len(p.places.wait) > 0 { // none holds a place
		w.lookLater(of)
		return
	}
	left := p.places.wait[:0]
	for _, claim := range p.places.wait {
		switch l := &w.loops[claim.loop]; {
		case l.turn != claim.turn:
			claim.place.Leave()
		case granted(claim.place):
			w.probe(claim.loop, claim.place)
		default:
			left = append(left, claim)
		}
	}
	p.places.wait = left
	if len(left) > 0 {
		w.lookLater(of)
	}
}

// lookEvery is how often a worker looks for places at most: thousands of claims may wait, and each look reads all.
const lookEvery = time.Millisecond

// lookLater looks at the places of a worker when the next one may be free.
func (w *world) lookLater(of uint32) {
	s := w.workers[of].places
	next := w.now + int64(time.Second)
	if len(s.held) > 0 {
		next = min(next, s.held[0].until)
	}
	if len(s.timers) > 0 {
		next = min(next, s.timers[0].at)
	}
	if next = max(next, w.now+int64(lookEvery)); s.look == 0 || next < s.look {
		s.look = next
		w.events.push(event{at: next, of: of, kind: atPlaces})
	}
}

// probe probes a slot, and gives its result to the writer.
func (w *world) probe(i uint32, place *fair.Place) {
	l := &w.loops[i]
	p := w.workers[l.worker]
	now := w.instant(w.now)
	slot, next := l.schedule.Due(l.slot, now), l.schedule.Next(l.slot)
	missed := l.schedule.Count(next, slot)
	takes, wakes := w.m.Worker.Result, false
	if w.now-p.probed > int64(wakeAfter) {
		takes, wakes = takes+w.m.Worker.Wake, true
	}
	p.probed = w.now
	begins, ends := p.host.work(w.now, core(takes))
	if w.o.OneMachine {
		_, ends = p.host.work(ends, core(w.m.Target.Result))
	}
	took := w.o.Response
	if w.slow(i) {
		took = w.o.Timeout
	}
	ends += int64(took)
	p.places.hold(ends, place)
	if !w.slow(i) {
		p.lateness.Observe(now, time.Duration(begins-w.since(next)), 1+int(min(missed, 10)))
	}
	left := l.schedule.Next(slot).Sub(w.instant(ends))
	delay := max(int64(pace.WriteDelay(left)), int64(groupDelay))
	if l.fresh && l.covered == 0 {
		delay = int64(groupDelay) // news
	}
	w.write(l.worker, row{
		loop: i, turn: l.turn, wakes: wakes, missed: int32(missed), //nolint:gosec // slots of a simulation
		slot: w.since(slot), late: begins - w.since(slot) + int64(w.m.Timer), came: ends,
	}, ends+delay)
}
