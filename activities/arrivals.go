// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"cmp"
	"container/heap"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// How often new pings are looked for while turns wait for some, and how long a look may take. Of
// 10,000 jobs that ping each minute 40 come together, for which two statements are enough.
const (
	arrivalsPoll    = 250 * time.Millisecond
	arrivalsTimeout = 10 * time.Second
)

// pingStore reads pings.
type pingStore interface {
	// NewPings returns what was committed since a cursor; see vigil.PingNews.
	NewPings(ctx context.Context, cursor string, spansUntil int64) (vigil.PingNews, error)
	// PingsSince returns the newest pings of a check since an instant, up to limit, oldest first.
	PingsSince(ctx context.Context, checkID uuid.UUID, since time.Time, limit int) ([]vigil.Ping, error)
	PingBody(ctx context.Context, id int64) (string, error)
}

// mostPings is how many pings a turn keeps: more than a week of one a minute. They are without bodies.
const mostPings = 20_000

// Arrivals hands the turns of heartbeats the pings of their checks. One query asks for those of all
// turns of the process. It is safe for concurrent use.
type Arrivals struct {
	store pingStore
	log   *slog.Logger
	first chan struct{} // a turn waits, and none did before

	mu         sync.Mutex
	waits      map[uuid.UUID][]*arrivalWait // several while a turn replaces another
	untils     untilHeap
	cursor     string // empty: nothing was read
	answered   time.Time
	spans      []vigil.PingSpan
	spansUntil int64
}

// NewArrivals returns Arrivals; Run keeps them going.
func NewArrivals(store pingStore, log *slog.Logger) *Arrivals {
	return &Arrivals{store: store, log: log, first: make(chan struct{}, 1), waits: make(map[uuid.UUID][]*arrivalWait)}
}

// arrivalWait is a turn that waits for pings.
type arrivalWait struct {
	check uuid.UUID
	ready chan struct{} // has a buffer of one

	// Of the turn, which waits for each of thousands of pings: they are made once.
	over   *time.Timer // fires at limited
	ends   time.Time
	ctx    context.Context //nolint:containedctx // ends with the turn, for what it stores
	cancel context.CancelFunc

	// Of Arrivals, under its lock.
	pings  []vigil.Ping // in the order of their receipt
	until  time.Time    // answered beyond which the turn decides also without a ping
	at     int          // in Arrivals.untils, -1: it is not
	reread bool         // pings may have been passed over
}

// untilHeap are turns in the order of arrivalWait.until (container/heap): a look wakes a few of ten thousand.
type untilHeap []*arrivalWait

func (h untilHeap) Len() int           { return len(h) }
func (h untilHeap) Less(i, j int) bool { return h[i].until.Before(h[j].until) }

func (h untilHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push adds a *arrivalWait.
func (h *untilHeap) Push(w any) {
	wait, _ := w.(*arrivalWait)
	wait.at = len(*h)
	*h = append(*h, wait)
}

// Pop removes the last one.
func (h *untilHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last], w.at = nil, -1
	*h = (*h)[:last]
	return w
}

// Run looks for pings until ctx ends.
func (a *Arrivals) Run(ctx context.Context) {
	tick := time.NewTicker(arrivalsPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-a.first:
		}
		if !a.asked() {
			continue
		}
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "pings not read, trying again", "error", err)
		}
	}
}

// asked reports whether a turn waits. When none does the cursor grows old, so the next turn begins
// with a new one.
func (a *Arrivals) asked() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waits) == 0 {
		a.cursor = ""
	}
	return len(a.waits) > 0
}

// look reads what is new and wakes the turns that it concerns.
func (a *Arrivals) look(ctx context.Context) error {
	a.mu.Lock()
	cursor, spans := a.cursor, a.spansUntil
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, arrivalsTimeout)
	defer cancel()
	news, err := a.store.NewPings(ctx, cursor, spans)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cursor = news.Cursor
	if cursor == "" || news.Cursor == "" {
		for _, waits := range a.waits {
			for _, w := range waits {
				w.reread = true
				signal(w.ready)
			}
		}
	}
	if news.Cursor == "" {
		return nil
	}
	if news.SpansUntil != spans || cursor == "" {
		a.spans, a.spansUntil = news.Spans, news.SpansUntil
	}
	a.answered = news.Answered
	a.hand(news.Pings)
	a.wakeDue()
	return nil
}

