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
