package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// When the parts must have ended, counted from the beginning of an orderly stop.
// A part that overruns is left to itself, so that those below it have time of
// their own: whoever manages the process kills it after 15 s.
const (
	workersBy  = 10200 * time.Millisecond // their own bound is 10 s
	partsBy    = 11 * time.Second
	serverBy   = 12800 * time.Millisecond
	databaseBy = 14200 * time.Millisecond
	// hardStop is what is left then for a database that does not end the fast way.
	hardStop = 800 * time.Millisecond
	// lastWords is how long a part may take to notice that its time is over.
	lastWords = 100 * time.Millisecond
)

// part is something that runs, and when it must have ended.
type part struct {
	by   time.Duration
	stop func(context.Context)
}

// onStop remembers how to stop what was just started.
func (p *platform) onStop(stop func(context.Context)) { p.onStopBy(partsBy, stop) }

// onStopBy does so for a part with a time of its own.
func (p *platform) onStopBy(by time.Duration, stop func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, part{by, stop})
}

// onStopWorkers does so for workers, which are stopped first, side by side: each
// may need all the time that there is.
func (p *platform) onStopWorkers(stop func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers = append(p.workers, stop)
}

// stop ends the workers, and then the other parts in the reverse of the order in
// which they were started. That ctx has ended is no hurry: it ends when the
// process is told to stop.
func (p *platform) stop(ctx context.Context) {
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

// end stops a part and waits for it, no longer than until its time is over.
func (p *platform) end(ctx context.Context, began time.Time, part part) {
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
	case <-time.After(lastWords):
		p.log.WarnContext(ctx, "a part did not stop in time and is left to itself", "bound", part.by)
	}
}
