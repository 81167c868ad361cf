// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// knowsFor is how long after its last contact an agent goes on with what it knows.
	knowsFor = 24 * time.Hour
	// keepEvery is how often the agent looks after its spool and at how long it is cut off.
	keepEvery = time.Minute
	// leavesAfter is how long an agent that stops goes on probing, so that others take its checks
	// over; endsWithin is how long it then waits for probes, and flushWithin for their results.
	leavesAfter = 2 * time.Second
	endsWithin  = time.Minute
	flushWithin = 5 * time.Second
)

// Options configure an Agent. All are required but Canaries.
type Options struct {
	// URL of the platform, without a slash at its end.
	URL string
	// Token returns the token of the location. It is asked again while the platform does not accept
	// the last one.
	Token func() (string, error)
	// HTTP reaches the platform. It follows no redirect and has no timeout of its own.
	HTTP *http.Client
	// Dir is the data directory, and SpoolBytes how much it may have.
	Dir        string
	SpoolBytes int64
	Registry   *probe.Registry
	// Guard reaches the canaries, which are host:port; none: the line is not judged.
	Guard    *egress.Guard
	Canaries []string
	// MaxProbes is how many probes run at the same time.
	MaxProbes     int
	Name, Version string
	Now           func() time.Time
	Log           *slog.Logger
}

// Agent probes the checks of a location.
type Agent struct {
	Options

	key      agentlink.PrivateKey
	instance uuid.UUID
	types    []vigil.CheckType
	clock    *clock
	checks   *checks
	outbox   *outbox
	spool    *spool
	line     *canary.Line
	places   *fair.Queue
	tasks    *fair.Queue
	link     link
	refused  refusals
	epoch    epoch
	spooling sync.Mutex // one batch of the spool at a time

	leaving atomic.Bool
	leave   chan struct{} // closed when leaving
}

// New makes an agent and opens its data directory. Run ends it.
func New(ctx context.Context, opts Options) (*Agent, error) {
	key, err := agentlink.NewKey()
	if err != nil {
		return nil, err
	}
	a := &Agent{
		Options: opts, key: key, instance: uuid.New(), clock: &clock{own: opts.Now, log: opts.Log},
		places: fair.New(limits(opts.MaxProbes)), tasks: fair.New(fair.DefaultLimits(taskPlaces)),
		leave: make(chan struct{}),
	}
	a.link.changed = make(chan struct{}, 1)
	a.refused.log = opts.Log
	if a.spool, err = openSpool(ctx, filepath.Join(opts.Dir, "spool"), opts.SpoolBytes, opts.Now(), opts.Log); err != nil {
		return nil, err
	}
	a.epoch.path = filepath.Join(opts.Dir, "spool", "epoch")
	a.epoch.read()
	a.outbox = newOutbox(a.spool, opts.Log)
	a.checks = newChecks(context.WithoutCancel(ctx), &a.Options, a.key.Open, a.clock.Now)
	a.line = canary.New(canary.Options{
		Canaries: opts.Canaries, Guard: opts.Guard, Probes: a.checks.hasTarget, Now: opts.Now, Log: opts.Log,
	})
	a.types = a.available(ctx)
	return a, nil
}

// startingProbes is how many probes are in their first instants at the same time, in which they
// need most. A burst of them decides how much memory an agent needs.
const startingProbes = 64

func limits(places int) fair.Limits {
	limits := fair.DefaultLimits(places)
	limits.Starting = min(limits.Starting, startingProbes)
	return limits
}

// available returns the types that can be probed here.
func (a *Agent) available(ctx context.Context) []vigil.CheckType {
	missing := a.Registry.Available(ctx)
	return slices.DeleteFunc(a.Registry.Types(), func(t vigil.CheckType) bool {
		if err := missing[t]; err != nil {
			a.Log.WarnContext(ctx, "this machine cannot run a type of checks", "type", t, "reason", err)
			return true
		}
		return t == vigil.TypeHeartbeat
	})
}

// Run probes until ctx ends. Then the others of the location take the checks over, the probes that
// run end, and what cannot be sent stays in the spool.
func (a *Agent) Run(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){
		a.connect, a.report, a.drain, a.keep, a.line.Run,
		func(ctx context.Context) { a.checks.run(ctx, a.probe) },
	} {
		parts.Go(func() { part(working) })
	}
	<-ctx.Done()
	a.Log.InfoContext(working, "stopping: other agents of the location take over")
	a.leaving.Store(true)
	close(a.leave)
	_ = timing.Sleep(working, leavesAfter)
	for _, waiting := range a.checks.stop() {
		a.settle(working, waiting, waiting.failed)
	}
	a.awaitProbes()
	stop()
	parts.Wait()
	return a.end(context.WithoutCancel(ctx))
}

// awaitProbes waits for the probes that run.
func (a *Agent) awaitProbes() {
	ended := make(chan struct{})
	go func() {
		a.checks.flying.Wait()
		close(ended)
	}()
	timer := time.NewTimer(endsWithin)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	a.checks.forget()
}

// end sends what is left, or writes it to the spool.
func (a *Agent) end(ctx context.Context) error {
	flushing, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	for a.outbox.waiting() > 0 && a.link.session() != nil {
		if _, err := a.reportFresh(flushing); err != nil {
			break
		}
	}
	a.outbox.spill(a.Now(), true)
	left := a.outbox.state()
	err := a.spool.close()
	if n := a.outbox.waiting(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d results are lost: the disk takes nothing", n))
	}
	a.Log.InfoContext(ctx, "stopped", "spooled", left.Results)
	return err
}

// keep looks after what depends on time alone.
func (a *Agent) keep(ctx context.Context) {
	for timing.Sleep(ctx, keepEvery) == nil {
		a.spool.expire(a.clock.Now())
		if a.link.expired(a.Now()) {
			a.checks.forget()
			a.Log.ErrorContext(ctx, "cut off for a day: probing stops until the platform can be reached again")
		}
	}
}

// Status is how an agent is doing.
type Status struct {
	// Problem says why the agent is not in contact with the platform; empty: it is.
	Problem string
	// Location is where it is, zero before the first contact.
	Location agentlink.Place
	Checks   int
	Spool    agentlink.Spool
	// Clock is by how much the clock of this machine is ahead of the platform's.
	Clock time.Duration
}

// Status returns how the agent is doing.
func (a *Agent) Status() Status {
	problem, location := a.link.state(a.Now())
	return Status{
		Problem: problem, Location: location, Checks: a.checks.count(), Spool: a.outbox.state(), Clock: a.clock.Difference(),
	}
}
