// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// heartbeatEvery and heartbeatGrace are the shortest that there are.
const (
	heartbeatEvery = time.Second
	heartbeatGrace = time.Second
)

// beating are heartbeats in Postgres, which processes judge.
type beating struct {
	*testing.T
	store  *storage.Store
	pool   *pgxpool.Pool // of the pings
	writer *storage.ResultWriter
	org    uuid.UUID
	slots  map[uuid.UUID]vigil.Schedule

	mu   sync.Mutex
	slow map[uuid.UUID]bool // a ping began to be stored after it was received: this machine was too busy
}

func newBeating(t *testing.T, checks int) *beating {
	t.Helper()
	dsn := storagetest.DSN(t)
	pool, err := pgxpool.New(t.Context(), dsn+"&pool_max_conns=30")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := &beating{T: t, store: storagetest.Open(t, dsn), pool: pool, slots: make(map[uuid.UUID]vigil.Schedule), slow: make(map[uuid.UUID]bool)}
	_, org, err := b.store.CreateAccount(
		t.Context(), account.Organization{Name: "Acme"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	b.org = org.ID
	for i := range checks {
		check, err := b.store.CreateCheck(t.Context(), vigil.Check{
			OrgID: org.ID, Name: fmt.Sprint("job ", i), Type: vigil.TypeHeartbeat, Target: "every 1 s", Interval: heartbeatEvery,
			Config:  json.RawMessage(`{"schedule": {"every_seconds": 1}, "grace_seconds": 1}`),
			Regions: []string{vigil.HeartbeatRegion}, Enabled: true,
		}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{CreationsPerHour: account.Unlimited})
		if err != nil {
			t.Fatal(err)
		}
		def, err := b.store.Definition(t.Context(), check.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.slots[check.ID], _ = def.Schedule(vigil.HeartbeatRegion)
	}
	b.writer = storage.NewResultWriter(b.store, storage.WriterOptions{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = b.writer.Run(ctx) })
	running.Go(func() { // as a process that answers pings
		for ctx.Err() == nil {
			if _, err := b.store.MarkAnswering(ctx, 10*time.Second); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			_ = timing.Sleep(ctx, 100*time.Millisecond)
		}
	})
	t.Cleanup(func() { b.writer.Close(); cancel(); running.Wait() })
	return b
}

// judge starts a process that runs the turns of all heartbeats, one after the other as their loops do, until ctx ends.
func (b *beating) judge(ctx context.Context, name string, running *sync.WaitGroup) {
	fixture := &watchFixture{T: b.T} // that parses and runs turns only
	log := slog.New(slog.DiscardHandler)
	arrivals := activities.NewArrivals(b.store, log)
	fixture.catalogue = activities.NewCatalogue(activities.CatalogueOptions{
		Store: b.store, Parser: fixture, Regions: []string{vigil.HeartbeatRegion}, Now: time.Now, Maintenance: &fixture.windows, Log: log,
	})
	if err := fixture.catalogue.Load(ctx); err != nil {
		b.Fatal(err)
	}
	fixture.watcher = activities.NewWatcher(activities.WatcherOptions{
		Catalogue: fixture.catalogue, Results: b.writer, History: b.store, Probes: fair.New(fair.DefaultLimits(8)), Worker: name,
		Arrivals: arrivals, Now: time.Now, Log: log,
	})
	running.Go(func() { arrivals.Run(ctx) })
	for id := range b.slots {
		running.Go(func() {
			turn := activities.Turn{CheckID: id, Region: vigil.HeartbeatRegion, Revision: 1, Span: 1}
			for ctx.Err() == nil {
				result, err := fixture.watchIn(ctx, turn)
				if turn.Recover = err != nil; err == nil {
					turn.State, turn.Revision = result.State, result.Revision
				}
			}
		})
	}
}

// ping stores a ping as one that is received at an instant, and whose commit takes a while: with the lock of a ping
// that is stored.
func (b *beating) ping(ctx context.Context, check uuid.UUID, at time.Time, takes time.Duration) {
	const ahead = 50 * time.Millisecond
	if timing.Sleep(ctx, time.Until(at.Add(-ahead))) != nil { // sleep: until the instant of the ping
		return
	}
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(1886940007, ($1::bigint & 2147483647)::int)", at.Add(-ahead).UnixMilli())
	if time.Now().After(at) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.slow[check] = true
	}
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO pings (check_id, kind, received_at) VALUES ($1, 'success', $2)", check, at)
	}
	if err == nil && timing.Sleep(ctx, time.Until(at.Add(takes))) == nil { // sleep: a commit that takes so long
		err = tx.Commit(ctx)
	}
	if err != nil && ctx.Err() == nil {
		b.Error(err)
	}
}

// row is a result.
type row struct {
	Slot, Time      time.Time
	Success, Manual bool
}

func (b *beating) rows(check uuid.UUID) (rows []row) {
	err := b.store.DB().
		NewRaw("SELECT slot, time, success, manual FROM results WHERE check_id = ? ORDER BY slot", check).
		Scan(b.Context(), &rows)
	if err != nil {
		b.Error(err)
	}
	return rows
}

// TestPingsAtDeadlines has jobs that ping within a millisecond of a deadline, of which many commit later, and two processes
// that judge each heartbeat at the same time, as when one takes over from the other. Each slot has one result, which is
// the one that its pings say by when they were received: none is up and down.
func TestPingsAtDeadlines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for deadlines of seconds")
	}
	const checks, rounds = 40, 5
	b := newBeating(t, checks)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	random := rand.New(rand.NewPCG(36, 5))
	pings, ends := make(map[uuid.UUID][]time.Time), make(map[uuid.UUID]time.Time)
	for id, schedule := range b.slots {
		slot := schedule.Next(time.Now().Add(time.Second)) // that a ping in time and one too late decide
		for range rounds {
			near := []time.Duration{-time.Millisecond, -time.Microsecond, 0, time.Microsecond, time.Millisecond}[random.IntN(5)]
			at := slot.Add(heartbeatEvery + heartbeatGrace + near).Truncate(time.Microsecond)
			pings[id] = append(pings[id], at)
			takes := time.Duration(random.IntN(300)) * time.Millisecond
			if random.IntN(15) == 0 {
				takes += 1500 * time.Millisecond
			}
			running.Go(func() { b.ping(ctx, id, at, takes) })
			slot = slot.Add(3 * heartbeatEvery)
		}
		ends[id] = slot
	}
	b.judge(ctx, "first", &running)
	b.judge(ctx, "second", &running)
	timingtest.Eventually(t, time.Minute, "all slots have a result", func() bool {
		for id, end := range ends {
			if rows := b.rows(id); len(rows) == 0 || rows[len(rows)-1].Slot.Before(end) {
				return false
			}
		}
		return true
	})
	if len(b.slow) > checks/2 {
		t.Skipf("the machine is too busy: the pings of %d of %d jobs began late", len(b.slow), checks)
	}
	up, down := 0, 0
	for id, schedule := range b.slots {
		if b.slow[id] {
			continue
		}
		results := make(map[time.Time]row)
		for _, one := range b.rows(id) {
			if one.Manual {
				t.Errorf("%v: %+v is of no slot", pings[id], one)
			}
			results[one.Slot.UTC()] = one
		}
		for slot := schedule.Next(schedule.Start.Add(-1)); slot.Before(ends[id]); slot = schedule.Next(slot) {
			want := false
			for _, at := range pings[id] {
				want = want || !at.Before(slot) && !at.After(slot.Add(heartbeatEvery+heartbeatGrace))
			}
			if got, has := results[slot.UTC()]; !has || got.Success != want {
				t.Errorf("the slot %v is %+v (%v), want %v of the pings %v", slot, got, has, want, pings[id])
			}
			if want {
				up++
			} else {
				down++
			}
		}
	}
	t.Logf("%d pings at deadlines, those of %d jobs too slow: %d slots are up, %d down", checks*rounds, len(b.slow), up, down)
}
