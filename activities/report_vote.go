// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// newsTimeout is how long a turn tries to report its vote: a part of TurnSlack.
const newsTimeout = 5 * time.Second

// voteStore stores votes.
type voteStore interface {
	// SaveVote stores a vote unless a newer one of its region is stored. It fails with
	// CodeNotFound when the region has no vote any more.
	SaveVote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote) (vigil.VoteAck, error)
}

// incidentSignaler signals votes to incident workflows.
type incidentSignaler interface {
	// Vote signals a vote. It starts the workflow first when none runs and the vote
	// is relevant.
	Vote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote, ack vigil.VoteAck) error
}

// ReportVote stores the vote of a region, then signals it to the incident workflow of
// the check: a vote that the turn could not report itself. Stored votes are complete for any
// later reader of the context, and the loop waits for ReportVote before its next turn, so
// votes of a region stay in order.
//
// ReportVote returns nil for a check or region that was removed meanwhile.
func (w *Watcher) ReportVote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote) error {
	if w.Votes == nil || w.Incidents == nil {
		return nil
	}
	if _, ok := w.Lease.Holds(vote.Region); !ok {
		return errParked // at once, instead of waiting for Postgres
	}
	return w.report(ctx, checkID, vote, time.Time{})
}

// report stores and signals a vote, which began to be reported at began; zero: with the
// activity.
func (w *Watcher) report(ctx context.Context, checkID uuid.UUID, vote vigil.Vote, began time.Time) error {
	ack, err := w.Votes.SaveVote(ctx, checkID, vote)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	err = w.Incidents.Vote(ctx, checkID, vote, ack)
	if err == nil && w.Spans != nil {
		span := vigil.Span{TraceID: vigil.SlotTrace(checkID, vote.Region, vote.Slot), Start: began}
		w.traceVote(ctx, span, &vote, &ack)
	}
	return err
}

// reportNews reports the vote of a turn that ends because other rules fire, and whether
// the loop need not report it. An activity of its own would be three state transitions, and
// the incident would open that much later. What does not succeed soon is left to the loop,
// which tries until it does.
func (t *turnRun) reportNews(ctx context.Context, result *TurnResult) bool {
	return result.End == Changed && t.firingChanged() && !t.behind && !t.unreported && t.reportVote(ctx, result.Revision)
}

// reportVote reports the vote of the state, and whether that succeeded.
func (t *turnRun) reportVote(ctx context.Context, revision int64) bool {
	if t.Votes == nil || t.Incidents == nil {
		return false
	}
	began := t.Now()
	ctx, cancel := context.WithTimeout(ctx, newsTimeout)
	defer cancel()
	return t.report(ctx, t.turn.CheckID, vigil.Vote{
		Region: t.turn.Region, Revision: revision, Slot: t.state.Slot, Failures: t.state.Failures,
		Firing: t.state.Firing, Matches: t.state.Matches,
	}, began) == nil
}

// saveCalmVote reports the vote of a new loop with which no rule fires, as ReportVote does,
// and whether the loop need not report it. For most new loops that is so: no incident is
// open, and an activity of its own would be four state transitions for nothing. Otherwise
// the loop reports the vote itself, until it is stored and signaled.
func (t *turnRun) saveCalmVote(ctx context.Context, revision int64) bool {
	isNew := t.turn.State.Slot.IsZero() && !t.state.Slot.IsZero()
	if !isNew || len(t.state.Firing) > 0 || t.again || t.behind {
		return false
	}
	if t.calmVote || t.Votes == nil || t.Incidents == nil {
		return t.calmVote
	}
	vote := vigil.Vote{Region: t.turn.Region, Revision: revision, Slot: t.state.Slot, Failures: t.state.Failures}
	ack, err := t.Votes.SaveVote(ctx, t.turn.CheckID, vote)
	if err == nil && !ack.Relevant {
		t.calmVote = t.Incidents.Vote(ctx, t.turn.CheckID, vote, ack) == nil
	}
	return t.calmVote
}
