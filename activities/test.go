// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// HeartbeatInterval is how often a test by hand reports that it runs. The answer is the
// only way to learn that its caller has left.
const HeartbeatInterval = time.Second

// testPlaces is how many tests by hand run at the same time in a process. They have
// places of their own, so that they delay no scheduled probe.
const testPlaces = 256

// TestRequest asks for one probe immediately, outside the schedule.
type TestRequest struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	// Revision is the revision that the caller read; the probe uses it or a newer one.
	Revision int64 `json:"revision"`
	// DryRun: the result is returned and not stored.
	DryRun bool `json:"dry_run"`
	// Sealed: the caller can open an answer that is sealed.
	Sealed bool `json:"sealed,omitempty"`
}

// TestAnswer is the result of a test. What a target answered is not for readers of
// Temporal, so it is sealed for a caller that can open it.
type TestAnswer struct {
	vigil.Result

	// Sealed is the observation in JSON, sealed as Seal of WatcherOptions has it; empty: the result
	// has it in plaintext.
	Sealed []byte `json:"sealed,omitempty"`
}

// handTests are tests by hand.
type handTests struct {
	places *fair.Queue
}

// Test probes a check immediately and returns the result, as test does.
func (w *Watcher) Test(ctx context.Context, request TestRequest) (TestAnswer, error) {
	result, err := w.test(ctx, request)
	answer := TestAnswer{Result: result}
	if !request.Sealed || w.Seal == nil {
		answer.Evidence = nil // what a target sent is not for readers of a history
	}
	if err != nil || !request.Sealed || w.Seal == nil {
		return answer, err
	}
	seen, err := json.Marshal(result.Observation)
	if err != nil {
		return TestAnswer{}, fmt.Errorf("encode the observation: %w", err)
	}
	if answer.Sealed, err = w.Seal(seen); err != nil {
		return TestAnswer{}, fmt.Errorf("seal the observation: %w", err)
	}
	answer.Observation = vigil.Observation{}
	return answer, nil
}

// test probes a check immediately and returns the result. Unless it is a dry run, it
// stores the result like any other, with the time of the probe as its slot. An unknown
// check is a CodeNotFound error.
func (w *Watcher) test(ctx context.Context, request TestRequest) (vigil.Result, error) {
	if _, ok := w.Lease.Holds(request.Region); !ok {
		return vigil.Result{}, errParked
	}
	e, err := w.Catalogue.definition(ctx, request.CheckID, request.Revision)
	if err != nil {
		return vigil.Result{}, fmt.Errorf("read the definition: %w", err)
	}
	if e.deleted {
		return vigil.Result{}, vigil.NotFound("check")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go keepCancellable(ctx)
	result, err := w.seeTest(ctx, e, request)
	if err != nil {
		return vigil.Result{}, err
	}
	if request.DryRun && !result.Unavailable {
		result.Metadata = maps.Clone(result.Metadata)
		if result.Metadata == nil {
			result.Metadata = map[string]any{}
		}
		result.Metadata["test"] = true
	}
	if result, _, err = vigil.BoundResult(result); err != nil { // also what is not stored
		return vigil.Result{}, fmt.Errorf("bound the result: %w", err)
	}
	result.Evidence = vigil.BoundEvidence(result.Evidence, result.Metadata)
	if request.DryRun || result.Unavailable { // the latter says nothing about the target
		return result, nil
	}
	excluded, err := w.excluded(ctx, e, result.Slot)
	if err != nil {
		return vigil.Result{}, err
	}
	stored, err := w.Results.Write(ctx, vigil.ResultRow{Result: result, Worker: w.Worker, Deadline: e.deadline(), Excluded: excluded})
	if err != nil {
		return vigil.Result{}, fmt.Errorf("store the result: %w", err)
	}
	countResult(ctx, e.Check.Type, stored)
	if stored.Inserted {
		stored.Result.Evidence = result.Evidence
	}
	return stored.Result, nil
}

// seeTest has the probe of a test made, by an agent where agents serve the region.
func (w *Watcher) seeTest(ctx context.Context, e *entry, request TestRequest) (vigil.Result, error) {
	if w.Inbox.Serves(request.Region) {
		return w.observeAfar(ctx, e, request)
	}
	place, err := w.acquireTest(ctx, e)
	if err != nil {
		return vigil.Result{}, err
	}
	if !e.Check.NoEvidence {
		ctx = probe.KeepEvidence(ctx, nil) // somebody waits for it
	}
	return w.observeTest(ctx, e, request, place)
}

// acquireTest waits for one of the places for tests.
func (w *Watcher) acquireTest(ctx context.Context, e *entry) (*fair.Place, error) {
	place := w.tests.places.Join(e.claim(w.Now()))
	select {
	case <-place.Granted():
		return place, nil
	case <-ctx.Done():
		place.Leave()
		return nil, ctx.Err()
	}
}

// keepCancellable sends heartbeats until ctx ends; Temporal ends ctx when the answer to one
// says that the activity is canceled.
func keepCancellable(ctx context.Context) {
	for timing.Sleep(ctx, HeartbeatInterval) == nil {
		activity.RecordHeartbeat(ctx)
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
