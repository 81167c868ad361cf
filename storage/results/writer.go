// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// WriterOptions of a ResultWriter.
type WriterOptions struct {
	// Delay is how long a row waits at least for more rows of its group; 0 means 20 ms. A
	// row with a longer MaxDelay waits until another row takes it along.
	Delay time.Duration
	// MaxRows is the maximum size of a group; 0 means 256.
	MaxRows int
	// Now is the clock of the durations in the log and in Committed; nil means the
	// store's clock.
	Now func() time.Time
	// Committed is called after every committed transaction with the number of rows
	// and the duration; it may be nil.
	Committed func(ctx context.Context, rows int, took time.Duration)
	// Kept is called with the number of rows that were stored in the database of the definitions because their own is away; it may
	// be nil.
	Kept func(ctx context.Context, rows int)
	// Log receives rows that cannot be stored, and errors while Postgres is
	// unavailable; nil means the store's log.
	Log *slog.Logger
}

const (
	// resultWriters is how many transactions of a ResultWriter can be in flight.
	resultWriters = pg.ProbingConns
	// rowsPerWriter is how many rows one transaction takes before another idle one gets a
	// share.
	rowsPerWriter = 128

	drainTimeout = 5 * time.Second // for the accepted rows when the writer stops
)

// ResultWriter stores the results of many goroutines in shared transactions, since a
// commit costs about the same for one row and for hundreds. Several transactions may be in
// flight: the loops are divided among them by hash, and a loop is in one at a time, so that
// its rows are stored in their order. A group is stored as soon as the delay of one of
// its rows is over (see vigil.ResultRow), so that rows that are no news cost few commits
// and do not delay those that are. A loop whose row is locked elsewhere waits alone.
// Several writers, also in several processes, may store rows of the same checks at once.
type ResultWriter struct {
	store     *Store
	delay     time.Duration
	maxRows   int
	now       func() time.Time
	log       *slog.Logger
	committed func(ctx context.Context, rows int, took time.Duration)
	kept      func(ctx context.Context, rows int)
	waiting   atomic.Int64
	uncounted atomic.Bool // rows were stored aside

	queue   chan *pendingRow
	closing chan struct{} // closed by Close
	stopped chan struct{} // closed when Run accepts no more rows
	done    chan struct{} // closed when Run has returned
	close   sync.Once
	started sync.Once
}

// pendingRow is a row that a Write waits for.
type pendingRow struct {
	ctx      context.Context //nolint:containedctx // the row lives as long as its Write waits
	result   vigil.Result
	metadata []byte
	evidence []byte // JSON, nil: none
	worker   string
	deadline time.Duration
	slots    int // that a turn of the loop covers
	turn     *vigil.TurnActivity
	owned    bool  // an earlier result has made the loop that of worker
	moved    bool  // it was, and another worker has it now
	excluded bool  // in maintenance
	late     bool  // it came long after its slot
	missed   int64 // slots before it without a result
	maxDelay time.Duration
	came     time.Time    // when the writer accepted it
	previous time.Time    // newest slot with a result before it was written
	outcome  chan outcome // has a buffer of one
}

type outcome struct {
	stored vigil.StoredResult
	err    error
	locked bool // another transaction has the lock of the loop; nothing was stored
}

// NewResultWriter returns a writer. Write blocks until Run is started.
func NewResultWriter(s *Store, opts WriterOptions) *ResultWriter {
	w := &ResultWriter{
		store: s, delay: opts.Delay, maxRows: opts.MaxRows, now: opts.Now, log: opts.Log, committed: opts.Committed, kept: opts.Kept,
		queue: make(chan *pendingRow), closing: make(chan struct{}),
		stopped: make(chan struct{}), done: make(chan struct{}),
	}
	if w.delay <= 0 {
		w.delay = GroupDelay
	}
	if w.maxRows <= 0 {
		w.maxRows = GroupRows
	}
	if w.now == nil {
		w.now = s.db.Now
	}
	if w.log == nil {
		w.log = s.db.Log
	}
	return w
}

