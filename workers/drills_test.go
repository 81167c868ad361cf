// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// longDrills is a store of drills that are followed until the worker stops.
type longDrills struct {
	followed atomic.Int32
	stop     chan struct{}
}

// FollowDrill does not end at its timeout either, so that the slots are taken until the test ends.
func (d *longDrills) FollowDrill(context.Context, uuid.UUID) (drills.Step, error) {
	d.followed.Add(1)
	<-d.stop
	return drills.Close, nil
}

func (*longDrills) StageDrill(context.Context, uuid.UUID) ([]vigil.Loop, error) { return nil, nil }
func (*longDrills) HealDrill(context.Context, uuid.UUID) ([]vigil.Loop, error)  { return nil, nil }
func (*longDrills) LoopsOf(context.Context, uuid.UUID) ([]vigil.Loop, error)    { return nil, nil }
func (*longDrills) Refresh(context.Context, uuid.UUID) error                    { return errors.New("away") }

func (*longDrills) CloseDrill(context.Context, uuid.UUID, string, func([]byte) (string, error)) (drills.Drill, bool, error) {
	return drills.Drill{}, false, nil
}

// TestDrillsLeaveIncidentsTheirSlots proves that an incident opens and resolves while more drills are followed than
// the control worker has slots.
func TestDrillsLeaveIncidentsTheirSlots(t *testing.T) {
	t.Parallel()
	const slots = 200
	store := &longDrills{stop: make(chan struct{})}
	p := workerstest.StartWith(t, func(o *workers.ControlOptions) {
		o.Drills = activities.NewDrills(activities.DrillsOptions{Store: store, Incidents: store, Log: slog.New(slog.DiscardHandler)})
	}, newark)
	t.Cleanup(func() { close(store.stop) })
	for range slots + 10 {
		p.OK(p.Incidents.StartDrill(t.Context(), p.Org.ID, uuid.New()))
	}
	eventually(t, "all slots of drills are taken", func() bool { return store.followed.Load() == slots })
	p.Vote(newark, true)
	p.AwaitOpen(1)
	p.Vote(newark, false)
	p.AwaitResolved()
}
