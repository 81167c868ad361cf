// SPDX-License-Identifier: Apache-2.0

package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/workers"
)

// modelSlots is how many slots a turn of the model covers.
const modelSlots = 4

// modelWorker is a worker process. Its leases, claims, adoptions and its end are the real ones,
// its turns are those of the model.
type modelWorker struct {
	process
	workers.Steps

	world   *world
	lease   *activities.LeaseHolder
	watcher *activities.Watcher
	turn    *modelTurn // of the loop; nil: it runs none
}

// modelTurn is the turn of the loop that a worker runs, as activities.Watcher does.
type modelTurn struct {
	id       int
	fence    int64
	adoption bool
	covered  int
	left     int // slots
}

func newModelWorker(w *world, name string) *modelWorker {
	m := &modelWorker{world: w, process: process{name: name}, lease: activities.NewLeaseHolder(w.now)}
	m.watcher = activities.NewWatcher(activities.WatcherOptions{
		Lease: m.lease, Worker: name, Probes: fair.New(fair.DefaultLimits(1)), Now: w.now,
	})
	m.Steps = workers.NewSteps(workers.RegionOptions{
		Name: name, Regions: []string{w.region}, Watcher: m.watcher, Leases: modelLeases{w, m}, Capabilities: &regionWorker{},
		Now: w.now, Log: slog.New(slog.DiscardHandler),
	}, m.adopt)
	return m
}

// adopt runs turns that the worker has adopted.
func (m *modelWorker) adopt(turns []vigil.OpenTurn, fence int64, _ <-chan struct{}) {
	for _, open := range turns {
		id, _ := strconv.Atoi(open.ActivityID)
		m.turn = &modelTurn{id: id, fence: fence, adoption: true, left: modelSlots}
		m.world.note("%s runs the adopted turn %d", m.name, id)
	}
}

// second is what the worker does in one.
func (m *modelWorker) second(ctx context.Context) {
	if m.dead {
		return
	}
	if m.stopping {
		m.end(ctx)
		return
	}
	for _, step := range []func(context.Context){m.Renew, m.Adopt, m.begin, m.Claim, m.goOn} {
		if step(ctx); m.dead {
			return
		}
		if m.stopping {
			break
		}
	}
}

// begin takes a turn that waits.
func (m *modelWorker) begin(ctx context.Context) {
	fence, ok := m.lease.Holds(m.world.region)
	if !ok || !m.world.poll(ctx, m) {
		return
	}
	if m.stopping {
		return // the task is dropped
	}
	m.turn = &modelTurn{id: m.world.temporal.turn.id, fence: fence, left: modelSlots}
	m.watcher.ReturnClaims(m.world.region, []uuid.UUID{m.world.check.ID})
}

// goOn probes when that is due, and ends the turn after its last slot.
func (m *modelWorker) goOn(ctx context.Context) {
	t := m.turn
	if t == nil {
		return
	}
	if t.left > 0 && !m.probe(ctx, t) || m.dead {
		return
	}
	if t.left > 0 || m.turn != t {
		return
	}
	unknown, err := modelTemporal{m.world, &m.process}.complete(ctx, t.id)
	if err != nil {
		return // it is repeated
	}
	if unknown && t.adoption {
		if (modelTemporal{m.world, &m.process}).Nudge(ctx, vigil.Loop{}) != nil {
			return
		}
	}
	m.turn = nil
}

// probe probes the slot that is due, and reports whether the turn goes on.
func (m *modelWorker) probe(ctx context.Context, t *modelTurn) bool {
	w := m.world
	fence, ok := m.lease.Holds(w.region)
	if !ok {
		return false // it is parked
	}
	lease := fleet.Lease{Worker: m.name, Region: w.region}
	if fence != t.fence {
		named := t.adoption || t.covered > 0
		owns, err := w.store.OwnsLoop(ctx, w.check.ID, lease)
		if named && err != nil {
			return false
		}
		if named && !owns {
			m.turn = nil // it is left open
			return false
		}
		t.left = 0
		return true
	}
	slot := w.now().Truncate(modelInterval)
	if !slot.After(w.slot) {
		return false
	}
	row := vigil.ResultRow{
		Worker: m.name, Deadline: time.Second, TurnSlots: modelSlots, Owned: t.adoption || t.covered > 0,
		Result: vigil.Result{
			ID: uuid.New(), CheckID: w.check.ID, Region: w.region, Slot: slot, Time: slot, Observation: vigil.Observation{Success: true},
		},
	}
	if t.left > 1 {
		row.Turn = &vigil.TurnActivity{RunID: w.temporal.run, ActivityID: fmt.Sprint(t.id), Ends: time.Now().Add(time.Hour)}
	}
	var stored vigil.StoredResult
	err := w.gate(ctx, &m.process, "store a result", func() (err error) {
		stored, err = w.writer.Write(ctx, row)
		return err
	})
	switch {
	case m.dead:
		return false
	case err != nil && vigil.ErrorCode(err) != vigil.CodeConflict:
		t.left = 0 // the turn fails
		return true
	case err != nil || stored.Moved:
		t.left = 0
		return true
	}
	if w.since(w.probed) > 3*modelInterval {
		w.broken = w.ticks
	}
	w.probed, w.slot = w.ticks, slot
	t.covered, t.left = t.covered+1, t.left-1
	return true
}

// end is an orderly stop: turns that no row names are handed over.
func (m *modelWorker) end(ctx context.Context) {
	w := m.world
	w.note("%s stops", m.name)
	if t := m.turn; t != nil && !t.adoption && t.covered == 0 {
		if _, err := (modelTemporal{w, &m.process}).complete(ctx, t.id); err != nil {
			w.note("%s: its turn is not handed over", m.name)
		}
	}
	m.turn = nil
	if !m.dead {
		m.Stop(ctx)
	}
	m.die()
}

// modelLeases are the leases as a worker sees them. Its clock agrees with the database's.
type modelLeases struct {
	*world

	m *modelWorker
}

func (l modelLeases) call(ctx context.Context, what string, call func() error) error {
	return l.gate(ctx, &l.m.process, what, call)
}

func (l modelLeases) RenewLease(ctx context.Context, r fleet.Renewal) (fleet.Grant, error) {
	if l.m.dead {
		return fleet.Grant{}, errFault
	}
	grant, err := l.store.RenewLease(ctx, r)
	grant.Clock = l.now()
	return grant, err
}

func (l modelLeases) Clock(context.Context) (time.Time, error) { return l.now(), nil }

func (l modelLeases) GiveUpLease(ctx context.Context, worker string) error {
	return l.call(ctx, "give the lease up", func() error { return l.store.GiveUpLease(ctx, worker) })
}

func (l modelLeases) ReleaseLease(ctx context.Context, worker string) error {
	return l.call(ctx, "release the lease", func() error { return l.store.ReleaseLease(ctx, worker) })
}

func (l modelLeases) ClaimLoops(ctx context.Context, lease fleet.Lease, checks []uuid.UUID) error {
	return l.call(ctx, "claim", func() error { return l.store.ClaimLoops(ctx, lease, checks) })
}

func (l modelLeases) AdoptTurns(ctx context.Context, a fleet.Adoption, silence time.Duration) (turns []vigil.OpenTurn, err error) {
	err = l.call(ctx, "adopt", func() (err error) {
		turns, err = l.store.AdoptTurns(ctx, a, silence)
		return err
	})
	if err != nil {
		return nil, err
	}
	return turns, nil
}

func (l modelLeases) RegionsInUse(context.Context, []string) ([]string, error) { return nil, nil }