// Write stores a result and returns the row that Postgres then has for its slot: this
// one, or an earlier one. It blocks until the row is committed, cannot be stored, or ctx
// ends; in the last case the row may still be stored. While Postgres is unavailable, it
// waits. A check, or a region of it, that does not exist is a CodeNotFound error. A result
// of a worker that lost the loop to another one is a CodeConflict error when the other one
// has stored a newer result (see insertSQL). After the writer has stopped, it returns a
// CodeUnavailable error.
func (w *ResultWriter) Write(ctx context.Context, row vigil.ResultRow) (vigil.StoredResult, error) {
	result, metadata, err := storable(row.Result)
	if err != nil {
		return vigil.StoredResult{}, pg.Wrap("store result", err)
	}
	evidence, err := storableEvidence(result.Evidence, result.Metadata)
	if err != nil {
		return vigil.StoredResult{}, pg.Wrap("store result", err)
	}
	result.HasEvidence, result.Evidence = evidence != nil, nil
	p := &pendingRow{
		ctx: ctx, result: result, metadata: metadata, evidence: evidence,
		worker: vigil.CleanText(row.Worker), deadline: row.Deadline, slots: row.TurnSlots, turn: row.Turn, owned: row.Owned,
		excluded: row.Excluded, late: row.Late, maxDelay: max(row.MaxDelay, w.delay),
		outcome: make(chan outcome, 1),
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.queue <- p:
	case <-ctx.Done():
		return vigil.StoredResult{}, pg.Wrap("store result", context.Cause(ctx))
	case <-w.stopped:
		return vigil.StoredResult{}, vigil.Errorf(vigil.CodeUnavailable, "The result was not stored: this process is stopping.")
	}
	select {
	case out := <-p.outcome:
		return out.stored, pg.Wrap("store result", out.err)
	case <-ctx.Done():
		return vigil.StoredResult{}, pg.Wrap("store result", context.Cause(ctx))
	}
}

// Waiting returns the number of rows that are waiting to be stored.
func (w *ResultWriter) Waiting() int64 { return w.waiting.Load() }

// Run stores rows until ctx ends or the writer is closed, and then stores the rows that it
// has accepted, within 5 s. It returns nil; a second call is an error.
func (w *ResultWriter) Run(ctx context.Context) error {
	first := false
	w.started.Do(func() { first = true })
	if !first {
		select {
		case <-w.closing:
			return nil
		default:
			return errors.New("the result writer is already running")
		}
	}
	defer close(w.done)
	// Rows that were accepted are stored even after ctx has ended.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	d := newDispatcher(work, w)
	counting := make(chan struct{})
	go func() {
		defer close(counting)
		w.countAside(work)
	}()
	defer func() {
		stop()
		<-counting
	}()
	d.accept(ctx)
	close(w.stopped)
	drained := time.AfterFunc(drainTimeout, stop)
	defer drained.Stop()
	d.drain()
	return nil
}

// Close stops the writer: accepted rows are stored, later ones are refused. It waits
// until a running Run has returned.
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

// complete ends the Write of a row with its outcome.
func (p *pendingRow) complete(stored vigil.StoredResult, err error) {
	p.outcome <- outcome{stored: stored, err: err}
}

// errStopped is the outcome of rows that were not stored before the writer stopped.
var errStopped = fmt.Errorf("the result writer stopped: %w", context.Canceled)

// attempt is one try to store the rows of some lanes.
type attempt struct {
	lanes   []*lane
	group   []*pendingRow
	timeout time.Duration // of each transaction

	left map[loopKey]leftover // what is not stored
	err  error                // the database is unavailable
}

// leftover are rows of a loop that are not stored.
type leftover struct {
	rows []*pendingRow
	// locked: another transaction has the lock of the loop. Refused: a statement waited in
	// vain for another lock, or was in conflict with another transaction.
	locked, refused bool
}

