// SPDX-License-Identifier: Apache-2.0

package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/storage"
)

// world is one loop with its workers and a sweep. Its clock is ahead of the real one; what
// Postgres compares with its own clock is moved back in the rows instead.
type world struct {
	*testing.T
	store   *storage.Store
	writer  *storage.ResultWriter
	history history
	org     account.Organization
	check   vigil.Check
	region  string

	temporal temporal
	workers  []*modelWorker
	polled   int // whose turn it is to poll
	sweep    *reconcile.Sweep
	process  *process // of the sweep

	ahead time.Duration
	real  time.Time // of the last tick
	ticks int
	step  int
	slot  time.Time // that was probed last
	// What is judged is counted in ticks: one may take many seconds on a machine that does other work, in which a
	// process did as little as in one.
	begun  int // when the event was; 0: not yet
	faulty int // when the fault was
	probed int // when the loop was probed last
	broken int // when it was probed last after a break
	lines  []string
}

func newWorld(t *testing.T, store *storage.Store, org account.Organization, h history) *world {
	t.Helper()
	w := &world{
		T: t, store: store, history: h, org: org, region: "model-" + uuid.NewString(), real: time.Now(), process: &process{name: "sweep"},
	}
	check, err := store.CreateCheck(t.Context(), vigil.Check{
		OrgID: org.ID, Name: w.region, Type: vigil.TypeHTTP, Config: json.RawMessage(`{"url": "http://shop.example.com/"}`),
		Target: "shop.example.com", Interval: modelInterval, Regions: []string{w.region}, Enabled: true, Simultaneous: true,
	}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
	w.ok(err)
	w.check = check
	w.ok(store.MarkApplied(t.Context(), vigil.Loop{CheckID: check.ID, Region: w.region, Desired: check.Revision}))
	w.writer = storage.NewResultWriter(store, storage.WriterOptions{Delay: time.Nanosecond, Log: slog.New(slog.DiscardHandler)})
	go func() { _ = w.writer.Run(context.WithoutCancel(t.Context())) }() // until close
	w.temporal.run = uuid.New()
	w.temporal.next()
	for range 2 {
		w.start()
	}
	w.slot = w.now().Truncate(modelInterval)
	s := modelStore{Store: store, world: w}
	w.sweep = reconcile.New(reconcile.Options{
		Process: "model", Loops: modelTemporal{w, w.process}, Store: s, Housekeeping: s, Away: func(error) bool { return false },
		Now: w.now, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

func (w *world) close() { w.writer.Close() }

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// start starts another worker.
func (w *world) start() {
	w.workers = append(w.workers, newModelWorker(w, fmt.Sprintf("worker-%d of %s", len(w.workers)+1, w.region)))
}

func (w *world) now() time.Time { return time.Now().Add(w.ahead) }

func (w *world) note(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), " of "+w.region, "")
	w.lines = append(w.lines, fmt.Sprintf("%3d: ", w.ticks)+line)
}

func (w *world) log() string { return strings.Join(w.lines, "\n") }

// since is the time since a tick: each is a second.
func (w *world) since(tick int) time.Duration { return time.Duration(w.ticks-tick) * time.Second }

// eventful reports whether calls are steps of the history by now.
func (w *world) eventful() bool { return w.begun > 0 && !w.steady() }

// steady reports whether the loop was probed for long enough since all that happened.
func (w *world) steady() bool {
	return w.begun > 0 && w.since(max(w.broken, w.begun, w.faulty)) >= steadyFor && w.since(w.probed) < 2*modelInterval
}

// tick is one second: each process does what it does in one.
func (w *world) tick() {
	ctx := w.Context()
	w.advance(time.Second)
	w.ticks++
	w.happen()
	for _, one := range w.workers {
		one.second(ctx)
	}
	if w.process.dead { // a supervisor starts it again
		w.process.dead = false
	}
	w.process.stopping = false
	passes := []string{"leases", "abandoned"}
	if w.ticks%2 == 0 {
		passes = append(passes, "overdue", "suspects")
	}
	for _, pass := range passes {
		if err := w.sweep.Pass(ctx, pass); err != nil {
			w.note("pass %s: %v", pass, err)
		}
	}
	alive := 0
	for _, one := range w.workers {
		if !one.dead {
			alive++
		}
	}
	if alive < 2 && w.ticks%3 == 0 {
		w.start()
	}
}

// eventTick is when the event of a history happens: the loop is in the middle of a turn.
const eventTick = 8

// happen makes the event of the history happen.
func (w *world) happen() {
	if w.ticks < eventTick || w.begun > 0 {
		return
	}
	for i, one := range w.workers {
		if one.turn == nil || one.turn.covered == 0 {
			continue
		}
		w.begun = w.ticks
		w.note("%s, %s", w.history.event, one.name)
		switch w.history.event {
		case killed:
			one.die()
		case stopped:
			one.stopping = true
		default:
			w.polled = i + 1 // another one polls first
			one.turn.left = 0
		}
		return
	}
}

// advance lets time pass: what Postgres compares with its clock gets older by what has not
// passed in reality.
func (w *world) advance(d time.Duration) {
	real := time.Now()
	d -= real.Sub(w.real)
	if w.real = real; d <= 0 {
		return
	}
	w.ahead += d
	ms := d.Milliseconds()
	for _, query := range []string{
		`UPDATE worker_leases SET renewed_at = renewed_at - ?0 * interval '1 ms', revoked_at = revoked_at - ?0 * interval '1 ms',
			granted_at = granted_at - ?0 * interval '1 ms' WHERE ?1 = ANY(regions)`,
		`UPDATE check_regions SET nudged_at = nudged_at - ?0 * interval '1 ms', nudge_after = nudge_after - ?0 * interval '1 ms'
			WHERE region = ?1`,
	} {
		_, err := w.store.DB().NewRaw(query, ms, w.region).Exec(w.Context())
		w.ok(err)
	}
}

// poll gives the turn that waits to a worker, in turns.
func (w *world) poll(ctx context.Context, by *modelWorker) bool {
	for w.workers[w.polled%len(w.workers)].dead {
		w.polled++
	}
	if w.temporal.turn.worker != "" || w.workers[w.polled%len(w.workers)] != by {
		return false
	}
	err := w.gate(ctx, &by.process, "take a turn "+strconv.Itoa(w.temporal.turn.id), func() error {
		w.temporal.turn.worker = by.name
		return nil
	})
	w.polled++
	return err == nil
}

// modelStore is the store as the sweep of a world sees it.
type modelStore struct {
	*storage.Store

	world *world
}

func (s modelStore) RenewSweep(ctx context.Context, _ string, unused []fleet.SweepLease, _ time.Duration) (fleet.SweepShare, error) {
	return s.Store.RenewSweep(ctx, "model", unused, time.Hour)
}

func (s modelStore) SilentLeases(ctx context.Context, silence time.Duration) (mine []fleet.Lease, err error) {
	all, err := s.Store.SilentLeases(ctx, silence)
	for _, lease := range all {
		if lease.Region == s.world.region {
			mine = append(mine, lease)
		}
	}
	return mine, err
}

func (s modelStore) LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error) {
	all, err := s.Store.LiveRegions(ctx, silence)
	for region := range all {
		if region != s.world.region {
			delete(all, region)
		}
	}
	return all, err
}

func (s modelStore) OverloadedRegions(context.Context, time.Duration) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // none is
}

