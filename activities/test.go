package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// TestRequest asks for one probe now, outside the schedule.
type TestRequest struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	// Revision is the one the caller saw; the probe uses it or a newer one.
	Revision int64 `json:"revision"`
	// DryRun: the result is returned and counts nowhere.
	DryRun bool `json:"dry_run"`
}

// Test probes a check at once and returns what it saw. Unless it is a dry run,
// the result is stored like any other, with its instant as its slot.
func (w *Watcher) Test(ctx context.Context, trial TestRequest) (vigil.Result, error) {
	e, err := w.Catalogue.definition(ctx, trial.CheckID, trial.Revision)
	if err != nil {
		return vigil.Result{}, fmt.Errorf("read the definition: %w", err)
	}
	if e.deleted {
		return vigil.Result{}, vigil.NotFound("check")
	}
	if err := w.acquireProbe(ctx); err != nil {
		return vigil.Result{}, err
	}
	now := w.Now().Truncate(time.Microsecond) // what Postgres keeps
	result := vigil.Result{
		ID:      vigil.ResultID(trial.CheckID, trial.Region, now),
		CheckID: trial.CheckID, Region: trial.Region,
		Slot: now, Time: now, Manual: true,
		Observation: e.observe(ctx),
	}
	w.releaseProbe()
	if ctx.Err() != nil {
		return vigil.Result{}, ctx.Err()
	}
	if result.Unavailable {
		return result, nil // it says nothing of the target, so nothing is stored
	}
	if trial.DryRun {
		if result.Metadata == nil {
			result.Metadata = map[string]any{}
		}
		result.Metadata["test"] = true
		return result, nil
	}
	recorded, err := w.Results.Write(ctx, vigil.ResultRow{Result: result, Worker: w.Worker, Deadline: e.deadline()})
	if err != nil {
		return vigil.Result{}, fmt.Errorf("store the result: %w", err)
	}
	countResult(ctx, e.Check.Type, recorded)
	return recorded.Result, nil
}
