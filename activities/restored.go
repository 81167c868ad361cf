// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// lastVoteReader says which vote of a region is stored.
type lastVoteReader interface {
	LastVote(ctx context.Context, checkID uuid.UUID, region string) (vigil.LastVote, error)
}

// include folds the result that was just written into the state, after those that another turn
// has stored meanwhile.
func (t *turnRun) include(ctx context.Context, e *entry, stored vigil.StoredResult) error {
	if !t.state.Slot.IsZero() && !t.state.Unstored && stored.Previous.After(t.state.Slot) {
		return t.catchUp(ctx, e)
	}
	t.fold(e, stored.Result)
	return nil
}

// catchUp folds the stored results that the state does not include. It stops after the
// first one that changes which rules fire, as a turn does, so that the loop reports that
// vote like any other.
//
// Results up to the slot of the stored vote are different: their votes were reported, by a turn
// that was lost or abandoned afterwards. They are not reported a second time, since each could
// open the incident of an episode that is over. The loop does not know of them, so the vote of
// the present is reported again.
func (t *turnRun) catchUp(ctx context.Context, e *entry) error {
	vote, err := t.lastVote(ctx)
	if err != nil {
		return err
	}
	voted := vote.Slot
	t.again = t.again || voted.After(t.state.Slot)
	for !t.firingChanged() {
		rows, err := t.History.ResultsAfter(ctx, t.turn.CheckID, t.turn.Region, t.state.Slot, recoverPage)
		if err != nil {
			return fmt.Errorf("read the results of a lost turn: %w", err)
		}
		for _, row := range rows {
			t.fold(e, row)
			if !t.state.Slot.After(voted) {
				t.reported = t.state
			}
			if t.firingChanged() {
				break
			}
		}
		if len(rows) < recoverPage && !t.firingChanged() {
			break
		}
	}
	t.behind = t.firingChanged()
	return nil
}

// compare has the turn catch up and its loop report its vote again when one of them may be older
// than the other: after a store was restored from a backup, which an epoch says that the loop
// does not know, and after an operator has reset the workflow of the loop.
//
// What the state knows and the rows do not did happen, and an incident may be open for it, so the
// state stays.
func (t *turnRun) compare(ctx context.Context, e *entry) error {
	reset := t.turn.Reset && !t.compared
	if !reset && e.Restored <= max(t.turn.Restored, t.restored) {
		return nil
	}
	if !t.turn.State.Slot.IsZero() { // a loop without a state reports its vote in any case
		if err := t.catchUp(ctx, e); err != nil {
			return err
		}
		t.Log.InfoContext(ctx, "the loop goes on from its state and the rows, after a restore or a reset of its workflow",
			"check", t.turn.CheckID, "region", t.turn.Region, "newest_known", t.state.Slot)
		t.again = true
	}
	t.compared, t.restored = true, e.Restored
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
