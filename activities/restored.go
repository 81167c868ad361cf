package activities

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"vigil"
)

// restoreStore answers what a turn asks when Postgres and the loop do not agree, and
// raises revisions that a restored Postgres has forgotten.
type restoreStore interface {
	// LastVote returns what is known of the region's stored vote.
	LastVote(ctx context.Context, checkID uuid.UUID, region string) (vigil.LastVote, error)
	// RaiseRevision makes the revision of a check newer than seen, unless it is, and
	// returns it. The loops get it like that of an edit. An unknown check has none: 0.
	RaiseRevision(ctx context.Context, checkID uuid.UUID, seen int64, why vigil.RestoreSign) (int64, error)
}

// include folds the result that was just written into the state.
//
// In normal operation the newest stored slot before it is that of the state. When it is
// newer, another turn has stored results. When it is older, the state includes results
// that Postgres does not have: Postgres was restored from an older backup. The state
// stays, because what it knows did happen and an incident may be open for it; but the
// stored vote may be an older one, so that it is reported again, at a newer revision:
// the incident workflow then reads its context again.
func (t *turnRun) include(ctx context.Context, e *entry, stored vigil.StoredResult) error {
	schedule, _ := e.Schedule(t.turn.Region)
	switch previous := stored.Previous; {
	case previous.IsZero() || t.state.Slot.IsZero() || t.state.Unstored || previous.Equal(t.state.Slot):
	case previous.After(t.state.Slot):
		return t.catchUp(ctx, e)
	case t.Restores != nil && !t.state.Slot.Before(schedule.Start):
		t.Log.WarnContext(ctx, "results are missing in the database: it was restored, and the loop goes on from its own state",
			"check", t.turn.CheckID, "region", t.turn.Region, "newest_stored", previous, "newest_known", t.state.Slot)
		if err := t.raise(ctx, e, vigil.DatabaseOlder); err != nil {
			return err
		}
		t.revote = true
	}
	t.fold(e, stored.Result)
	return nil
}

// catchUp folds the stored results that the state does not include. It stops after the
// first one that changes which rules fire, as a turn does, so that the loop reports that
// vote like any other.
//
// Results up to the slot of the stored vote are different: their votes were reported.
// That happens when Temporal was restored from an older backup, or the workflow was
// reset. Their votes are not reported a second time, since each would open the incident
// of an episode that is over. It also happens when a turn that reported its vote and went on
// was lost, which the vote says. Then nothing was restored, and the last vote is reported again.
//
// And when the stored vote does not say what the loop has reported, Postgres was restored
// from an older backup, and the turn that saw it was lost with its answer.
func (t *turnRun) catchUp(ctx context.Context, e *entry) error {
	vote, err := t.lastVote(ctx)
	if err != nil {
		return err
	}
	voted, loop := vote.Slot, t.state.Slot
	older, forgotten := voted.After(loop), t.forgotten(e, vote)
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
	t.behind, t.revote = t.firingChanged(), t.revote || older || forgotten
	if forgotten {
		t.Log.WarnContext(ctx,
			"the stored vote is older than what the loop has reported: the database was restored, and the vote is reported again",
			"check", t.turn.CheckID, "region", t.turn.Region, "voted", voted, "loop", loop)
		return t.raise(ctx, e, vigil.DatabaseOlder)
	}
	if !older || !vote.TurnBegan.IsZero() && !loop.Before(vote.TurnBegan) {
		return nil
	}
	t.Log.WarnContext(ctx, "the loop is older than its rows: Temporal was restored or the workflow reset, and the loop goes on from the rows",
		"check", t.turn.CheckID, "region", t.turn.Region, "voted", voted, "loop", loop)
	return t.raise(ctx, e, vigil.TemporalOlder)
}

// forgotten reports whether the stored vote of this schedule is older than the one that
// the loop has reported: it differs in whether a rule fires.
func (t *turnRun) forgotten(e *entry, vote vigil.LastVote) bool {
	voted := vote.Slot
	schedule, ok := e.Schedule(t.turn.Region)
	current := ok && !voted.IsZero() && !voted.Before(schedule.Start) && !voted.After(t.state.Slot) && !t.state.Slot.Before(schedule.Start)
	return current && vote.Fires != (len(t.reported.Firing) > 0)
}

// lastVote returns what is known of the stored vote, nothing without a restoreStore.
func (t *turnRun) lastVote(ctx context.Context) (vigil.LastVote, error) {
	if t.Restores == nil {
		return vigil.LastVote{}, nil
	}
	vote, err := t.Restores.LastVote(ctx, t.turn.CheckID, t.turn.Region)
	if err != nil {
		return vigil.LastVote{}, fmt.Errorf("read the last vote: %w", err)
	}
	return vote, nil
}

// raise makes the stored revision newer than any that the loop and the catalogue know,
// so that the loop follows it and later edits. The turn goes on with it.
func (t *turnRun) raise(ctx context.Context, e *entry, why vigil.RestoreSign) error {
	if t.Restores == nil {
		return nil
	}
	seen := max(t.turn.Revision, e.Check.Revision)
	revision, err := t.Restores.RaiseRevision(ctx, t.turn.CheckID, seen, why)
	if err != nil {
		return fmt.Errorf("raise the revision: %w", err)
	}
	t.turn.Revision = max(t.turn.Revision, revision)
	return nil
}
