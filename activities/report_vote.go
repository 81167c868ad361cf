// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// newsTimeout is how long a turn tries to report its vote: a part of turnSlack.
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
	if err == nil && w.Spans != nil && (len(vote.Firing) > 0 || ack.Relevant) { // else it belongs to no incident
		span := vigil.Span{TraceID: vigil.SlotTrace(checkID, vote.Region, vote.Slot), Start: began}
		w.traceVote(ctx, span, &vote, &ack)
	}
	return err
}

// report reports the vote of the state.
func (t *turnRun) report(ctx context.Context, revision int64) {
	if t.firingChanged() {
		t.traceNews(ctx)
	}
	t.vote = voteFailed
	began := t.Now()
	if t.Votes == nil || t.Incidents == nil || t.reach.away(began) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, newsTimeout)
	defer cancel()
	if t.Watcher.report(ctx, t.turn.CheckID, vigil.Vote{
		Region: t.turn.Region, Revision: revision, Slot: t.state.Slot, Failures: t.state.Failures,
		Firing: t.state.Firing, Matches: t.state.Matches,
	}, began) == nil {
		t.reported, t.vote = t.state, voteReported
	}
}

// reportLast reports the vote with which a turn ends, where it is another one than its loop
// knows: a new loop knows none. Votes of results that the state does not include yet, and one
// that could not be reported, are the loop's.
func (t *turnRun) reportLast(ctx context.Context, revision int64) {
	switch {
	case t.vote == voteFailed, t.state.Slot.IsZero(), t.owed != nil:
	case t.out.Behind, t.out.Restarted:
		if t.firingChanged() {
			t.traceNews(ctx)
		}
	case t.firingChanged(), t.turn.State.Slot.IsZero() && t.vote == voteOfLoop:
		t.report(ctx, revision)
	}
}
