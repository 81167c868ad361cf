// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

const newark = "na-east-ewr"

// regionWorker is the worker of a region with a clock of its own. Its probes succeed.
type regionWorker struct {
	lease  *activities.LeaseHolder
	skew   atomic.Int64 // how much its clock is ahead
	probes atomic.Int64

	showNames func(context.Context) bool
	stop      func()

	mu  sync.Mutex
	log bytes.Buffer
}

func (w *regionWorker) now() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }

func (w *regionWorker) Parse(vigil.CheckType, json.RawMessage, time.Duration) (probe.Probe, error) {
	return w, nil
}

func (*regionWorker) Deadline() time.Duration { return time.Second }
func (*regionWorker) Target() string          { return "target" }

func (w *regionWorker) Run(context.Context) vigil.Observation {
	w.probes.Add(1)
	return vigil.Observation{Success: true}
}

func (*regionWorker) Unavailable(context.Context) []vigil.CheckType { return nil }

func (w *regionWorker) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// logged returns how many lines contain a text.
func (w *regionWorker) logged(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}

func startRegionWorker(t *testing.T, p *workerstest.ControlPlane, name string, skew time.Duration) *regionWorker {
	t.Helper()
	w := &regionWorker{}
	w.skew.Store(int64(skew))
	w.start(t, p, workers.RegionOptions{Name: name, Regions: []string{newark}})
	return w
}

// start starts the worker with options that name it and its regions.
func (w *regionWorker) start(t *testing.T, p *workerstest.ControlPlane, opts workers.RegionOptions) {
	t.Helper()
	w.lease = activities.NewLeaseHolder(w.now)
	log := slog.New(slog.NewTextHandler(w, nil))
	writer := storage.NewResultWriter(p.Store, storage.WriterOptions{Log: log})
	ctx := context.WithoutCancel(t.Context())
	go func() { _ = writer.Run(ctx) }() // until Close
	t.Cleanup(writer.Close)
	watching := activities.WatcherOptions{
		Catalogue: activities.NewCatalogue(activities.CatalogueOptions{
			Store: p.Store, Parser: w, Regions: opts.Regions, Now: w.now, Log: log,
		}),
		Results: writer, History: p.Store, Probes: fair.New(fair.DefaultLimits(8)),
		Worker: opts.Name, Lease: w.lease, ShowNames: w.showNames, Now: w.now, Log: log,
	}
	if opts.Builds != nil {
		watching.Completer, watching.Owners = dispatch.NewTurns(p.Temporal, "vigil"), p.Store
	}
	opts.Watcher = activities.NewWatcher(watching)
	opts.Leases, opts.Capabilities, opts.Now, opts.Log = p.Store, w, w.now, log
	regions := workers.NewRegions(p.Temporal, opts)
	p.OK(regions.Start(t.Context()))
	w.stop = sync.OnceFunc(func() { regions.Stop(ctx) })
	t.Cleanup(w.stop)
}

// TestWorkerWithAWrongClock tests that a worker whose clock is far from the database's
// does not probe, says so, and serves its region once the clock is right.
func TestWorkerWithAWrongClock(t *testing.T) {
	t.Parallel()
	p := workerstest.Start(t, newark)
	ctx := t.Context()
	const ahead = 40 * time.Second
	wrong := startRegionWorker(t, p, "wrong", ahead)
	live := func() int {
		leases, err := p.Store.LiveLeases(ctx, time.Minute)
		p.OK(err)
		return len(leases)
	}
	if n := live(); n != 0 || !wrong.lease.Parked() {
		t.Errorf("%d live leases, parked %v", n, wrong.lease.Parked())
	}
	loops := dispatch.NewLoops(p.Temporal, p.Store, slog.New(slog.DiscardHandler))
	p.OK(loops.Apply(ctx, vigil.Loop{
		CheckID: p.Check.ID, OrgID: p.Org.ID, Region: newark, Name: "shop", Target: "target", Desired: p.Check.Revision, Active: true,
	}))
	eventually(t, "the difference is shown", func() bool {
		differences, err := p.Store.ClockDifferences(ctx, time.Minute)
		p.OK(err)
		return (differences[newark] - ahead).Abs() < 2*time.Second
	})

	right := startRegionWorker(t, p, "right", 0)
	eventually(t, "the other worker probes", func() bool { return right.probes.Load() > 0 })
	if n := wrong.probes.Load(); n > 0 {
		t.Errorf("the worker with the wrong clock made %d probes", n)
	}
	if n := wrong.logged("the clock of this machine differs"); n != 1 {
		t.Errorf("the wrong clock was logged %d times in less than a minute, want once", n)
	}

	wrong.skew.Store(0)
	eventually(t, "the worker serves its region", func() bool { return live() == 2 && !wrong.lease.Parked() })
	eventually(t, "the right clock is logged", func() bool { return wrong.logged("agrees with the database's again") == 1 })
}

// eventually waits until a fact about other goroutines is true.
func eventually(t *testing.T, fact string, holds func() bool) {
	t.Helper()
	timingtest.Eventually(t, 30*time.Second, fact, holds)
}
