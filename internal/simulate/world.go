// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// region is the key of the region that is simulated.
const region = "eu-central-fra"

// world is a region with its workers, its Postgres and its part of Temporal, at an instant.
type world struct {
	o      Options
	m      Model
	origin time.Time
	rate   float64 // of the budgets of turns
	rng    *rand.Rand

	now     int64
	events  events
	loops   []loop
	workers []*worker
	// database has the region's results, and temporal is its part of the cluster with its store. On one machine all are one.
	database, temporal *host

	awayFrom, awayUntil int64 // Postgres takes no writes
	lost                []*lostLease
	measuring           bool  // the measured time has begun
	lossAt              int64 // when something was lost; 0: nothing yet
	end                 int64
	out                 tally
}

// loop is a loop of the region.
type loop struct {
	id       uuid.UUID
	schedule vigil.Schedule
	plan     vigil.TurnPlan
	slot     time.Time // the newest with a result
	stored   int64     // when that was stored
	worker   uint32
	span     int32 // slots that the turn may cover
	covered  int32
	turn     uint16 // counts what makes older events void
	// fresh: it had no state when its turn began. running: it has a turn. adopted: that was another worker's. reported: the
	// turn has reported its vote. first: its newest result was its first one. moved: it was lost, and has no result since.
	fresh, running, adopted, reported, first, moved bool
}

// instant is a time of the simulation as the rules of the platform take it.
func (w *world) instant(at int64) time.Time { return w.origin.Add(time.Duration(at)) }

// since is the opposite of instant.
func (w *world) since(at time.Time) int64 { return int64(at.Sub(w.origin)) }

// newWorld returns the region as it is at its beginning.
func newWorld(o Options, m Model) (*world, error) {
	rate, wide, err := o.rates()
	if err != nil {
		return nil, err
	}
	w := &world{
		o: o, m: m, origin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), rate: rate,
		rng: rand.New(rand.NewPCG(o.Seed, 1)), //nolint:gosec // the same for a seed
	}
	machine := newHost(o.Cores)
	w.database, w.temporal = machine, machine
	if !o.OneMachine {
		w.database, w.temporal = newHost(o.DatabaseCores), newHost(o.TemporalCores)
	}
	for i := range o.Workers {
		p := &worker{host: machine, budget: pace.NewBudget(rate, wide), lateness: &pace.Lateness{}, alive: true}
		if !o.OneMachine {
			p.host = newHost(o.Cores)
		}
		p.places = newPlaces(w, o.MaxProbes)
		w.workers = append(w.workers, p)
		w.events.push(event{at: w.random(fleet.LeaseRenewal), of: uint32(i), kind: atRenewal})
	}
	w.events.push(event{at: w.random(fleet.SweepPass), kind: atSweep})
	begins := int64(o.Created + o.Warm)
	w.events.push(event{at: begins, kind: atMeasure})
	w.end = begins + int64(o.For)
	if o.Lose != LoseNothing {
		w.events.push(event{at: w.end, kind: atLoss})
		w.end += int64(o.After)
	}
	w.makeLoops()
	return w, nil
}

// makeLoops makes the loops. Those that are created begin one after the other; those that exist go on with the newest slot
// before the beginning, as after a restart of their workers.
func (w *world) makeLoops() {
	w.loops = make([]loop, w.o.Checks)
	for i := range w.loops {
		l, at := &w.loops[i], int64(w.o.Created)*int64(i)/int64(len(w.loops))
		binary.BigEndian.PutUint64(l.id[:], w.rng.Uint64())
		binary.BigEndian.PutUint64(l.id[8:], w.rng.Uint64())
		l.worker, l.span = uint32(i%w.o.Workers), 1 //nolint:gosec // at most 10,000
		start := w.instant(at)
		if w.o.Created == 0 {
			start = w.origin.Add(-2 * w.o.Interval)
		}
		check := vigil.Check{
			ID: l.id, Interval: w.o.Interval, Anchor: vigil.NewAnchor(l.id, start, w.o.Interval), Regions: []string{region},
		}
		l.schedule = check.Schedule(region, start)
		l.fresh = w.o.Created > 0
		if !l.fresh {
			l.slot, _ = l.schedule.Newest(w.origin)
			w.workers[l.worker].budget.Run(w.key(l), w.o.Interval, false, w.origin)
		}
		w.events.push(event{at: at, of: uint32(i), kind: atTurn})
	}
	for i := range w.loops {
		if l := &w.loops[i]; !l.fresh && w.rate > 0 {
			most, _ := w.workers[l.worker].budget.Most(w.origin, w.o.Interval, w.o.Window, false)
			l.span = int32(most) //nolint:gosec // at most 6 h of seconds
		}
	}
}

func (w *world) key(l *loop) pace.Loop { return pace.Loop{Check: l.id, Region: region} }

// random is a part of a duration.
func (w *world) random(below time.Duration) int64 { return w.rng.Int64N(int64(below)) }

// askEvery is after how many events the simulation looks whether it is stopped.
const askEvery = 1 << 16

// run runs the simulation to its end. Its error is that of ctx.
func (w *world) run(ctx context.Context) error {
	for n := 0; len(w.events) > 0; n++ {
		if n%askEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := w.events.pop()
		if e.at >= w.end {
			break
		}
		w.now = e.at
		w.happen(e)
	}
	w.now = w.end
	return nil
}

// happen does what happens at an event.
func (w *world) happen(e event) {
	switch e.kind {
	case atSlot:
		if w.loops[e.of].turn == e.turn {
			w.slotDue(e.of)
		}
	case atTurn:
		if w.loops[e.of].turn == e.turn {
			w.beginTurn(e.of)
		}
	case atGroup:
		if p := w.workers[e.of]; p.groupTurn == e.turn {
			w.dispatch(e.of)
		}
	case atStored:
		w.storedGroup(e.of, int(e.turn))
	case atPlaces:
		w.lookAtPlaces(e.of)
	case atRenewal:
		w.renew(e.of)
	case atSweep:
		w.sweep()
	case atAdopted:
		w.adopted(e.of)
	case atLoss:
		w.lose()
	case atReturn:
		w.comeBack()
	case atMeasure:
		w.measuring = true
	}
}
