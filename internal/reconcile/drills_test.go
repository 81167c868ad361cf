// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// drillSweeps are two processes that sweep the drills of a Postgres, and a Temporal that counts which
// workflows it is asked for.
type drillSweeps struct {
	*testing.T
	*storage.Store
	org     uuid.UUID
	sweeps  []*reconcile.Sweep
	mu      sync.Mutex
	at      time.Time
	away    bool // Temporal does not answer
	started map[uuid.UUID]int
	closed  map[uuid.UUID]int
}

func newDrillSweeps(t *testing.T) *drillSweeps {
	t.Helper()
	d := &drillSweeps{
		T: t, at: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), started: make(map[uuid.UUID]int), closed: make(map[uuid.UUID]int),
	}
	d.Store = storagetest.New(t, func(o *storage.Options) { o.Now = d.now })
	_, org, err := d.CreateAccount(
		t.Context(), account.Organization{Name: "Engines", Tier: account.TierEnterprise},
		account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	d.org = org.ID
	for _, process := range []string{"one", "two"} {
		temporal := new(workflows)
		d.sweeps = append(d.sweeps, reconcile.New(reconcile.Options{
			Process: process, Loops: temporal, Store: d.Store, Housekeeping: emptyStore{}, Incidents: temporal, Drills: d,
			Away: isAway, Now: d.now, Log: slog.New(slog.DiscardHandler),
		}))
	}
	return d
}

func (d *drillSweeps) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *drillSweeps) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
}

func (d *drillSweeps) setAway(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
}

// StartDrill starts a workflow that is lost after its first trace.
func (d *drillSweeps) StartDrill(ctx context.Context, orgID, id uuid.UUID) error {
	d.mu.Lock()
	if d.away {
		d.mu.Unlock()
		return errAway
	}
	if orgID != d.org {
		d.Errorf("a drill of %s is started as one of %s", d.org, orgID)
	}
	d.started[id]++
	d.mu.Unlock()
	_, err := d.FollowDrill(ctx, id)
	return err
}

func (d *drillSweeps) CloseDrill(ctx context.Context, id uuid.UUID) error {
	_, closed, err := d.Store.CloseDrill(ctx, id, "v1", func([]byte) (string, error) { return "", nil })
	d.mu.Lock()
	defer d.mu.Unlock()
	if closed {
		d.closed[id]++
	}
	return err
}

func (d *drillSweeps) RunDrillSchedule(ctx context.Context, orgID, id uuid.UUID) (*drills.Drill, error) {
	return d.Store.RunDrillSchedule(ctx, orgID, id, region)
}

// sweep runs a pass in both processes at once, and again until one of them has the common shard.
func (d *drillSweeps) sweep(pass string) {
	d.Helper()
	for range 10 {
		leads := slices.ContainsFunc(d.sweeps, (*reconcile.Sweep).Leads)
		var group sync.WaitGroup
		for _, one := range d.sweeps {
			group.Go(func() {
				if err := one.Pass(d.Context(), pass); err != nil {
					d.Errorf("%s: %v", pass, err)
				}
			})
		}
		group.Wait()
		if leads && slices.ContainsFunc(d.sweeps, (*reconcile.Sweep).Leads) {
			return
		}
	}
	d.Fatal("no process has the common shard")
}

func (d *drillSweeps) channel(name string) uuid.UUID {
	d.Helper()
	made, err := d.CreateChannel(d.Context(), vigil.Channel{
		OrgID: d.org, Name: name, Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true,
	})
	if err != nil {
		d.Fatal(err)
	}
	return made.ID
}

// begun holds how often the workflow of a drill was asked for.
func (d *drillSweeps) begun(when string, id uuid.UUID, times int) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started[id] != times {
		d.Errorf("%s the workflow was started %d times, want %d", when, d.started[id], times)
	}
}

// TestSweepOfDrills loses the workflow of a drill at once, and each one that the sweeps of two
// processes start: it is started again after 30 s without a trace, and closed after 15 min, once.
func TestSweepOfDrills(t *testing.T) {
	t.Parallel()
	d := newDrillSweeps(t)
	drill, err := d.CreateDrill(t.Context(), drills.Drill{OrgID: d.org, Request: drills.Request{
		ChannelIDs: []uuid.UUID{d.channel("ops")}, ExpectWithin: drills.DefaultExpect,
	}}, region)
	if err != nil {
		t.Fatal(err)
	}
	d.set(drill.AskedAt.Add(29 * time.Second))
	d.sweep("drills")
	d.begun("after 29 s", drill.ID, 0)
	d.set(drill.AskedAt.Add(30 * time.Second))
	d.sweep("drills")
	d.begun("after 30 s", drill.ID, 1)
	if _, err := d.StageDrill(t.Context(), drill.ID); err != nil { // and the workflow is lost again
		t.Fatal(err)
	}
	d.sweep("drills")
	d.begun("right after its check was stored", drill.ID, 1)
	d.set(drill.AskedAt.Add(time.Minute))
	d.sweep("drills")
	d.begun("30 s after its check was stored", drill.ID, 2)
	d.set(drill.AskedAt.Add(drills.MaxTime))
	d.sweep("drills")
	d.sweep("drills")
	d.begun("after 15 min", drill.ID, 2)
	kept, err := d.Drill(t.Context(), d.org, drill.ID)
	if err != nil || d.closed[drill.ID] != 1 || kept.State != drills.Closed || len(kept.Receipt.Failures) != 1 ||
		kept.Receipt.Failures[0].Hop != drills.HopLoopStarted || kept.Receipt.Failures[0].Region != region {
		t.Errorf("closed %d times, the drill is %s with %+v, %v", d.closed[drill.ID], kept.State, kept.Receipt, err)
	}
}

// TestSweepOfDrillSchedules has two processes sweep at the time of a schedule: it has one drill. Where
// Temporal is away then, the drill is begun once it is back.
func TestSweepOfDrillSchedules(t *testing.T) {
	t.Parallel()
	d := newDrillSweeps(t)
	schedule, err := d.CreateDrillSchedule(t.Context(), drills.Schedule{
		OrgID: d.org, Name: "Weekly", Enabled: true,
		Request:    drills.Request{ChannelIDs: []uuid.UUID{d.channel("ops")}, ExpectWithin: time.Minute},
		Recurrence: drills.Recurrence{Every: drills.Weekly, Day: 1, Hour: 9, Timezone: "UTC"},
	}, region)
	if err != nil {
		t.Fatal(err)
	}
	first := *schedule.NextAt
	for week, away := range []bool{false, true, false} {
		at := first.Add(time.Duration(week) * 7 * 24 * time.Hour)
		drill := drills.ScheduledID(schedule.ID, at)
		d.set(at.Add(-time.Second))
		d.sweep("drill schedules")
		if _, err := d.Drill(t.Context(), d.org, drill); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("week %d: before its time there is a drill, %v", week, err)
		}
		d.set(at)
		d.setAway(away)
		d.sweep("drill schedules")
		d.sweep("drill schedules")
		if away {
			d.begun("while Temporal is away", drill, 0)
			d.setAway(false)
			d.set(at.Add(30 * time.Second))
			d.sweep("drills")
		}
		d.begun("at its time", drill, 1)
		if all, _, err := d.Drills(t.Context(), d.org, drills.Filter{Page: listing.Page{Limit: 100}}); err != nil || len(all) != week+1 {
			t.Errorf("week %d: %d drills, %v", week, len(all), err)
		}
		if err := d.CloseDrill(t.Context(), drill); err != nil {
			t.Fatal(err)
		}
	}
}
