// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/workers"
)

// When the parts must have ended, counted from the start of an orderly stop. A part
// that overruns is abandoned, so that those below it keep their own time: service
// managers kill a process after 15 s.
const (
	workersBy  = 10200 * time.Millisecond // their own bound is 10 s
	partsBy    = 11 * time.Second
	serverBy   = 12800 * time.Millisecond
	databaseBy = 14200 * time.Millisecond
	// hardStop is what is left then for a database that does not end the fast way.
	hardStop = 800 * time.Millisecond
	// overrunGrace is how long a part may take to notice that its time is over.
	overrunGrace = 100 * time.Millisecond
)

// UnknownVersion is the version of a build that sets none.
const UnknownVersion = "unknown"

// Program is what a process knows of its build and of its environment.
type Program struct {
	Version string
	// Build names the build, other than that of any other source; "" where that is not known.
	Build string
	// Env looks a variable of the environment up, as os.LookupEnv does.
	Env func(name string) (value string, given bool)
}

// getenv returns a variable of the environment, "" when it is not given.
func (p Program) getenv(name string) string {
	value, _ := p.Env(name)
	return value
}

// Process is the life of what runs here. Each part that starts registers how to stop
// it (see Stop), and reports its failure.
type Process struct {
	Log     *slog.Logger
	failed  chan error // the first failure of a part
	program Program
	clock   *clock

	mu      sync.Mutex // parts start in parallel
	workers []func(context.Context)
	stops   []part
}

// part is something that runs, and when it must have ended.
type part struct {
	by   time.Duration
	stop func(context.Context)
}

// NewProcess returns the life of a process of a program.
func NewProcess(log *slog.Logger, self Program) *Process {
	workers.NameBuild(self.Build)
	return &Process{Log: log, program: self, failed: make(chan error, 1), clock: &clock{own: time.Now, log: log}}
}

// Wait returns nil once ctx has ended, or the error of a part that failed. The memory of
// the process is managed meanwhile.
func (p *Process) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	manageMemory(ctx, p.program)
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		return err
	}
}

// fail reports that a part failed; the first report counts.
func (p *Process) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// workerFailed reports a worker that stopped polling permanently.
func (p *Process) workerFailed(err error) { p.fail(fmt.Errorf("a worker stopped: %w", err)) }

// onStop registers how to stop what was just started.
func (p *Process) onStop(stop func(context.Context)) { p.onStopBy(partsBy, stop) }

// onStopBy does so for a part with a time of its own.
func (p *Process) onStopBy(by time.Duration, stop func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, part{by, stop})
}

// onStopWorkers does so for workers, which stop first, in parallel: each may need
// all the time that there is.
func (p *Process) onStopWorkers(stop func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = append(p.workers, stop)
}

// Stop ends the workers, and then the other parts in the reverse order of their
// start. A canceled ctx, which is what asks the process to stop, does not shorten
// their time.
func (p *Process) Stop(ctx context.Context) {
	ctx, began := context.WithoutCancel(ctx), time.Now()
	p.end(ctx, began, part{workersBy, func(ctx context.Context) {
		var wait sync.WaitGroup
		for _, stop := range p.workers {
			wait.Go(func() { stop(ctx) })
		}
		wait.Wait()
	}})
	for _, part := range slices.Backward(p.stops) {
		p.end(ctx, began, part)
	}
	p.workers, p.stops = nil, nil
}

// end stops a part and waits for it, at most until its time is over.
func (p *Process) end(ctx context.Context, began time.Time, part part) {
	ctx, cancel := context.WithDeadline(ctx, began.Add(part.by))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		part.stop(ctx)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(overrunGrace):
		p.Log.WarnContext(ctx, "a part did not stop in time and is abandoned", "bound", part.by)
	}
}

// serve answers requests on the listener until the process stops; those under way
// then have the grace to end.
func (p *Process) serve(what string, listener net.Listener, handler http.Handler, grace time.Duration) *http.Server {
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.fail(fmt.Errorf("%s stopped: %w", what, err))
		}
	}()
	p.onStop(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if web.Shutdown(ctx) != nil {
			_ = web.Close()
		}
	})
	return web
}

// Listen listens on the address of a setting until the process stops.
func (p *Process) Listen(ctx context.Context, address HostPort, setting string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", string(address))
	if err != nil {
		return nil, ListenError(address, setting, err)
	}
	p.onStop(func(context.Context) { _ = listener.Close() })
	return listener, nil
}

// UnwrapNet leaves out what the sentence around the error says already.
func UnwrapNet(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// URLOf is the URL of a listener for clients on this machine.
func URLOf(listener net.Listener) string {
	return "http://" + HostPort(listener.Addr().String()).Reachable()
}
