// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// pollEvery is how often the newest positions of all organizations with streams
// are read, in case a notification was lost.
const pollEvery = time.Second

// start begins to listen and to poll. It is called with the first stream.
func (h *Hub) start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	h.running.Go(func() { h.listen(ctx) })
	h.running.Go(func() { h.poll(ctx) })
}

// End ends every stream and refuses new ones.
func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	close(h.closing)
	if h.stop != nil {
		h.stop()
	}
}

// Close ends every stream and waits for the hub's goroutines.
func (h *Hub) Close() {
	h.End()
	h.running.Wait()
}

// listen wakes streams as notifications come. While there is no connection, poll
// finds what is new.
func (h *Hub) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := h.store.ListenEvents(ctx, h.wake)
		if ctx.Err() == nil {
			h.log.LogAttrs(ctx, slog.LevelWarn, "event notifications lost; streams poll instead", slog.Any("error", err))
			_ = timing.Sleep(ctx, pollEvery) // the loop sees whether ctx has ended
		}
	}
}

// poll wakes the streams of every organization whose newest position changed.
func (h *Hub) poll(ctx context.Context) {
	for timing.Sleep(ctx, pollEvery) == nil {
		h.mu.Lock()
		orgs := slices.Collect(maps.Keys(h.orgs))
		h.mu.Unlock()
		if len(orgs) == 0 {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, queryTimeout)
		heads, err := h.store.StreamHeads(bounded, orgs)
		cancel()
		if err != nil {
			continue // each stream logs that it cannot read
		}
		for org, head := range heads {
			h.advance(org, head)
		}
	}
}

// advance wakes the streams of an organization when its newest position is
// another one than the last time.
func (h *Hub) advance(org uuid.UUID, head vigil.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.orgs[org]; o != nil && o.head != head {
		o.head = head
		h.awaken(o)
	}
}

// wake wakes the streams of an organization.
func (h *Hub) wake(org uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.orgs[org]; o != nil {
		h.awaken(o)
	}
}

// restPerStream is how long an organization rests after a wake for each of its streams:
// a thousand streams get a burst of events in a tenth of a second together, instead of a
// thousand times one by one, which would take the CPU from the alerts themselves. Below
// minRest it is left out.
const (
	restPerStream = 100 * time.Microsecond
	minRest       = 5 * time.Millisecond
)

// awaken wakes the streams of an organization: at once, or at the end of its rest. The
// caller holds the lock.
func (h *Hub) awaken(o *organization) {
	if o.resting {
		o.late = true
		return
	}
	o.wake()
	rest := time.Duration(len(o.subscribers)) * restPerStream
	if rest < minRest {
		return
	}
	o.resting = true
	time.AfterFunc(rest, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		o.resting = false
		if o.late {
			o.late = false
			h.awaken(o)
		}
	})
}

func (o *organization) wake() {
	o.version++
	for sub := range o.subscribers {
		select {
		case sub.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}
