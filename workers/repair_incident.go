package workers

import (
	"context"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// alertsEvery is the rhythm of the pass over incidents and deliveries.
const alertsEvery = 5 * time.Second

// alertLedger is what the sweep reads and marks of incidents and deliveries.
type alertLedger interface {
	StalledIncidents(ctx context.Context, now time.Time, limit int) ([]vigil.Incident, error)
	MarkIncidentSwept(ctx context.Context, id uuid.UUID, at time.Time) error
	StalledDeliveries(ctx context.Context, now time.Time, limit int) ([]vigil.PendingDelivery, error)
	MarkDeliverySwept(ctx context.Context, errand vigil.PendingDelivery, at time.Time) error
	UnhandledVotes(ctx context.Context, now time.Time, limit int) ([]vigil.UnhandledVote, error)
	MarkVoteSwept(ctx context.Context, vote vigil.UnhandledVote, at time.Time) error
	Silences(ctx context.Context, now, since time.Time, limit int) ([]vigil.RegionSilence, error)
	MarkSilence(ctx context.Context, silence vigil.RegionSilence) error
}

// CoverAlerts makes the sweep look after incidents and deliveries too: it starts
// the workflows of those that were lost, and tells incidents which regions have
// fallen silent. It must be called before Start.
func (s *Sweep) CoverAlerts(incidents *Incidents, store alertLedger) {
	s.incidents, s.alerts = incidents, store
}

// alertsPass repairs what nobody seems to look after. A workflow that only waits
// is woken for nothing, less and less often.
func (s *Sweep) alertsPass(ctx context.Context) error {
	err := s.repairAlerts(ctx)
	if err != nil {
		s.alertsCalm = time.Time{}
	} else if s.alertsCalm.IsZero() {
		s.alertsCalm = s.now()
	}
	return err
}

func (s *Sweep) repairAlerts(ctx context.Context) error {
	stalled, err := s.alerts.StalledIncidents(ctx, s.now(), sweepBatch)
	if err != nil {
		return err
	}
	for _, incident := range stalled {
		if err := s.incidents.Revive(ctx, incident.OrgID, incident.CheckID, shortened(incident.Title)); err != nil {
			return err // Temporal is away: the others would fail alike
		}
		if err := s.alerts.MarkIncidentSwept(ctx, incident.ID, s.now()); err != nil {
			return err
		}
	}
	unheard, err := s.alerts.UnhandledVotes(ctx, s.now(), sweepBatch)
	if err != nil {
		return err
	}
	for _, vote := range unheard {
		if err := s.incidents.Revive(ctx, vote.OrgID, vote.CheckID, named(vote.CheckName, vote.Target)); err != nil {
			return err
		}
		if err := s.alerts.MarkVoteSwept(ctx, vote, s.now()); err != nil {
			return err
		}
	}
	errands, err := s.alerts.StalledDeliveries(ctx, s.now(), sweepBatch)
	if err != nil {
		return err
	}
	for _, errand := range errands {
		if err := s.incidents.Send(ctx, errand); err != nil {
			return err
		}
		if err := s.alerts.MarkDeliverySwept(ctx, errand, s.now()); err != nil {
			return err
		}
	}
	return s.silences(ctx)
}

// silences notes which regions fell silent or were heard again, and has their
// checks looked at. What was silent while the sweep itself could not see is
// given time to be heard.
func (s *Sweep) silences(ctx context.Context) error {
	if s.alertsCalm.IsZero() {
		return nil
	}
	silences, err := s.alerts.Silences(ctx, s.now(), s.alertsCalm, sweepBatch)
	if err != nil {
		return err
	}
	for _, silence := range silences {
		// Noted first: the workflow that looks reads it. Should the look be
		// lost, or no workflow run any more, the passes over stalled incidents
		// and unheard votes make up for it.
		if err := s.alerts.MarkSilence(ctx, silence); err != nil {
			return err
		}
		if err := s.incidents.Look(ctx, silence.CheckID); err != nil {
			return err
		}
	}
	return nil
}