// run stores the group and completes its rows, except those in left.
func (a *attempt) run(ctx context.Context, w *ResultWriter) {
	a.left = make(map[loopKey]leftover)
	slices.SortStableFunc(a.group, func(a, b *pendingRow) int { return compareKeys(a.key(), b.key()) })
	for _, rows := range w.store.homes.divided(a.group) {
		a.store(ctx, w, rows)
	}
}

// store stores rows that are sorted by their loops. A group that Postgres refuses is split
// in halves until only the faulty row fails, or only the loop waits that is in conflict
// with another transaction.
func (a *attempt) store(ctx context.Context, w *ResultWriter, rows []*pendingRow) {
	first, last := rows[0].key(), rows[len(rows)-1].key()
	if _, blocked := a.left[first]; a.err != nil || blocked && first == last {
		a.leave(rows, leftover{})
		return
	}
	err := a.try(ctx, w, rows)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		for _, p := range rows {
			p.complete(vigil.StoredResult{}, errStopped)
		}
	case inConflict(err) && first == last:
		a.leave(a.storeAside(ctx, w, rows), leftover{refused: true})
	case pg.Retryable(err) && !inConflict(err):
		a.err = err
		a.leave(rows, leftover{})
	case len(rows) == 1:
		p := rows[0]
		w.log.ErrorContext(ctx, "result cannot be stored",
			"check", p.result.CheckID, "region", p.result.Region, "slot", p.result.Slot, "error", err)
		p.complete(vigil.StoredResult{}, err)
	default:
		half := middle(rows)
		a.store(ctx, w, rows[:half])
		a.store(ctx, w, rows[half:])
	}
}

// middle returns where to split rows: between two loops when there are several, so that the
// rows of a loop stay together.
func middle(rows []*pendingRow) int {
	half := len(rows) / 2
	for at := 0; at < half; at++ {
		for _, i := range []int{half - at, half + at} {
			if i > 0 && i < len(rows) && rows[i-1].key() != rows[i].key() {
				return i
			}
		}
	}
	if last := len(rows) - 1; rows[last-1].key() != rows[last].key() {
		return last
	}
	return half
}

// try stores rows in one transaction.
func (a *attempt) try(ctx context.Context, w *ResultWriter, rows []*pendingRow) error {
	bounded, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	began := w.now()
	outcomes, kept, err := w.store.commit(bounded, rows)
	if err != nil {
		return err
	}
	if kept && w.kept != nil {
		w.kept(ctx, len(rows))
	}
	stored := 0
	var locked []*pendingRow
	for i, p := range rows {
		if outcomes[i].locked {
			locked = append(locked, p)
			continue
		}
		stored++
		p.complete(outcomes[i].stored, outcomes[i].err)
	}
	if stored > 0 && w.committed != nil {
		w.committed(ctx, stored, w.now().Sub(began))
	}
	a.leave(a.storeAside(ctx, w, locked), leftover{locked: true})
	return nil
}

// leave keeps rows for another attempt.
func (a *attempt) leave(rows []*pendingRow, why leftover) {
	for _, p := range rows {
		left := a.left[p.key()]
		left.rows = append(left.rows, p)
		left.locked, left.refused = left.locked || why.locked, left.refused || why.refused
		a.left[p.key()] = left
	}
}

// dropAbandoned drops the rows whose Write has returned because its context ended.
func dropAbandoned(group []*pendingRow) []*pendingRow {
	return slices.DeleteFunc(slices.Clone(group), func(p *pendingRow) bool {
		if p.ctx.Err() == nil {
			return false
		}
		p.complete(vigil.StoredResult{}, context.Cause(p.ctx))
		return true
	})
}

// SQLSTATEs of conflicts with other transactions (Postgres manual, appendix A).
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	LockNotAvailable     = "55P03"
)

// inConflict reports whether a transaction failed because of another one.
func inConflict(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return errors.Is(err, errUncounted)
	}
	return slices.Contains([]string{serializationFailure, deadlockDetected, LockNotAvailable}, refused.Code)
}
