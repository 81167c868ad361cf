package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/semaphore"

	"vigil"
)

// Turn is what a loop asks of Watch: carry on from State.
type Turn struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	// Revision is the newest that the loop was told of; the turn works with
	// that definition or a newer one.
	Revision int64       `json:"revision"`
	State    vigil.State `json:"state"`
	// Span is how many slots the turn may cover, at least 1.
	Span int `json:"span"`
	// Recover: the turn before did not return normally, so rows newer than
	// State may be stored that it does not know.
	Recover bool `json:"recover,omitempty"`
	// By is the mark of the worker that had the turn before.
	By string `json:"by,omitempty"`
}

// End says why a turn returned.
type End string

// The ends of a turn.
const (
	Covered  End = "covered"  // its slots have results
	Changed  End = "changed"  // health or the firing rules changed: told at once
	HandOver End = "handover" // the worker stops; another takes over
	Gone     End = "gone"     // the check does not run in this region any more
)

// TurnResult is what Watch tells the loop.
type TurnResult struct {
	End   End         `json:"end"`
	State vigil.State `json:"state"`
	// Revision of the definition that the turn worked with.
	Revision int64 `json:"revision"`
	// Span, Next, Until and Deadline describe the turn to come: how many
	// slots, the first and the last of them, and how long a probe may take.
	Span     int           `json:"span"`
	Next     time.Time     `json:"next,omitzero"`
	Until    time.Time     `json:"until,omitzero"`
	Deadline time.Duration `json:"deadline"`
	// By is the mark of the worker that had the turn.
	By string `json:"by,omitempty"`
	// Behind: stored rows are left that the state does not know, because one
	// before them changed which rules fire.
	Behind bool `json:"behind,omitempty"`
	// Anew: the state has its first result of slots that began anew, as those
	// of a check that was enabled again. What the region voted before is
	// forgotten.
	Restarted bool `json:"anew,omitempty"`
}

// ErrSuperseded is the failure of a turn that a newer one of its loop replaced.
var ErrSuperseded = errors.New("a newer turn of this loop took over")

// resultWriter stores results; Write returns once the row that holds the slot is
// committed, whoever wrote it.
type resultWriter interface {
	Write(ctx context.Context, row vigil.ResultRow) (vigil.StoredResult, error)
}

// resultHistory reads stored results, oldest first.
type resultHistory interface {
	ResultsAfter(ctx context.Context, checkID uuid.UUID, region string, slot time.Time, limit int) ([]vigil.Result, error)
	LatestResults(ctx context.Context, checkID uuid.UUID, region string, n int) ([]vigil.Result, error)
	// LastDNSAnswer returns the fingerprint and the slot of the newest successful DNS
	// answer before a slot, empty and zero when there is none.
	LastDNSAnswer(ctx context.Context, checkID uuid.UUID, region string, before time.Time) (fingerprint string, slot time.Time, err error)
}

// WatcherOptions are what a Watcher works with. All members but QuietWindow,
// Votes and Incidents are required.
type WatcherOptions struct {
	Catalogue *Catalogue
	Results   resultWriter
	History   resultHistory
	// Probes bounds how many probes run at once in the process. Waiting for
	// it is lateness, never response time.
	Probes *semaphore.Weighted
	// Worker is the name under which the process renews its leases.
	Worker string
	// QuietWindow is the time that one turn may cover while nothing changes;
	// 0 makes every slot a turn of its own.
	QuietWindow time.Duration
	// Votes and Incidents take what loops tell of firing rules. Without them
	// nobody is told, and nothing alerts.
	Votes     voteStore
	Incidents incidentSignaler
	Now       func() time.Time
	Log       *slog.Logger
}

// Watcher has the activities of the region workers of one process.
type Watcher struct {
	WatcherOptions
	locks     *turnLocks
	claims    *pendingClaims
	shortName string
	probing   atomic.Int64
}

// NewWatcher returns a Watcher.
func NewWatcher(opts WatcherOptions) *Watcher {
	return &Watcher{WatcherOptions: opts, locks: newTurnLocks(), claims: newPendingClaims(), shortName: shortWorkerName(opts.Worker)}
}

