package activities

import (
	"context"

	"github.com/google/uuid"

	"vigil"
)

// voteStore is where votes are kept.
type voteStore interface {
	SaveVote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote) (vigil.VoteAck, error)
}

// incidentSignaler carries votes to the workflow that decides about a check's incidents.
type incidentSignaler interface {
	// Vote starts the workflow when the vote matters and none runs.
	Vote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote, heard vigil.VoteAck) error
}

// ReportVote makes a region's vote known: it is stored first, so that whoever reads
// the votes later has it, and then told to the incident workflow. The loop waits
// for it before its next turn; a vote is never overtaken by a later one.
//
// A check or region that was removed meanwhile has no vote, which is no error.
func (w *Watcher) ReportVote(ctx context.Context, checkID uuid.UUID, vote vigil.Vote) error {
	if w.Votes == nil || w.Incidents == nil {
		return nil
	}
	heard, err := w.Votes.SaveVote(ctx, checkID, vote)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return w.Incidents.Vote(ctx, checkID, vote, heard)
}
