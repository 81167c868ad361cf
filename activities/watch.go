// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// Turn is the argument of Watch: continue the loop from State.
type Turn struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	// Revision is the newest revision that the loop knows; the turn uses the
	// definition of that revision or a newer one.
	Revision int64       `json:"revision"`
	State    vigil.State `json:"state"`
	// Span is how many slots the turn may cover, at least 1. It ends before, at the
	// phase of its loop: see vigil.TurnSlots.
	Span int `json:"span"`
	// Recover: the turn before did not return normally, so there may be stored
	// results that State does not include.
	Recover bool `json:"recover,omitempty"`
	// By is the short name of the worker that ran the turn before.
	By string `json:"by,omitempty"`
	// Reset: an operator has reset the workflow, and no turn has ended since: State may be old.
	Reset bool `json:"reset,omitempty"`
	// Restored is the epoch of the last restore that the loop has compared its state with.
	Restored int64 `json:"restored,omitempty"`
}

// End is the reason why a turn returned.
type End string

// The ends of a turn.
const (
	Covered  End = "covered"  // all its slots have results
	Changed  End = "changed"  // health or the firing rules changed
	HandOver End = "handover" // the worker stops, another one runs the next turn
	Late     End = "late"     // its planned time is over, and not all its slots have results
	Gone     End = "gone"     // the check does not run in this region any more
)

// TurnResult is the result of Watch.
type TurnResult struct {
	End   End         `json:"end"`
	State vigil.State `json:"state"`
	// Revision of the definition that the turn used.
	Revision int64 `json:"revision"`
	// Span, Next, Until and Deadline plan the next turn: how many slots it may cover,
	// the first and the last of them, and how long a probe may take. Reason says why it
	// has this span.
	Span     int              `json:"span"`
	Reason   vigil.TurnReason `json:"reason,omitempty"`
	Next     time.Time        `json:"next,omitzero"`
	Until    time.Time        `json:"until,omitzero"`
	Deadline time.Duration    `json:"deadline"`
	// By is the short name of the worker that ran the turn.
	By string `json:"by,omitempty"`
	// Behind: there are stored results that State does not include, because the last
	// included one changed which rules fire.
	Behind bool `json:"behind,omitempty"`
	// Restarted: the vote that the loop reported last does not count any more. State includes
	// the first result of a new schedule, for example after the check was enabled again, or the
	// turn has reported another vote meanwhile.
	Restarted bool `json:"restarted,omitempty"`
	// Voted: no rule fires, and the stored vote of the region says so too. A new loop,
	// such as one of many whose workflows Temporal has lost, need not report it again.
	Voted bool `json:"voted,omitempty"`
	// Reported: the turn has reported the vote of State, with its firing rules.
	Reported bool `json:"reported,omitempty"`
	// Run is the run of the workflow after it was reset, for which the state is compared.
	// Restored is the epoch of the last restore for which it is; an adopted turn gives none.
	Run      string `json:"run,omitempty"`
	Restored int64  `json:"restored,omitempty"`
	ShownName
}

// ErrSuperseded is the error of a turn that a newer turn of the same loop replaced.
var ErrSuperseded = errors.New("a newer turn of this loop took over")

// resultWriter stores results. Write returns the committed row of the slot, which another
// turn may have written.
type resultWriter interface {
	Write(ctx context.Context, row vigil.ResultRow) (vigil.StoredResult, error)
}

// resultHistory reads stored results; lists are oldest first.
type resultHistory interface {
	ResultsAfter(ctx context.Context, checkID uuid.UUID, region string, slot time.Time, limit int) ([]vigil.Result, error)
	LatestResults(ctx context.Context, checkID uuid.UUID, region string, n int) ([]vigil.Result, error)
	// StateBefore returns what the results before a slot leave in a state.
	StateBefore(ctx context.Context, q vigil.PastQuery) (vigil.State, error)
}

// WatcherOptions are the dependencies of a Watcher. All members but Lease, TurnRate,
// QuietWindow, Votes, Incidents, LastVotes and Spans are required.
type WatcherOptions struct {
	Catalogue *Catalogue
	Results   resultWriter
	History   resultHistory
	// Probes shares the places for probes of the process. The time that a probe waits
	// for its place counts as lateness, not as response time.
	Probes *fair.Queue
	// Worker is the name under which the process renews its leases.
	Worker string
	// Lease says whether they hold. Nil: probes need no lease.
	Lease *LeaseHolder
	// TurnRate is how many turns a second the process makes while nothing changes: with
	// more slots than that a turn covers several of them. With 0 every turn covers one
	// slot.
	TurnRate float64
	// QuietWindow is the longest time that one turn may cover.
	QuietWindow time.Duration
	// Votes and Incidents receive the votes of loops. Without them votes are dropped
	// and no incident opens.
	Votes     voteStore
	Incidents incidentSignaler
	// LastVotes is asked by a turn that catches up with stored results. Without it none of
	// their votes counts as reported.
	LastVotes lastVoteReader
	// Spans receives the steps of traces; nil: none does.
	Spans spanRecorder
	// Completer completes turns that run apart from their activity, and Owners says whose a
	// loop is. Without Completer a turn runs in its activity and is never adopted; with it both
	// are required.
	Completer turnCompleter
	Owners    loopOwners
	// Figures counts what turns apart from their activity do; nil: nothing is counted.
	Figures client.MetricsHandler
	// ShowNames reports whether workflows show the names of checks; nil: they must not.
	ShowNames func(ctx context.Context) bool
	Now       func() time.Time
	Log       *slog.Logger
}