func (s modelStore) gate(ctx context.Context, what string, call func() error) error {
	return s.world.gate(ctx, s.world.process, what, call)
}

func (s modelStore) MarkNudged(ctx context.Context, lease fleet.SweepLease, check uuid.UUID, region string) error {
	return s.gate(ctx, "mark a nudge", func() error { return s.Store.MarkNudged(ctx, lease, check, region) })
}

func (s modelStore) PutOffNudge(ctx context.Context, lease fleet.SweepLease, check uuid.UUID, region string) error {
	return s.gate(ctx, "put a nudge off", func() error { return s.Store.PutOffNudge(ctx, lease, check, region) })
}

func (s modelStore) RevokeLease(ctx context.Context, lease fleet.Lease, silence time.Duration) (done bool, err error) {
	err = s.gate(ctx, "revoke "+lease.Worker, func() (err error) {
		done, err = s.Store.RevokeLease(ctx, lease, silence)
		return err
	})
	return done, err
}

func (s modelStore) ForgetLease(ctx context.Context, lease fleet.Lease, silence time.Duration) error {
	return s.gate(ctx, "forget "+lease.Worker, func() error { return s.Store.ForgetLease(ctx, lease, silence) })
}

func (modelStore) DropExpired(context.Context, time.Time) error { return nil }