// Watch runs one turn of a loop: it waits for the next slot, probes on the
// instant, stores the result, folds it, and goes on so for Span slots or until
// there is news. The waiting happens here and not in a server timer: that
// halves the state transitions of a turn and keeps the slot to the millisecond.
//
// It fails when Postgres cannot be read or a newer turn replaces it; the loop
// then starts another turn, which recovers.
//
// Turns wait by the ten thousand, each on a stack of its own. What they need
// while they wait lies on the heap, which halves the stack: hence the pointers.
func (w *Watcher) Watch(ctx context.Context, turn *Turn) (*TurnResult, error) {
	held := w.lockTurn(ctx, turn)
	if held == nil {
		return nil, ErrSuperseded
	}
	defer w.locks.release(held)
	t := &turnRun{Watcher: w, turn: turn, state: turn.State, lock: held, stop: activity.GetWorkerStopChannel(ctx)}
	if err := t.recover(ctx); err != nil {
		return nil, err
	}
	return t.run(ctx)
}

// lockTurn takes the place of the turn's loop, and claims the loop when another worker
// had it. It returns nil when a newer turn has the place.
func (w *Watcher) lockTurn(ctx context.Context, turn *Turn) *turnLock {
	key := loopKey{turn.CheckID, turn.Region}
	held := w.locks.acquire(ctx, key, activity.GetInfo(ctx).ScheduledTime)
	if held != nil && turn.By != w.shortName {
		w.claims.add(key)
	}
	return held
}

// turnRun is one turn under way.
type turnRun struct {
	*Watcher
	turn    *Turn
	state   vigil.State
	covered int
	behind  bool // rows are left that the state does not know
	lock    *turnLock
	stop    <-chan struct{}
}

func (t *turnRun) fold(e *entry, row vigil.Result) {
	t.state, _ = vigil.Evaluate(e.Rules, t.state.For(e.Check.Type), row)
}

// firingChanged reports whether other rules fire than the loop has told.
func (t *turnRun) firingChanged() bool { return !t.state.SameFiring(t.turn.State) }

func (t *turnRun) definition(ctx context.Context) (*entry, error) {
	e, err := t.Catalogue.definition(ctx, t.turn.CheckID, t.turn.Revision)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	return e, nil
}

// run covers the turn's slots.
func (t *turnRun) run(ctx context.Context) (*TurnResult, error) {
	for {
		e, err := t.definition(ctx)
		if err != nil {
			return nil, err
		}
		schedule, ok := e.Schedule(t.turn.Region)
		if !ok {
			return t.end(Gone, e, vigil.Schedule{}), nil
		}
		if t.behind || t.covered >= t.span(e, schedule) {
			return t.end(Changed, e, schedule), nil
		}
		slot := schedule.Due(t.state.Slot, t.Now())
		switch t.await(ctx, slot, e) {
		case superseded:
			return nil, ErrSuperseded
		case cancelled:
			return nil, ctx.Err()
		case stopping:
			return t.end(HandOver, e, schedule), nil
		case replaced:
			continue
		case due:
		}
		before := t.state.Health
		if err := t.probe(ctx, e, slot); err != nil {
			if vigil.ErrorCode(err) == vigil.CodeNotFound {
				return t.end(Gone, e, schedule), nil
			}
			return nil, err
		}
		t.covered++
		if t.state.Health != before || t.firingChanged() {
			return t.end(Changed, e, schedule), nil
		}
		if t.covered >= t.span(e, schedule) {
			return t.end(Covered, e, schedule), nil
		}
	}
}

// span is how many slots the turn may cover with a definition. One that the loop
// did not know when it planned the turn gets a single slot: its slots may lie
// further apart than the turn has time.
func (t *turnRun) span(e *entry, schedule vigil.Schedule) int {
	if e.Check.Revision > t.turn.Revision {
		return 1
	}
	return min(t.turn.Span, t.maxSpan(schedule))
}

