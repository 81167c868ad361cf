// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/pace"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// attempt probes once. It returns the failure when another attempt follows.
type attempt func() (*failedProbe, error)

// probeApart runs an attempt on a goroutine of its own. A probe needs a stack of 16 KB or
// more, which a turn that ran it on its own goroutine would keep for all the time that it
// waits. A panic of the probe continues in the turn.
func probeApart(run attempt) (failed *failedProbe, err error) {
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		failed, err = run()
	}()
	if panicked := <-ended; panicked != nil {
		panic(panicked)
	}
	return failed, err
}

// probeSlot runs the check for a slot, again while it fails and its definition says so, and
// stores the result. It returns due when it has ended, and otherwise why it was interrupted
// between two attempts: then nothing is stored, and the slot is still to be probed.
//
// Between two attempts only this goroutine waits, with its small stack.
func (t *turnRun) probeSlot(
	ctx context.Context, e *entry, schedule vigil.Schedule, slot time.Time, place *fair.Place,
) (waitResult, error) {
	ctx, cancel := context.WithDeadline(ctx, t.call.Ends)
	defer cancel()
	ctx = t.evidenceIn(ctx, e, slot)
	failed, err := probeApart(func() (*failedProbe, error) { return t.probe(ctx, e, slot, place) })
	for err == nil && failed != nil {
		last := failed
		next, why := t.awaitRetry(ctx, e, schedule, slot)
		switch why {
		case due:
			failed, err = probeApart(func() (*failedProbe, error) { return t.probeAgain(ctx, e, last, next) })
		case late: // it must do as it is
			failed, err = probeApart(func() (*failedProbe, error) { return nil, t.settle(ctx, e, last.final(), last.lost) })
		default:
			return why, nil
		}
	}
	return due, err
}

// probe makes the first attempt for a slot, and stores its result unless another attempt
// follows: then it returns the failure. The place of the probe is given back when it has ended.
func (t *turnRun) probe(ctx context.Context, e *entry, slot time.Time, place *fair.Place) (*failedProbe, error) {
	followed, lost := t.follow(ctx, e)
	result := vigil.Result{
		ID:      vigil.ResultID(t.turn.CheckID, t.turn.Region, slot),
		CheckID: t.turn.CheckID, Region: t.turn.Region,
		Slot: slot, Time: t.Now(),
		Observation: e.observeIn(followed, place),
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // the probe was interrupted: its result says nothing about the target
	}
	if failed := e.retries(result); failed != nil {
		failed.lost = lost
		return failed, nil
	}
	return nil, t.settle(ctx, e, result, lost)
}

// probeAgain makes another attempt for the slot of a failed probe. It returns the failure when
// one more follows, and stores the result otherwise.
func (t *turnRun) probeAgain(ctx context.Context, e *entry, failed *failedProbe, place *fair.Place) (*failedProbe, error) {
	followed, lost := t.follow(ctx, e)
	seen := e.observeIn(followed, place)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !seen.Unavailable {
		failed.lost = lost
	}
	if failed.again(e, seen) {
		return failed, nil
	}
	return nil, t.settle(ctx, e, failed.final(), failed.lost)
}

// lostLine says whether a failed attempt had no line; nil: it had one.
type lostLine func(ctx context.Context, fresh bool) bool

// follow returns the context of an attempt, and what says whether it had no line.
func (t *turnRun) follow(ctx context.Context, e *entry) (context.Context, lostLine) {
	if t.Line == nil || e.probe == nil {
		return ctx, nil
	}
	return t.Line.Follow(ctx, e.probe.Target())
}

// settle stores the result of a slot, unless it is a failure of this machine's line: then the
// slot is missed.
func (t *turnRun) settle(ctx context.Context, e *entry, result vigil.Result, lost lostLine) error {
	if result.Success || result.Unavailable || lost == nil {
		return t.store(ctx, e, result)
	}
	missed := lost(ctx, t.state.For(e.Check.Type).Failures == 0)
	if ctx.Err() != nil {
		return ctx.Err() // it was not judged
	}
	if !missed {
		return t.store(ctx, e, result)
	}
	countBlind(ctx, t.turn.Region, 1)
	t.state.Slot, t.state.Unstored = result.Slot, true
	return nil
}

