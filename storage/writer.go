package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vigil"
)

// WriterOptions of a ResultWriter.
type WriterOptions struct {
	// Delay that the first row of a group waits for company; 0 means 20 ms.
	Delay time.Duration
	// MaxRows in a group; 0 means 256.
	MaxRows int
	// Now is the clock of what the log and Committed are told; nil means the
	// store's.
	Now func() time.Time
	// Committed, which may be nil, hears of every transaction: how many rows
	// it stored and how long it took.
	Committed func(ctx context.Context, rows int, took time.Duration)
	// Log hears of rows that cannot be stored and of a database that is
	// away; nil means the store's log.
	Log *slog.Logger
}

// How long the writer waits for Postgres.
const (
	minRetryDelay = 50 * time.Millisecond // doubling to
	maxRetryDelay = 2 * time.Second
	commitTimeout = 30 * time.Second // for one transaction
	drainTimeout  = 5 * time.Second  // for what is left when it stops
)

// ResultWriter stores the results of many goroutines in common transactions: a
// commit costs about the same for one row and for hundreds. Several writers,
// also of several processes, may store rows of the same checks at once.
type ResultWriter struct {
	store     *Store
	delay     time.Duration
	maxRows   int
	now       func() time.Time
	log       *slog.Logger
	committed func(ctx context.Context, rows int, took time.Duration)
	waiting   atomic.Int64

	queue   chan *pendingRow
	closing chan struct{} // closed by Close
	stopped chan struct{} // closed when Run takes no more rows
	done    chan struct{} // closed when Run has returned
	close   sync.Once
	started sync.Once
}

// pendingRow is a row on its way, with the Write that waits for it.
type pendingRow struct {
	ctx      context.Context //nolint:containedctx // the row lives as long as its Write waits
	result   vigil.Result
	metadata []byte
	worker   string
	deadline time.Duration
	missed   int64        // slots before it that have no result
	outcome  chan outcome // takes one without blocking
}

type outcome struct {
	stored vigil.StoredResult
	err    error
}

// NewResultWriter makes a writer. Its Run does the work.
func NewResultWriter(s *Store, opts WriterOptions) *ResultWriter {
	w := &ResultWriter{
		store: s, delay: opts.Delay, maxRows: opts.MaxRows, now: opts.Now, log: opts.Log, committed: opts.Committed,
		queue: make(chan *pendingRow), closing: make(chan struct{}),
		stopped: make(chan struct{}), done: make(chan struct{}),
	}
	if w.delay <= 0 {
		w.delay = 20 * time.Millisecond
	}
	if w.maxRows <= 0 {
		w.maxRows = 256
	}
	if w.now == nil {
		w.now = s.now
	}
	if w.log == nil {
		w.log = s.log
	}
	return w
}

// Write stores a result and returns the row that Postgres then holds for its
// slot: this one, or the one that was there before. It returns when the row is
// committed, cannot be stored, or ctx is over; in the last case the row may
// still be stored. While Postgres is away it waits. A result of a check, or of
// a region of it, that does not exist is a CodeNotFound error.
func (w *ResultWriter) Write(ctx context.Context, row vigil.ResultRow) (vigil.StoredResult, error) {
	result, metadata, err := storable(row.Result)
	if err != nil {
		return vigil.StoredResult{}, wrap("store result", err)
	}
	p := &pendingRow{
		ctx: ctx, result: result, metadata: metadata,
		worker: cleanText(row.Worker), deadline: row.Deadline, outcome: make(chan outcome, 1),
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.queue <- p:
	case <-ctx.Done():
		return vigil.StoredResult{}, wrap("store result", context.Cause(ctx))
	case <-w.stopped:
		return vigil.StoredResult{}, vigil.Errorf(vigil.CodeUnavailable, "Results are not stored any more: this process is stopping.")
	}
	select {
	case out := <-p.outcome:
		return out.stored, wrap("store result", out.err)
	case <-ctx.Done():
		return vigil.StoredResult{}, wrap("store result", context.Cause(ctx))
	}
}

// Waiting is how many rows wait now to be stored.
func (w *ResultWriter) Waiting() int64 { return w.waiting.Load() }

// Run stores rows until ctx is over or the writer is closed, and then what it
// had taken on, within 5 s. It returns nil, and may be called once.
func (w *ResultWriter) Run(ctx context.Context) error {
	first := false
	w.started.Do(func() { first = true })
	if !first {
		select {
		case <-w.closing:
			return nil
		default:
			return errors.New("the result writer runs already")
		}
	}
	defer close(w.done)
	// The work goes on past the end of ctx for what was taken on.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-ctx.Done():
		case <-w.closing:
		case <-finished:
			return
		}
		select {
		case <-time.After(drainTimeout):
			stop()
		case <-finished:
		}
	}()
	for {
		group, more := w.collect(ctx)
		if !more {
			close(w.stopped)
		}
		if len(group) > 0 {
			w.commitAll(work, group)
		}
		if !more {
			return nil
		}
	}
}

// Close stops the writer: rows that it has taken on are stored, later ones are
// refused. It returns when a running Run has ended.
func (w *ResultWriter) Close() {
	w.close.Do(func() { close(w.closing) })
	running := true
	w.started.Do(func() { running = false })
	if running {
		<-w.done
		return
	}
	close(w.stopped)
	close(w.done)
}

// collect waits for a row and then, no longer than the delay, for a group; more
// is false when the writer is to stop after it.
func (w *ResultWriter) collect(ctx context.Context) (group []*pendingRow, more bool) {
	select {
	case p := <-w.queue:
		group = append(group, p)
	case <-ctx.Done():
		return nil, false
	case <-w.closing:
		return nil, false
	}
	full := time.NewTimer(w.delay)
	defer full.Stop()
	for len(group) < w.maxRows {
		select {
		case p := <-w.queue:
			group = append(group, p)
		case <-full.C:
			return group, true
		case <-ctx.Done():
			return group, false
		case <-w.closing:
			return group, false
		}
	}
	return group, true
}

// complete ends the Write of a row.
func (p *pendingRow) complete(recorded vigil.StoredResult, err error) {
	p.outcome <- outcome{stored: recorded, err: err}
}

// errStopped ends Writes that the writer could not finish before it stopped.
var errStopped = fmt.Errorf("the result writer stopped: %w", context.Canceled)