// Watcher implements the activities of the region workers of one process.
type Watcher struct {
	WatcherOptions
	locks     *turnLocks
	claims    *pendingClaims
	budget    *turnBudget
	gaps      *turnGaps
	news      burst
	shortName string
	tests     handTests
	lateness  Lateness
	apart     *turnsApart
}

// NewWatcher returns a Watcher.
func NewWatcher(opts WatcherOptions) *Watcher {
	if opts.Figures == nil {
		opts.Figures = client.MetricsNopHandler
	}
	return &Watcher{
		apart:          newTurnsApart(),
		WatcherOptions: opts, locks: newTurnLocks(), claims: newPendingClaims(), shortName: shortWorkerName(opts.Worker),
		budget: newTurnBudget(opts.TurnRate), gaps: newTurnGaps(),
		tests: handTests{places: fair.New(fair.DefaultLimits(testPlaces))},
	}
}

// Watch runs one turn of a loop: it waits for the next slot, probes at its time, stores
// the result and evaluates the rules. It repeats this for up to Span slots, or until health or
// the firing rules change, or somewhat later: see hold. Watch itself waits for a slot, since a timer of the Temporal
// server would double the state transitions of a turn and be less precise than a
// millisecond.
//
// It returns an error when Postgres cannot be used, and ErrSuperseded when a newer turn
// replaces it; the loop then starts another turn with Recover set.
//
// With WatcherOptions.Completer it returns activity.ErrResultPending at once, and the turn runs
// apart: see turnsApart.
func (w *Watcher) Watch(ctx context.Context, turn *Turn) (*TurnResult, error) {
	fence, ok := w.Lease.Holds(turn.Region)
	if !ok {
		return w.refuse(ctx, turn)
	}
	if w.stale(ctx) {
		return nil, ErrSuperseded
	}
	t := &turnRun{
		Watcher: w, turn: turn, state: turn.State, reported: turn.State, fence: fence,
		call: callOf(ctx), stop: activity.GetWorkerStopChannel(ctx),
	}
	if w.Completer == nil {
		return w.runTurn(ctx, t)
	}
	w.startApart(t) //nolint:contextcheck // the turn outlives the context of its activity
	return nil, activity.ErrResultPending
}

// runTurn runs a turn to its end.
//
// Tens of thousands of turns wait at the same time, each on its own stack. What they need
// while they wait is on the heap, which halves the stack: hence the pointers.
func (w *Watcher) runTurn(ctx context.Context, t *turnRun) (*TurnResult, error) {
	held := w.lockTurn(ctx, t.turn, t.call.scheduled)
	if held == nil {
		return nil, ErrSuperseded
	}
	t.lock = held
	w.gaps.begin(held.key, w.Now())
	defer w.release(held)
	if t.turn.Recover && !t.adoption {
		w.budget.take(w.Now()) // the end of a turn has taken the token of the next one, unless it was lost
	}
	if err := t.recover(ctx); err != nil {
		return nil, err
	}
	result, err := t.run(ctx)
	if result == nil || result.End == HandOver {
		w.claims.remove(held.key)
	}
	if result != nil && result.End != Gone {
		result.Voted = t.saveCalmVote(ctx, result.Revision)
		result.Reported = t.reportedNews && !t.again && !t.firingChanged() || t.reportNews(ctx, result)
		// The loop does not know what was reported during the turn.
		result.Restarted = result.Restarted || t.reportedNews && !result.Reported
		if result.End != HandOver {
			w.gaps.end(held.key, w.Now())
		}
	}
	if result != nil && t.firingChanged() {
		t.traceNews(ctx)
	}
	t.nameIn(ctx, result)
	countTurn(ctx, result, err)
	return result, err
}

