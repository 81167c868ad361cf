package reconcile

import (
	"context"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// incidents reaches the workflows of incidents and deliveries. Every call may be
// repeated. Name and target describe the check in the Temporal UI.
type incidents interface {
	Refresh(ctx context.Context, checkID uuid.UUID) error
	Revive(ctx context.Context, orgID, checkID uuid.UUID, name, target string) error
	Send(ctx context.Context, delivery vigil.PendingDelivery) error
}

// incidentStore is what the sweep reads and marks of incidents and deliveries.
type incidentStore interface {
	StalledIncidents(ctx context.Context, now time.Time, limit int) ([]vigil.Incident, error)
	MarkIncidentSwept(ctx context.Context, id uuid.UUID, at time.Time) error
	StalledDeliveries(ctx context.Context, now time.Time, limit int) ([]vigil.PendingDelivery, error)
	AdmitDeliveries(ctx context.Context, limit int) ([]vigil.PendingDelivery, error)
	MarkDeliverySwept(ctx context.Context, delivery vigil.PendingDelivery, at time.Time) error
	UnhandledVotes(ctx context.Context, now time.Time, limit int) ([]vigil.UnhandledVote, error)
	MarkVoteSwept(ctx context.Context, vote vigil.UnhandledVote, at time.Time) error
	Silences(ctx context.Context, now, since time.Time, limit int) ([]vigil.RegionSilence, error)
	MarkSilence(ctx context.Context, silence vigil.RegionSilence) error
}

// incidentRepair restarts the incident and delivery workflows that were lost, and
// reports silent regions to incidents.
type incidentRepair struct {
	incidents incidents
	store     incidentStore
	now       func() time.Time

	healthySince time.Time // since when no pass has failed; zero: the last one did
}

// repair is one pass. A workflow that only waits is woken for nothing, less and
// less often.
func (r *incidentRepair) repair(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.reviveIncidents, r.handleVotes, r.admitDeliveries, r.sendDeliveries, r.markSilentRegions,
	} {
		if err := step(ctx); err != nil {
			r.healthySince = time.Time{}
			return err // Temporal or Postgres is away: the other steps would fail too
		}
	}
	if r.healthySince.IsZero() {
		r.healthySince = r.now()
	}
	return nil
}

// reviveIncidents restarts the workflows of incidents that are stalled.
func (r *incidentRepair) reviveIncidents(ctx context.Context) error {
	stalled, err := r.store.StalledIncidents(ctx, r.now(), passLimit)
	if err != nil {
		return err
	}
	for _, incident := range stalled {
		if err := r.incidents.Revive(ctx, incident.OrgID, incident.CheckID, incident.Title, ""); err != nil {
			return err
		}
		if err := r.store.MarkIncidentSwept(ctx, incident.ID, r.now()); err != nil {
			return err
		}
	}
	return nil
}

// handleVotes starts the workflows that must handle votes that none has handled.
func (r *incidentRepair) handleVotes(ctx context.Context) error {
	votes, err := r.store.UnhandledVotes(ctx, r.now(), passLimit)
	if err != nil {
		return err
	}
	for _, vote := range votes {
		if err := r.incidents.Revive(ctx, vote.OrgID, vote.CheckID, vote.CheckName, vote.Target); err != nil {
			return err
		}
		if err := r.store.MarkVoteSwept(ctx, vote, r.now()); err != nil {
			return err
		}
	}
	return nil
}

// admitDeliveries starts the attempts of waiting deliveries for which there is a place
// that no outcome has freed. A signal that fails is repeated by sendDeliveries.
func (r *incidentRepair) admitDeliveries(ctx context.Context) error {
	admitted, err := r.store.AdmitDeliveries(ctx, passLimit)
	if err != nil {
		return err
	}
	for _, delivery := range admitted {
		if err := r.incidents.Send(ctx, delivery); err != nil {
			return err
		}
	}
	return nil
}

// sendDeliveries restarts the workflows of deliveries that are stalled.
func (r *incidentRepair) sendDeliveries(ctx context.Context) error {
	deliveries, err := r.store.StalledDeliveries(ctx, r.now(), passLimit)
	if err != nil {
		return err
	}
	for _, delivery := range deliveries {
		if err := r.incidents.Send(ctx, delivery); err != nil {
			return err
		}
		if err := r.store.MarkDeliverySwept(ctx, delivery, r.now()); err != nil {
			return err
		}
	}
	return nil
}

// markSilentRegions records which regions became silent or reported again, and has
// the incident workflows of their checks read it. A region that was silent while
// the sweep itself could not read gets time to report.
func (r *incidentRepair) markSilentRegions(ctx context.Context) error {
	if r.healthySince.IsZero() {
		return nil
	}
	silences, err := r.store.Silences(ctx, r.now(), r.healthySince, passLimit)
	if err != nil {
		return err
	}
	for _, silence := range silences {
		// Marked first, since the workflow reads the mark. If the signal is lost,
		// or no workflow runs, the passes over stalled incidents and unhandled
		// votes repair it.
		if err := r.store.MarkSilence(ctx, silence); err != nil {
			return err
		}
		if err := r.incidents.Refresh(ctx, silence.CheckID); err != nil {
			return err
		}
	}
	return nil
}
