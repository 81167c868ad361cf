// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// TestResultsOfAWorkerThatLostTheLoop tests that the results of a loop are stored in the
// order of slots, so that its state can be a fold over all of them.
func TestResultsOfAWorkerThatLostTheLoop(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	c := newCheck(t, s, draft(org.ID, newark))
	slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
	by := func(worker string, result vigil.Result) (vigil.StoredResult, error) {
		return w.Write(context.WithoutCancel(t.Context()), vigil.ResultRow{Result: result, Worker: worker})
	}
	want := func(worker string, slot int, previous time.Time) {
		t.Helper()
		stored, err := by(worker, ok(c, newark, slots[slot]))
		if err != nil || !stored.Inserted || !stored.Previous.Equal(previous) {
			t.Errorf("slot %d of %s: %+v, %v; want it after %v", slot, worker, stored, err, previous)
		}
	}
	want("old", 0, time.Time{})
	want("old", 1, slots[0])
	want("new", 4, slots[1])
	if _, err := by("old", ok(c, newark, slots[2])); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a result that is older than the other worker's: %v", err)
	}
	// A slot that has a result is answered with it.
	for _, slot := range []int{1, 4} {
		stored, err := by("old", failed(c, newark, slots[slot]))
		if err != nil || stored.Inserted || !stored.Result.Success {
			t.Errorf("slot %d again: %+v, %v", slot, stored, err)
		}
	}
	manual := ok(c, newark, slots[3].Add(time.Second))
	manual.Manual = true
	if stored, err := by("old", manual); err != nil || !stored.Inserted {
		t.Errorf("a test on request: %+v, %v", stored, err)
	}
	equal(t, gapSlots(t, s, c, newark), slots[2:4])
	if loop := loopOf(t, s, c, newark); loop.Missed != 2 || loop.Worker != "new" {
		t.Errorf("loop %+v", loop)
	}
	if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != 4 {
		t.Errorf("%d results, want 4", n)
	}

	// After a claim, a result newer than all is in order, so it is stored.
	if err := s.ClaimLoops(t.Context(), fleet.Lease{Worker: "third", Region: newark}, []uuid.UUID{c.ID}); err != nil {
		t.Fatal(err)
	}
	want("new", 6, slots[4])
	want("third", 7, slots[6])
}
