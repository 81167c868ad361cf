// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// taskPlaces is how many tasks are performed at the same time. They have places of their own, so
// that they delay no slot.
const taskPlaces = 16

// perform makes the probe that somebody waits for, and answers.
func (a *Agent) perform(ctx context.Context, session uuid.UUID, task *agentlink.Task) {
	ctx, cancel := context.WithTimeout(ctx, task.Deadline.Sub(a.platformNow()))
	defer cancel()
	answer, ok := a.answer(ctx, task)
	if !ok {
		return
	}
	path := pathOf(agentlink.PathTask, session.String(), task.ID.String())
	for failures := 0; ; failures++ {
		err := a.call(ctx, path, answer, nil)
		if status := statusOf(err); err == nil || ctx.Err() != nil || status >= 400 && status < 500 && status != http.StatusTooManyRequests {
			return
		}
		if timing.Sleep(ctx, backoff(err, failures)) != nil {
			return
		}
	}
}

// platformNow is the present by the platform's clock.
func (a *Agent) platformNow() time.Time { return a.Now().Add(-a.clock.Difference()) }

// answer returns what the probe of a task saw; ok is false when it was interrupted.
func (a *Agent) answer(ctx context.Context, task *agentlink.Task) (answer *agentlink.TaskAnswer, ok bool) {
	began := a.clock.Now()
	d, err := a.checks.read(&task.Check)
	if err != nil {
		return answerOf(began, vigil.Observation{Unavailable: true, Error: "the agent cannot run the check: " + err.Error()})
	}
	place := a.tasks.Join(fair.Claim{Target: d.probe.Target(), Since: began})
	defer place.Leave()
	select {
	case <-place.Granted():
	case <-ctx.Done():
		return nil, false
	}
	if d.evidence {
		ctx = probe.KeepEvidence(ctx, nil) // somebody waits for it
	}
	attempts := &failedProbe{result: vigil.Result{Observation: d.probe.Run(ctx)}}
	for !task.Once && d.retry.Retries(attempts.result.Observation, len(attempts.before)) && timing.Sleep(ctx, d.retry.Delay) == nil {
		seen := d.probe.Run(ctx)
		if ctx.Err() != nil || seen.Unavailable {
			break
		}
		attempts.before = append(attempts.before,
			vigil.FailedAttempt{Error: attempts.result.Error, ResponseTime: attempts.result.ResponseTime})
		attempts.result.Observation = seen
	}
	if ctx.Err() != nil {
		return nil, false
	}
	return answerOf(began, attempts.final().Observation)
}

// answerOf bounds what a task has seen.
func answerOf(began time.Time, seen vigil.Observation) (*agentlink.TaskAnswer, bool) {
	bounded, _, err := vigil.BoundResult(vigil.Result{Observation: seen})
	if err != nil {
		bounded = vigil.Result{Observation: vigil.Observation{Error: seen.Error, Success: seen.Success, ResponseTime: seen.ResponseTime}}
	}
	bounded.Evidence = vigil.BoundEvidence(seen.Evidence, bounded.Metadata)
	return &agentlink.TaskAnswer{Time: began.Round(0).UTC(), Observation: agentlink.ObservationOf(bounded.Observation)}, true
}
