// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// failedProbe is a probe that failed so far: another attempt may succeed.
type failedProbe struct {
	result vigil.Result          // of the newest attempt
	before []vigil.FailedAttempt // the attempts before that one
	again  time.Time             // when the next attempt begins
	lost   lostLine              // of the newest attempt
}

// lostLine says whether a failed attempt had no line.
type lostLine func(ctx context.Context, fresh bool) bool

// final returns the result to send: the newest attempt, with those before it.
func (f *failedProbe) final() vigil.Result {
	result := f.result
	result.Metadata = vigil.WithAttempts(result.Metadata, f.before)
	return result
}

// probe makes an attempt for a slot. The slot has a result when it succeeds, or fails and is not
// repeated; it is missed when no place was free before the next slot, when the machine cannot
// run the check, and when a failure had no line.
func (a *Agent) probe(ctx context.Context, one *job) {
	var failed *failedProbe
	defer func() { a.checks.ended(one, failed) }()
	place := a.acquire(ctx, one)
	if place == nil {
		if one.failed != nil && ctx.Err() == nil {
			a.settle(ctx, one, one.failed) // it must do as it is
		}
		return
	}
	followed, lost := a.line.Follow(a.evidenceIn(ctx, one), one.probe.Target())
	began := a.clock.Now()
	seen := one.probe.Run(followed)
	a.checks.setSlow(one, place.Leave())
	if ctx.Err() != nil {
		return // the probe was interrupted: its result says nothing about the target
	}
	next := one.failed
	switch {
	case next == nil:
		next = &failedProbe{result: vigil.Result{CheckID: one.id, Slot: one.slot, Time: began, Observation: seen}, lost: lost}
	case !seen.Unavailable:
		next.before = append(next.before, vigil.FailedAttempt{Error: next.result.Error, ResponseTime: next.result.ResponseTime})
		next.result.Observation, next.lost = seen, lost
	}
	if one.retry.Retries(seen, len(next.before)) && !a.leaving.Load() {
		next.again = a.clock.Now().Add(one.retry.Delay)
		if next.again.Before(one.schedule.Next(one.slot)) {
			failed = next
			return
		}
	}
	a.settle(ctx, one, next)
}

// acquire waits for a place until the next slot is due. It returns nil without one.
func (a *Agent) acquire(ctx context.Context, one *job) *fair.Place {
	since := one.slot
	if one.failed != nil {
		since = one.failed.again
	}
	place := a.places.Join(fair.Claim{Target: one.probe.Target(), Slow: one.slow, Since: since})
	select {
	case <-place.Granted():
		return place
	default:
	}
	timer := time.NewTimer(one.schedule.Next(one.slot).Sub(a.clock.Now()))
	defer timer.Stop()
	select {
	case <-place.Granted():
		return place
	case <-timer.C:
	case <-ctx.Done():
	}
	place.Leave()
	return nil
}

// evidenceIn makes the probe collect evidence, as far as the check wants it.
func (a *Agent) evidenceIn(ctx context.Context, one *job) context.Context {
	if !one.evidence {
		return ctx
	}
	state := a.checks.stateOf(one)
	return probe.KeepEvidence(ctx, func(seen vigil.Observation) bool {
		return state.WantsEvidence(nil, vigil.Result{Slot: one.slot, Observation: seen})
	})
}

// settle hands over the result of a slot, unless it says nothing about the target.
func (a *Agent) settle(ctx context.Context, one *job, attempts *failedProbe) {
	result := attempts.final()
	if result.Unavailable {
		if a.checks.sayOnce(one) {
			a.Log.WarnContext(ctx, "this machine cannot run a check: its slots are missed",
				"check", one.id, "type", one.kind, "reason", result.Error)
		}
		return
	}
	state := a.checks.stateOf(one)
	if !result.Success && attempts.lost(ctx, state.Failures == 0) {
		return
	}
	if ctx.Err() != nil {
		return // it was not judged
	}
	bounded, _, err := vigil.BoundResult(result)
	if err != nil {
		a.Log.WarnContext(ctx, "a result cannot be sent", "check", one.id, "error", err)
		return
	}
	bounded.Evidence = vigil.BoundEvidence(result.Evidence, bounded.Metadata)
	bounded.HasEvidence = bounded.Evidence != nil
	next, _ := vigil.Evaluate(nil, state, bounded)
	a.checks.setState(one, next)
	a.outbox.add(agentlink.Result{
		CheckID: one.id, Revision: one.revision, Slot: one.slot.UTC(), Time: bounded.Time.Round(0).UTC(),
		Observation: agentlink.ObservationOf(bounded.Observation),
	}, result.Success && state.Health == next.Health, a.Now())
}

// stateOf returns the state of the check of a job.
func (c *checks) stateOf(one *job) vigil.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return one.entry.state.For(one.kind)
}

// setState sets it.
func (c *checks) setState(one *job, state vigil.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.entry.state = state
}

// setSlow notes whether the last probe took long.
func (c *checks) setSlow(one *job, slow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.entry.slow = slow
}

// sayOnce reports, for each definition once, that something is to be said of it.
func (c *checks) sayOnce(one *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.entry.said || one.entry.definition != one.definition {
		return false
	}
	one.entry.said = true
	return true
}