// awaitRetry waits between two attempts, and then for a place like any probe. It returns
// late when no attempt is possible before the next slot or before the timeout of the
// activity, and otherwise what ends the wait for a slot.
func (t *turnRun) awaitRetry(ctx context.Context, e *entry, schedule vigil.Schedule, slot time.Time) (*fair.Place, waitResult) {
	begin, last := t.Now().Add(e.Check.Retry.Delay), schedule.Next(slot)
	if end := t.lastBegin(e.single()); end.Before(last) {
		last = end
	}
	if !begin.Before(last) {
		return nil, late
	}
	if why := t.awaitInstant(ctx, e, begin); why != due {
		return nil, why
	}
	place, why := t.acquire(ctx, e, begin, last)
	if why != due {
		return nil, why
	}
	if paused, _ := t.Catalogue.maintenance.at(&e.Check, slot); paused {
		place.Leave()
		return nil, replaced
	}
	return place, due
}

// store stores the result of a slot and evaluates the stored row. When the slot already has
// a result, that one is evaluated instead.
func (t *turnRun) store(ctx context.Context, e *entry, result vigil.Result) error {
	if result.Unavailable {
		// It says nothing about the target either: the slot counts as missed.
		t.Log.WarnContext(ctx, "this machine cannot run the check",
			"check", t.turn.CheckID, "type", e.Check.Type, "reason", result.Error)
		t.state.Slot, t.state.Unstored = result.Slot, true
		return nil
	}
	stored, named, err := t.write(ctx, e, vigil.ResultRow{Result: result, MaxDelay: t.writeDelay(e, result)})
	if err != nil {
		return err
	}
	t.named = named
	return t.include(ctx, e, stored)
}

// write writes a row as one of the turn, and reports whether it names the turn that goes on after its slot, so that
// another worker can adopt it.
func (t *turnRun) write(ctx context.Context, e *entry, row vigil.ResultRow) (stored vigil.StoredResult, named bool, err error) {
	slot := row.Result.Slot
	row.Worker, row.Deadline, row.TurnSlots = t.Worker, e.deadline(), t.plan.Span
	if row.Excluded, err = t.excluded(ctx, e, slot); err != nil {
		return stored, false, err
	}
	row.Owned, row.Result.Excluded = t.adopted || t.ahead || t.covered > 0, row.Excluded
	schedule, ok := e.Schedule(t.turn.Region)
	// A turn that owes something is not named: who adopted it would see the end of an episode, and not that it was.
	if t.Completer != nil && ok && t.owed == nil && (t.plan.Covers(schedule.Next(slot)) || !t.reach.answers()) {
		row.Turn = &t.call.TurnActivity
	}
	if stored, err = t.Results.Write(ctx, row); err != nil {
		return stored, false, fmt.Errorf("store the result: %w", err)
	}
	countResult(ctx, e.Check.Type, stored)
	if stored.Moved {
		return stored, false, vigil.Errorf(vigil.CodeConflict, "The loop belongs to another worker.")
	}
	return stored, row.Turn != nil, nil
}

// The result of a ping, which is stored already, waits for arrivalWriteDelay to be stored with others, or for the
// arrivalWritePart-th part of its interval when that is less.
const (
	arrivalWriteDelay = time.Second
	arrivalWritePart  = 8
)

// writeDelay is how long a result may wait to be stored: not at all when it is the loop's
// first, or changes its health or which rules fire.
func (t *turnRun) writeDelay(e *entry, result vigil.Result) time.Duration {
	state := t.state.For(e.Check.Type)
	next, _ := vigil.Evaluate(e.Rules, state, result)
	schedule, runs := e.Schedule(t.turn.Region)
	if !runs || state.Health != next.Health || !next.SameFiring(t.reported) {
		return 0
	}
	if e.heartbeat != nil {
		return max(0, min(arrivalWriteDelay, schedule.Interval/arrivalWritePart))
	}
	return pace.WriteDelay(schedule.Next(result.Slot).Sub(t.Now()))
}

// lagSlots is how many missed slots the lag of a probe counts at most.
const lagSlots = 10

