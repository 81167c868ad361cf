// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
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
		if err := t.rebuild(ctx, e); err != nil {
			return fmt.Errorf("rebuild the state: %w", err)
		}
		// A vote of the schedule before does not count; the next result reports it.
		t.behind = t.firingChanged() && !t.state.Slot.Before(schedule.Start)
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

// fold evaluates a result and updates the state. What was before the check was enabled does not
// count, also for a loop that has run on meanwhile.
func (t *turnRun) fold(e *entry, row vigil.Result) {
	state, from := t.state.For(e.Check.Type), e.StateFrom(t.turn.Region)
	if state.Slot.Before(from) && !row.Slot.Before(from) {
		state = state.Restart()
	}
	t.state, _ = vigil.Evaluate(e.Rules, state, row)
}

// rebuild builds the state that a loop has which kept it: from the newest results, and from what
// those before them left. An earlier loop has reported the votes of these results, so only the
// state after the last one matters. From before the check was enabled it takes the last DNS
// answer and nothing else.
func (t *turnRun) rebuild(ctx context.Context, e *entry) error {
	n := max(rebuildRows, vigil.RebuildResults(e.Rules))
	rows, err := t.History.LatestResults(ctx, t.turn.CheckID, t.turn.Region, n)
	if err != nil {
		return err
	}
	if len(rows) == n {
		if err := t.beginBefore(ctx, e, &rows[0]); err != nil {
			return err
		}
	}
	for _, row := range rows {
		t.fold(e, row)
	}
	if t.state.Slot.Before(e.StateFrom(t.turn.Region)) {
		t.state = vigil.State{DNS: t.state.DNS, DNSSlot: t.state.DNSSlot}
	}
	return nil
}

// beginBefore sets the state to what the results before the oldest one leave in it, as far as a
// rule needs it.
func (t *turnRun) beginBefore(ctx context.Context, e *entry, oldest *vigil.Result) error {
	q := vigil.PastQuery{
		CheckID: t.turn.CheckID, Region: t.turn.Region, From: e.StateFrom(t.turn.Region), Before: oldest.Slot, Failures: !oldest.Success,
	}
	_, known := oldest.CertificateDays()
	for _, rule := range e.Rules {
		q.DNS = q.DNS || rule.Condition.DNSChanged
		q.Days = q.Days || rule.Condition.SSLDaysRemaining != nil && !known
	}
	if !q.DNS && !q.Days && !q.Failures {
		return nil
	}
	var err error
	t.state, err = t.History.StateBefore(ctx, q)
	t.state.Slot = oldest.Slot.Add(-time.Microsecond)
	return err
}