// hand gives pings to the turns of their checks. The caller holds mu.
func (a *Arrivals) hand(pings []vigil.Ping) {
	for i := range pings {
		for _, w := range a.waits[pings[i].CheckID] {
			w.add(pings[i : i+1])
			signal(w.ready)
		}
	}
}

// add adds pings that it does not have yet, in the order of their receipt.
func (w *arrivalWait) add(pings []vigil.Ping) {
	for i := range pings {
		at, known := slices.BinarySearchFunc(w.pings, &pings[i], func(one vigil.Ping, p *vigil.Ping) int {
			if c := one.At.Compare(p.At); c != 0 {
				return c
			}
			return cmp.Compare(one.ID, p.ID)
		})
		if !known {
			w.pings = slices.Insert(w.pings, at, pings[i])
		}
	}
	if over := len(w.pings) - mostPings; over > 0 {
		w.pings = slices.Delete(w.pings, 0, over)
	}
}

// join begins a wait for pings of a check. It must be left. The pings are read with the first read.
func (a *Arrivals) join(check uuid.UUID) *arrivalWait {
	w := &arrivalWait{check: check, ready: make(chan struct{}, 1), at: -1, reread: true}
	a.mu.Lock()
	a.waits[check] = append(a.waits[check], w)
	fresh := a.cursor == ""
	a.mu.Unlock()
	if fresh {
		signal(a.first)
	}
	return w
}

// limit sets when the wait is over.
func (w *arrivalWait) limit(at, now time.Time) {
	switch {
	case w.over == nil:
		w.over = time.NewTimer(at.Sub(now))
	case !at.Equal(w.ends):
		w.over.Reset(at.Sub(now))
	}
	w.ends = at
}

// within returns a context for what the turn stores, which ends with it.
func (w *arrivalWait) within(ctx context.Context, ends time.Time) context.Context {
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithDeadline(ctx, ends)
	}
	return w.ctx
}

func (a *Arrivals) leave(w *arrivalWait) {
	if w.over != nil {
		w.over.Stop()
	}
	if w.cancel != nil {
		w.cancel()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	left := slices.DeleteFunc(a.waits[w.check], func(other *arrivalWait) bool { return other == w })
	if a.waits[w.check] = left; len(left) == 0 {
		delete(a.waits, w.check)
	}
	if w.at >= 0 {
		heap.Remove(&a.untils, w.at)
	}
}

// arrivalNews is what is known for a turn.
type arrivalNews struct {
	pings    []vigil.Ping
	spans    []vigil.PingSpan
	answered time.Time // zero: nothing was read yet
}

// read returns what is known of the pings since an instant; those before it are forgotten.
func (a *Arrivals) read(ctx context.Context, w *arrivalWait, since time.Time) (arrivalNews, error) {
	a.mu.Lock()
	reread := w.reread && a.cursor != ""
	if reread {
		w.reread = false
	}
	waits := w.reread // there is no cursor yet: what comes meanwhile would be passed over
	a.mu.Unlock()
	if waits {
		return arrivalNews{}, nil
	}
	if reread {
		pings, err := a.store.PingsSince(ctx, w.check, since, mostPings)
		a.mu.Lock()
		if err != nil {
			w.reread = true
			a.mu.Unlock()
			return arrivalNews{}, err
		}
		w.add(pings)
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w.pings = slices.DeleteFunc(w.pings, func(p vigil.Ping) bool { return p.At.Before(since) })
	return arrivalNews{pings: slices.Clone(w.pings), spans: a.spans, answered: a.answered}, nil
}

// await sets until when the turn waits without a ping.
func (a *Arrivals) await(w *arrivalWait, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.until = until; w.at >= 0 {
		heap.Fix(&a.untils, w.at)
	} else {
		heap.Push(&a.untils, w)
	}
	a.wakeDue()
}

// wakeDue wakes the turns that decide also without a ping. The caller holds mu.
func (a *Arrivals) wakeDue() {
	for len(a.untils) > 0 && !a.answered.Before(a.untils[0].until) {
		signal(a.untils[0].ready)
		heap.Pop(&a.untils)
	}
}
