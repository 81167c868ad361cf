package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigil"
)

// rebuildRows is the minimum number of stored results from which the state of a loop is
// rebuilt; rules that count more failures need more results.
const rebuildRows = 100

// recoverPage is how many stored results recover reads at once.
const recoverPage = 1000

// recover evaluates stored results that the state does not include yet, because the turn
// before was lost. It stops after the first result that changes which rules fire, as a
// turn does, so that the loop reports that vote like any other.
func (t *turnRun) recover(ctx context.Context) error {
	if !t.turn.Recover && !t.state.Slot.IsZero() {
		return nil
	}
	e, err := t.definition(ctx)
	if err != nil || e.deleted {
		return err
	}
	schedule, ok := e.Schedule(t.turn.Region)
	if !ok {
		return nil
	}
	if t.state.Slot.IsZero() {
		if err := t.rebuild(ctx, e, schedule.Start); err != nil {
			return fmt.Errorf("rebuild the state: %w", err)
		}
		t.behind = t.firingChanged()
		return nil
	}
	return t.foldAfter(ctx, e, t.state.Slot)
}

// foldAfter evaluates the stored results after a slot, up to the first one that changes
// which rules fire.
func (t *turnRun) foldAfter(ctx context.Context, e *entry, slot time.Time) error {
	for !t.firingChanged() {
		rows, err := t.History.ResultsAfter(ctx, t.turn.CheckID, t.turn.Region, slot, recoverPage)
		if err != nil {
			return fmt.Errorf("read the results of a lost turn: %w", err)
		}
		for _, row := range rows {
			slot = row.Slot
			if t.fold(e, row); t.firingChanged() {
				break
			}
		}
		if len(rows) < recoverPage && !t.firingChanged() {
			return nil
		}
	}
	t.behind = true
	return nil
}

// include evaluates a result that was just stored. Where another worker has stored
// results that the state does not include, it evaluates them first, in their order.
func (t *turnRun) include(ctx context.Context, e *entry, schedule vigil.Schedule, stored vigil.StoredResult) error {
	known := t.state.Slot
	if known.Before(schedule.Start) {
		known = schedule.Start.Add(-time.Microsecond) // an earlier schedule does not count
	}
	if stored.Inserted && !stored.Previous.After(known) {
		t.fold(e, stored.Result)
		return nil
	}
	if err := t.foldAfter(ctx, e, known); err != nil {
		return err
	}
	if t.state.Slot.Before(stored.Result.Slot) && !t.behind {
		t.fold(e, stored.Result) // its row was deleted meanwhile; the slot must not be due again
	}
	return nil
}

// rebuild builds the state from the newest results of the schedule that started at start.
// An earlier loop has reported the votes of these results, so only the state after the
// last one matters. From an earlier schedule it takes the last DNS answer and nothing
// else, because the check was disabled or changed in between.
func (t *turnRun) rebuild(ctx context.Context, e *entry, start time.Time) error {
	n := max(rebuildRows, vigil.MaxThreshold(e.Rules)+1)
	rows, err := t.History.LatestResults(ctx, t.turn.CheckID, t.turn.Region, n)
	if err != nil {
		return err
	}
	total := len(rows)
	rows = slices.DeleteFunc(rows, func(row vigil.Result) bool { return row.Slot.Before(start) })
	if total > 0 && slices.ContainsFunc(e.Rules, func(r vigil.Rule) bool { return r.Condition.DNSChanged }) {
		oldest := t.Now()
		if len(rows) > 0 {
			oldest = rows[0].Slot
		}
		t.state.DNS, t.state.DNSSlot, err = t.History.LastDNSAnswer(ctx, t.turn.CheckID, t.turn.Region, oldest)
		if err != nil {
			return err
		}
	}
	for _, row := range rows {
		t.fold(e, row)
	}
	return nil
}
