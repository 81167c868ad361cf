package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vigil"
)

// rebuildRows is the minimum number of stored results from which the state of a loop is
// rebuilt; rules that count more results need more.
const rebuildRows = 100

// recoverPage is how many stored results recover reads at once.
const recoverPage = 1000

// recover evaluates stored results that the state does not include yet, because the turn
// before was lost.
func (t *turnRun) recover(ctx context.Context) error {
	if !t.turn.Recover && !t.state.Slot.IsZero() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, t.call.Ends)
	defer cancel()
	if t.adoption {
		if err := t.apart.enter(ctx); err != nil {
			return err
		}
		defer t.apart.leave()
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
		vote, err := t.lastVote(ctx)
		voted := !vote.Slot.IsZero() && !vote.Slot.Before(schedule.Start)
		t.calmVote = voted && !vote.Fires
		if t.adoption {
			// What the lost turn has reported, its loop may not know, and the vote of its last
			// result may not be reported: the loop reports it, unless both are calm.
			// A vote of the newest result may be stored and not signaled.
			newest := vote.Slot.Equal(t.state.Slot)
			t.voted = t.calmVote && len(t.state.Firing) == 0 && !newest
			t.behind = t.behind || vote.Fires || voted && newest
			t.calmVote = t.calmVote && !newest
		}
		return err
	}
	return t.catchUp(ctx, e)
}

// rebuild builds the state from the newest results of the schedule that started at start.
// An earlier loop has reported the votes of these results, so only the state after the
// last one matters. From an earlier schedule it takes the last DNS answer and nothing
// else, because the check was disabled or changed in between.
func (t *turnRun) rebuild(ctx context.Context, e *entry, start time.Time) error {
	n := max(rebuildRows, vigil.RebuildResults(e.Rules))
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
