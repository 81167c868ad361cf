// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/timing"
)

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

// failedProbe is a probe that failed so far. Its failure is not stored yet, since another
// attempt may succeed.
type failedProbe struct {
	result vigil.Result          // of the newest attempt
	before []vigil.FailedAttempt // the attempts before that one
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

// probeSlot runs the check for a slot, again while it fails and its definition says so, and
// stores the result. It returns due when it has ended, and otherwise why it was interrupted
// between two attempts: then nothing is stored, and the slot is still to be probed.
//
// Between two attempts only this goroutine waits, with its small stack.
func (t *turnRun) probeSlot(ctx context.Context, e *entry, schedule vigil.Schedule, slot time.Time, place *fair.Place) (waitResult, error) {
	ctx, cancel := context.WithDeadline(ctx, t.call.Ends)
	defer cancel()
	ctx = t.evidenceIn(ctx, e, slot)
	err := t.probeApart(func() error { return t.probe(ctx, e, slot, place) })
	failed := t.failed
	t.failed = nil
	for err == nil && failed != nil {
		next, why := t.awaitRetry(ctx, e, schedule, slot)
		switch why {
		case due:
			err = t.probeApart(func() error { return t.probeAgain(ctx, e, failed, next) })
			failed, t.failed = t.failed, nil
		case late: // it must do as it is
			return due, t.probeApart(func() error { return t.store(ctx, e, failed.final()) })
		case replaced, stopping, revoked, superseded, cancelled:
			return why, nil
		}
	}
	return due, err
}

// probeAgain makes another attempt for the slot of a failed probe. It sets t.failed when one
// more follows, and stores the result otherwise.
func (t *turnRun) probeAgain(ctx context.Context, e *entry, failed *failedProbe, place *fair.Place) error {
	seen := e.observeIn(ctx, place)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed.again(e, seen) {
		t.failed = failed
		return nil
	}
	return t.store(ctx, e, failed.final())
}

// awaitRetry waits between two attempts, and then for a place like any probe. It returns
// late when no attempt is possible before the next slot or before the timeout of the
// activity, and otherwise what ends the wait for a slot. A lease that does not hold any more
// ends it with replaced: the turn is parked before it probes again.
func (t *turnRun) awaitRetry(ctx context.Context, e *entry, schedule vigil.Schedule, slot time.Time) (*fair.Place, waitResult) {
	begin := t.Now().Add(e.Check.Retry.Delay)
	last := schedule.Next(slot) // to begin
	if end := t.call.Ends.Add(-e.single() - lastProbe); end.Before(last) {
		last = end
	}
	if !begin.Before(last) {
		return nil, late
	}
	if why := t.awaitInstant(ctx, e, begin); why != due {
		return nil, why
	}
	place := t.Probes.Join(e.claim(begin))
	giveUp := time.NewTimer(last.Sub(t.Now()))
	defer giveUp.Stop()
	if why := wait(ctx, t, e, place.Granted(), giveUp.C); why != due {
		place.Leave()
		return nil, why
	}
	if paused, _ := t.Catalogue.maintenance.at(&e.Check, slot); paused {
		place.Leave()
		return nil, replaced
	}
	return t.checkLease(place)
}

// awaitInstant waits until an instant, and returns replaced as soon as the lease under which
// the turn began does not hold.
func (t *turnRun) awaitInstant(ctx context.Context, e *entry, until time.Time) waitResult {
	for {
		fence, holds := t.Lease.holdsFor(t.turn.Region)
		left := until.Sub(t.Now())
		switch {
		case holds <= 0 || fence != t.fence:
			return replaced
		case left <= 0:
			return due
		}
		timer := time.NewTimer(min(left, holds))
		why := wait(ctx, t, e, timer.C, nil)
		timer.Stop()
		if why != due {
			return why
		}
	}
}

// observeTest probes for a test by hand, in a place among those for tests. When the result
// is stored, it retries like a scheduled probe; a dry run shows what one attempt sees.
func (w *Watcher) observeTest(ctx context.Context, e *entry, request TestRequest, place *fair.Place) (vigil.Result, error) {
	now := w.Now().Truncate(time.Microsecond) // the precision of Postgres
	result := testResult(request, now)
	result.Observation = e.observeIn(ctx, place)
	if request.DryRun {
		return result, ctx.Err()
	}
	failed := e.retries(result)
	if failed == nil {
		return result, ctx.Err()
	}
	end := activity.GetInfo(ctx).Deadline.Add(-e.single() - lastProbe)
	for more := true; more && ctx.Err() == nil && w.Now().Add(e.Check.Retry.Delay).Before(end); {
		if err := timing.Sleep(ctx, e.Check.Retry.Delay); err != nil {
			return result, err
		}
		if _, ok := w.Lease.Holds(request.Region); !ok {
			return result, errParked
		}
		next, err := w.acquireTest(ctx, e)
		if err != nil {
			return result, err
		}
		more = failed.again(e, e.observeIn(ctx, next))
	}
	return failed.final(), ctx.Err()
}

// testResult is the result of a test that began now, without what it observed.
func testResult(request TestRequest, now time.Time) vigil.Result {
	return vigil.Result{
		ID:      vigil.ResultID(request.CheckID, request.Region, now),
		CheckID: request.CheckID, Region: request.Region,
		Slot: now, Time: now, Manual: true,
	}
}
