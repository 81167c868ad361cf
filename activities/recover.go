package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigil"
)

// rebuildRows is the least number of stored results that a loop without a state
// is rebuilt from; rules that count more failures ask for more.
const rebuildRows = 100

// recoverPage bounds one reading of the rows that a lost turn left behind.
const recoverPage = 1000

// recover brings the state up to the stored rows. It stops behind the first row
// that changes which rules fire, as a live slot does: an episode that nobody
// watched must be told like any other.
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
	for !t.firingChanged() {
		rows, err := t.History.ResultsAfter(ctx, t.turn.CheckID, t.turn.Region, t.state.Slot, recoverPage)
		if err != nil {
			return fmt.Errorf("read the rows of a lost turn: %w", err)
		}
		for _, row := range rows {
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

// rebuild makes a state out of the newest rows of the schedule that began at
// start. What happened among them was told by an earlier loop; only where they
// end counts. Rows of an earlier schedule say which records the last answer had,
// and nothing else: the check was disabled, or another one, since.
func (t *turnRun) rebuild(ctx context.Context, e *entry, start time.Time) error {
	n := max(rebuildRows, vigil.MaxThreshold(e.Rules)+1)
	rows, err := t.History.LatestResults(ctx, t.turn.CheckID, t.turn.Region, n)
	if err != nil {
		return err
	}
	known := len(rows)
	rows = slices.DeleteFunc(rows, func(row vigil.Result) bool { return row.Slot.Before(start) })
	if known > 0 && slices.ContainsFunc(e.Rules, func(r vigil.Rule) bool { return r.Condition.DNSChanged }) {
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