// maxSpan is how many slots the quiet window of this worker has, at least 1.
func (t *turnRun) maxSpan(schedule vigil.Schedule) int {
	return max(1, int(t.QuietWindow/schedule.Interval))
}

// waitResult says what ended a wait.
type waitResult int

const (
	due        waitResult = iota // the slot has come
	replaced                     // the definition changed
	stopping                     // the worker stops
	superseded                   // a newer turn wants the place
	cancelled                    // the context ended
)

// await waits for a slot, or for whatever makes waiting for it pointless.
func (t *turnRun) await(ctx context.Context, slot time.Time, e *entry) waitResult {
	timer := time.NewTimer(slot.Sub(t.Now()))
	defer timer.Stop()
	select {
	case <-t.lock.superseded:
		return superseded
	case <-e.replaced:
		return replaced
	case <-t.stop:
		return stopping
	case <-ctx.Done():
		return cancelled
	case <-timer.C:
		return due
	}
}

// probe runs the check at a slot, stores what it saw and folds the row that is
// stored: a probe that comes second to a slot counts for nothing.
func (t *turnRun) probe(ctx context.Context, e *entry, slot time.Time) error {
	if err := t.acquireProbe(ctx); err != nil {
		return err
	}
	result := vigil.Result{
		ID:      vigil.ResultID(t.turn.CheckID, t.turn.Region, slot),
		CheckID: t.turn.CheckID, Region: t.turn.Region,
		Slot: slot, Time: t.Now(),
		Observation: e.observe(ctx),
	}
	t.releaseProbe()
	if ctx.Err() != nil {
		return ctx.Err() // what an ended context made of the probe says nothing of the target
	}
	if result.Unavailable {
		// It says nothing of the target either: the slot counts as missed.
		t.Log.WarnContext(ctx, "this machine cannot run the check", "check", t.turn.CheckID, "type", e.Check.Type, "reason", result.Error)
		t.state.Slot = slot
		return nil
	}
	recorded, err := t.Results.Write(ctx, vigil.ResultRow{Result: result, Worker: t.Worker, Deadline: e.deadline()})
	if err != nil {
		return fmt.Errorf("store the result: %w", err)
	}
	countResult(ctx, e.Check.Type, recorded)
	t.fold(e, recorded.Result)
	return nil
}

// acquireProbe waits for the turn of a probe.
func (w *Watcher) acquireProbe(ctx context.Context) error {
	if err := w.Probes.Acquire(ctx, 1); err != nil {
		return err
	}
	w.probing.Add(1)
	return nil
}

// releaseProbe ends it.
func (w *Watcher) releaseProbe() {
	w.probing.Add(-1)
	w.Probes.Release(1)
}

// Probing is how many probes run now.
func (w *Watcher) Probing() int64 { return w.probing.Load() }

// end makes the result of the turn, and plans the next: twice the slots after a
// turn without news, one slot after any news. That a worker stops is no news.
func (t *turnRun) end(why End, e *entry, schedule vigil.Schedule) *TurnResult {
	out := &TurnResult{End: why, State: t.state, Revision: e.Check.Revision, Span: 1, Deadline: e.deadline(), By: t.shortName, Behind: t.behind}
	if why == Gone {
		return out
	}
	out.Restarted = t.turn.State.Slot.Before(schedule.Start) && !t.state.Slot.Before(schedule.Start)
	switch why {
	case Covered:
		out.Span = min(2*t.turn.Span, t.maxSpan(schedule))
	case HandOver:
		out.Span = t.span(e, schedule)
	default:
	}
	out.Next = schedule.Due(t.state.Slot, t.Now())
	out.Until = out.Next.Add(time.Duration(out.Span-1) * schedule.Interval)
	return out
}

// observe runs the probe; a config that cannot run is a failure with a reason.
func (e *entry) observe(ctx context.Context) vigil.Observation {
	if e.probeErr != nil {
		return vigil.Observation{Error: "the check cannot run: " + vigil.ErrorMessage(e.probeErr)}
	}
	return e.probe.Run(ctx)
}

func (e *entry) deadline() time.Duration {
	if e.probe == nil {
		return 0
	}
	return e.probe.Deadline()
}