// turnRun is the state of one running turn.
type turnRun struct {
	*Watcher
	turn    *Turn
	state   vigil.State
	fence   int64 // of the lease under which the turn began
	covered int
	passed  bool          // the last slot is in maintenance and was not probed
	wide    int           // slots that the turn of a new loop may cover instead of its Span, 0: its Span
	most    int           // slots that the turn may cover
	slots   int           // that it covers
	extra   int           // that it covers beyond the plan, since the Temporal server is busy
	until   time.Time     // the last of them
	last    time.Time     // the last of them without extra
	counted time.Duration // the interval at which the budget counts the loop
	behind  bool          // there are stored results that the state does not include
	// reported is the state whose firing rules the last vote has. again: the loop may not know
	// that vote, and the turn ends to have its own reported again.
	reported vigil.State
	again    bool
	// compared: the state is compared with the rows, after the restore of an epoch or a reset.
	compared bool
	restored int64
	calmVote bool         // the loop is new, and no rule fires in the stored vote
	failed   *failedProbe // set by an attempt that another one follows
	lock     *turnLock
	call     *turnCall
	stop     <-chan struct{}
	// adoption: another worker began the turn, and died. voted: the stored vote of the region is
	// that of its state.
	adoption, voted bool
	// held is until when a turn with news goes on, zero when it has none or ends with it.
	held         time.Time
	reportedNews bool // it has reported its news, and went on
	unreported   bool // it could not
}

// firingChanged reports whether other rules fire than in the last vote.
func (t *turnRun) firingChanged() bool { return !t.state.SameFiring(t.reported) }

// definition returns the definition at the turn's revision or a newer one. Only a
// restored Postgres has an older one, until the restore is noticed.
func (t *turnRun) definition(ctx context.Context) (*entry, error) {
	e, err := t.Catalogue.definition(ctx, t.turn.CheckID, t.turn.Revision)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	return e, nil
}

// run probes the turn's slots.
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
		t.count(schedule.Interval)
		if err := t.compare(ctx, e); err != nil {
			return nil, err
		}
		switch complete := t.complete(e, schedule); {
		case t.heldEnough(e):
			return t.end(Changed, e, schedule), nil
		case complete && t.passed && !t.behind && !t.again:
			return t.end(Covered, e, schedule), nil
		case complete, t.behind, t.again, t.adoption && e.Check.Revision > t.turn.Revision:
			return t.end(Changed, e, schedule), nil
		}
		slot := schedule.Due(t.state.Slot, t.Now())
		if t.covered == 0 {
			t.plan(e, schedule, slot)
		} else if t.held.IsZero() && slot.After(t.until) {
			return t.end(Late, e, schedule), nil
		}
		why := t.awaitSlot(ctx, slot, e)
		var place *fair.Place
		if why == due && t.passOver(e, schedule, slot) {
			continue
		}
		if why == due {
			place, why = t.acquire(ctx, e, schedule)
		}
		switch why {
		case due:
		case replaced:
			continue
		default:
			return t.interrupted(ctx, why, e, schedule)
		}
		// After a wait for the place a newer slot may be due; those before it are missed.
		if slot = schedule.Due(t.state.Slot, t.Now()); t.passOver(e, schedule, slot) {
			place.Leave()
			continue
		}
		before, by := t.state.Health, t.lag(schedule, slot)
		switch why, err := t.probeSlot(ctx, e, schedule, slot, place); {
		case why == replaced:
			continue
		case why != due:
			return t.interrupted(ctx, why, e, schedule)
		case vigil.ErrorCode(err) == vigil.CodeNotFound:
			return t.end(Gone, e, schedule), nil
		case vigil.ErrorCode(err) == vigil.CodeConflict:
			return nil, t.moved()
		case err != nil:
			return nil, err
		}
		t.measure(e, by)
		t.covered, t.passed = t.covered+1, false
		if t.goOn(ctx, before, e, schedule) {
			continue
		}
		if t.again {
			continue // it ends with the definition as it is now
		}
		if t.state.Health != before || t.firingChanged() {
			if t.hold(ctx, before, e) {
				continue
			}
			return t.end(Changed, e, schedule), nil
		}
		if t.complete(e, schedule) && !t.extend(e, schedule) {
			return t.end(Covered, e, schedule), nil
		}
	}
}

// interrupted is the end of a turn whose wait ended for another reason than the slot.
func (t *turnRun) interrupted(ctx context.Context, why waitResult, e *entry, schedule vigil.Schedule) (*TurnResult, error) {
	switch why {
	case superseded:
		return nil, ErrSuperseded
	case cancelled:
		return nil, ctx.Err()
	case late:
		return t.end(Late, e, schedule), nil
	case revoked:
		if t.adopted(ctx) {
			return nil, errAdopted
		}
	case stopping:
		if t.named() {
			return nil, errLeft
		}
	case due, replaced:
	}
	return t.end(HandOver, e, schedule), nil
}
