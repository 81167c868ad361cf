// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// resultHistory reads stored results; lists are oldest first.
type resultHistory interface {
	ResultsAfter(ctx context.Context, checkID uuid.UUID, region string, slot time.Time, limit int) ([]vigil.Result, error)
	LatestResults(ctx context.Context, checkID uuid.UUID, region string, n int) ([]vigil.Result, error)
	// StateBefore returns what the results before a slot leave in a state.
	StateBefore(ctx context.Context, q vigil.PastQuery) (vigil.State, error)
}

// rebuildRows is the minimum number of stored results from which the state of a loop is
// rebuilt; rules that count more results need more.
const rebuildRows = 100

// recoverPage is how many stored results recover reads at once.
const recoverPage = 1000

// recover evaluates stored results that the state does not include yet, because the turn
// before was lost.
func (t *turnRun) recover(ctx context.Context) error {
	if !t.turn.Recover && !t.afterLost && !t.state.Slot.IsZero() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, t.call.Ends)
	defer cancel()
	if t.adopted {
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
	if !t.state.Slot.IsZero() {
		return t.catchUp(ctx, e)
	}
	if err := t.rebuild(ctx, e); err != nil {
		return fmt.Errorf("rebuild the state: %w", err)
	}
	vote, err := t.lastVote(ctx)
	if err != nil {
		return err
	}
	// A vote of the schedule before does not count; the next result reports it.
	t.out.Behind = t.firingChanged() && !t.state.Slot.Before(schedule.Start)
	voted := !vote.Slot.IsZero() && !vote.Slot.Before(schedule.Start)
	if t.adopted {
		// What the lost turn has reported, its loop may not know, and the vote of the newest
		// result may be stored and not signaled: the loop reports it, unless both are calm.
		newest := voted && vote.Slot.Equal(t.state.Slot)
		t.out.Behind = t.out.Behind || vote.Fires || newest
		voted = voted && !newest
	}
	if voted && !vote.Fires {
		t.vote = voteReported
	}
	return nil
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

// foldWith folds a result into a state that has the counts that rules need of the results before: a new rule,
// and a state that is rebuilt, begin with what is stored.
func (t *turnRun) foldWith(ctx context.Context, e *entry, row vigil.Result) error {
	state := t.state.For(e.Check.Type)
	missing := state.MissingBurns(e.Rules)
	from := e.StateFrom(t.turn.Region)
	if len(missing) > 0 && row.Slot.After(from) && t.History != nil {
		before, err := t.History.StateBefore(ctx, vigil.PastQuery{
			CheckID: t.turn.CheckID, Region: t.turn.Region, From: from, Before: row.Slot, Burns: missing,
		})
		if err != nil {
			return fmt.Errorf("read the windows of burn rates: %w", err)
		}
		t.state = state.WithBurns(before.Burns)
	}
	t.fold(e, row)
	return nil
}

// rebuild builds the state that a loop has which kept it: from the newest results, and from what
// those before them left. An earlier loop has reported the votes of these results, so only the
// state after the last one matters. From before the check was enabled it takes the last DNS
// answer and nothing else.
func (t *turnRun) rebuild(ctx context.Context, e *entry) error {
	n := max(rebuildRows, vigil.RebuildResults(e.Rules, 0))
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
		if err := t.foldWith(ctx, e, row); err != nil {
			return err
		}
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

// lastVoteReader says which vote of a region is stored.
type lastVoteReader interface {
	LastVote(ctx context.Context, checkID uuid.UUID, region string) (vigil.LastVote, error)
}

// include folds the result that was just written into the state, after those that another turn
// has stored meanwhile. Where the loop is owed an earlier result it decides nothing.
func (t *turnRun) include(ctx context.Context, e *entry, stored vigil.StoredResult) error {
	if t.owed != nil {
		t.fold(e, stored.Result)
		t.reported = t.state
		return nil
	}
	if !t.state.Slot.IsZero() && !t.state.Unstored && stored.Previous.After(t.state.Slot) {
		return t.catchUp(ctx, e)
	}
	return t.foldWith(ctx, e, stored.Result)
}

// catchUp folds the stored results that the state does not include. It stops after the
// first one that changes which rules fire, as a turn does, so that the loop reports that
// vote like any other.
//
// Results before the slot of the stored vote are different: their votes were reported, by a turn that was lost or abandoned
// afterwards. They are not reported a second time, since each could open the incident of an episode that is over. The loop does
// not know of them, so the vote of the present is reported again. The stored vote itself may not have been signaled, so the loop
// reports it again where other rules fire in it than the loop knows: where it was, the incident has it already.
func (t *turnRun) catchUp(ctx context.Context, e *entry) error {
	vote, err := t.lastVote(ctx)
	if err != nil {
		return err
	}
	voted, known := vote.Slot, t.reported
	t.out.Restarted = t.out.Restarted || voted.After(t.state.Slot)
	for !t.firingChanged() {
		rows, err := t.History.ResultsAfter(ctx, t.turn.CheckID, t.turn.Region, t.state.Slot, recoverPage)
		if err != nil {
			return fmt.Errorf("read the results of a lost turn: %w", err)
		}
		for _, row := range rows {
			if err := t.foldWith(ctx, e, row); err != nil {
				return err
			}
			switch {
			case t.state.Slot.Before(voted), t.state.Slot.Equal(voted) && t.state.SameFiring(known):
				t.reported = t.state
			case t.state.Slot.Equal(voted):
				t.reported = known
			}
			if t.firingChanged() {
				break
			}
		}
		if len(rows) < recoverPage && !t.firingChanged() {
			break
		}
	}
	t.out.Behind = t.firingChanged()
	return nil
}

// compare has the turn catch up and its loop report its vote again when one of them may be older
// than the other: after a store was restored from a backup, which an epoch says that the loop
// does not know, and after an operator has reset the workflow of the loop.
//
// What the state knows and the rows do not did happen, and an incident may be open for it, so the
// state stays.
func (t *turnRun) compare(ctx context.Context, e *entry) error {
	if t.adopted && t.ahead {
		return nil // the first turn has compared, and no result of an adopted one says with which restore
	}
	reset := t.turn.Reset && t.out.Run == ""
	if !reset && e.Restored <= t.out.Restored {
		return nil
	}
	if !t.turn.State.Slot.IsZero() { // a loop without a state reports its vote in any case
		if err := t.catchUp(ctx, e); err != nil {
			return err
		}
		t.Log.InfoContext(ctx, "the loop goes on from its state and the rows, after a restore or a reset of its workflow",
			"check", t.turn.CheckID, "region", t.turn.Region, "newest_known", t.state.Slot)
		t.out.Restarted = true
	}
	t.out.Restored = max(t.out.Restored, e.Restored)
	if t.turn.Reset {
		t.out.Run = t.call.run
	}
	return nil
}

// lastVote returns what is known of the stored vote, nothing without a reader of votes.
func (t *turnRun) lastVote(ctx context.Context) (vigil.LastVote, error) {
	if t.LastVotes == nil {
		return vigil.LastVote{}, nil
	}
	vote, err := t.LastVotes.LastVote(ctx, t.turn.CheckID, t.turn.Region)
	if err != nil {
		return vigil.LastVote{}, fmt.Errorf("read the last vote: %w", err)
	}
	return vote, nil
}