// lag is how late a probe begins, counted from the first slot since the last result, and
// how many slots that concerns: its own, and those missed in the last seconds.
type lag struct {
	delay time.Duration // negative: it says nothing about the load of this process
	slots int
}

// lag returns the lag of the turn's next probe, of slot. A slot zero, and the first one
// after an outage, say nothing about the load.
func (t *turnRun) lag(schedule vigil.Schedule, slot time.Time) lag {
	if t.covered == 0 && (t.turn.Recover || t.state.Slot.Before(schedule.Start)) {
		return lag{delay: -1}
	}
	next := schedule.Next(t.state.Slot)
	missed := schedule.Count(next, slot)
	return lag{delay: max(0, t.Now().Sub(next)), slots: 1 + int(min(missed, lagSlots))}
}

// measure records the lag of a probe that has ended. One that took long does not count:
// such probes wait for each other, however much the machine could do.
func (t *turnRun) measure(e *entry, by lag) {
	if by.delay >= 0 && !e.slow.Load() {
		t.lateness.Observe(t.Now(), by.delay, by.slots)
	}
}

// evidenceIn makes a probe of the turn's loop collect evidence, as far as the check wants it.
// Whether a failure keeps it follows from the loop's state.
func (t *turnRun) evidenceIn(ctx context.Context, e *entry, slot time.Time) context.Context {
	if e.Check.NoEvidence {
		return ctx
	}
	state, rules := t.state.For(e.Check.Type), e.Rules
	return probe.KeepEvidence(ctx, func(seen vigil.Observation) bool {
		return state.WantsEvidence(rules, vigil.Result{Slot: slot, Observation: seen})
	})
}

// single is how long one attempt may take, 0 when the config cannot run.
func (e *entry) single() time.Duration {
	if e.probe == nil {
		return 0
	}
	return e.probe.Deadline()
}

// deadline is how long a probe may take with all its attempts, 0 when the config cannot run.
func (e *entry) deadline() time.Duration {
	if e.probe == nil {
		return 0
	}
	return e.Check.Retry.Deadline(e.probe.Deadline())
}

// claim is what the turn's probe asks for. A probe that took long the last time is
// expected to do so again.
func (e *entry) claim(since time.Time) fair.Claim {
	claim := fair.Claim{Organization: string(e.Check.OrgID[:]), Slow: e.slow.Load(), Since: since}
	if e.probe != nil {
		claim.Target = e.probe.Target()
	}
	return claim
}

// observeIn runs the probe in a place and gives the place back.
func (e *entry) observeIn(ctx context.Context, place *fair.Place) vigil.Observation {
	defer func() { e.slow.Store(place.Leave()) }()
	return e.observe(ctx)
}

// observe runs the probe. A config that cannot run is a failed observation with the reason.
func (e *entry) observe(ctx context.Context) vigil.Observation {
	if e.probeErr != nil {
		return vigil.Observation{Error: "the check cannot run: " + vigil.ErrorMessage(e.probeErr)}
	}
	return e.probe.Run(ctx)
}

// failedProbe is a probe that failed so far. Its failure is not stored yet, since another
// attempt may succeed.
type failedProbe struct {
	result vigil.Result          // of the newest attempt
	before []vigil.FailedAttempt // the attempts before that one
	lost   lostLine              // of the newest attempt
}

// retries returns the failed probe of a first attempt that is retried, nil for one that is
// not.
func (e *entry) retries(result vigil.Result) *failedProbe {
	if e.probe == nil || !e.Check.Retry.Retries(result.Observation, 0) {
		return nil
	}
	return &failedProbe{result: result}
}

// again adds the observation of another attempt, and reports whether one more follows. What
// says nothing about the target is no attempt, and the failure before it stays.
func (f *failedProbe) again(e *entry, seen vigil.Observation) bool {
	if seen.Unavailable {
		return false
	}
	f.before = append(f.before, vigil.FailedAttempt{Error: f.result.Error, ResponseTime: f.result.ResponseTime})
	f.result.Observation = seen
	return e.Check.Retry.Retries(seen, len(f.before))
}

// final returns the result to store: the newest attempt, with those before it.
func (f *failedProbe) final() vigil.Result {
	result := f.result
	result.Metadata = vigil.WithAttempts(result.Metadata, f.before)
	return result
}
