// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// incidents reaches the workflows of incidents and deliveries. Every call may be
// repeated. Name and target describe the check in the Temporal UI; without a name they are read.
type incidents interface {
	Refresh(ctx context.Context, checkID uuid.UUID) error
	Revive(ctx context.Context, orgID, checkID uuid.UUID, name, target string) error
	Send(ctx context.Context, delivery vigil.PendingDelivery) error
	Recover(ctx context.Context, recovery channelhealth.Recovery) error
	WarnPaused(ctx context.Context, workflowID string) error
}

// incidentStore is what the sweep reads and marks of incidents and deliveries.
type incidentStore interface {
	StalledIncidents(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.Incident, error)
	MarkIncidentSwept(ctx context.Context, lease fleet.SweepLease, id uuid.UUID, at time.Time) error
	StalledDeliveries(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.PendingDelivery, error)
	AdmitDeliveries(ctx context.Context, limit int) ([]vigil.PendingDelivery, error)
	StalledRecoveries(ctx context.Context, before time.Time, limit int) ([]channelhealth.Recovery, error)
	MarkDeliverySwept(ctx context.Context, lease fleet.SweepLease, delivery vigil.PendingDelivery, at time.Time) error
	UnhandledVotes(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnhandledVote, error)
	MarkVoteSwept(ctx context.Context, lease fleet.SweepLease, vote vigil.UnhandledVote, at time.Time) error
	Silences(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.RegionSilence, error)
	MarkSilence(ctx context.Context, lease fleet.SweepLease, silence vigil.RegionSilence) error
	// PublishSilentLocations publishes which locations have no agent, and which have one again, for up to
	// limit of them, and returns for how many.
	PublishSilentLocations(ctx context.Context, lease fleet.SweepLease, since time.Time, limit int) (int, error)
	// ReviewLateResults looks for incidents that would have been in late results of up to limit checks, and
	// returns of how many.
	ReviewLateResults(ctx context.Context, shards []int, limit int) (int, error)
	maintenanceStore
	unobservedStore
}

// incidentRepair restarts the incident and delivery workflows that were lost, and
// reports silent regions to incidents. A workflow that only waits is woken for nothing,
// less and less often.
type incidentRepair struct {
	incidents incidents
	store     incidentStore
	repairs   *repairs
	glance    *glance
	now       func() time.Time
	publicURL string

	mu           sync.Mutex
	healthySince time.Time // since when no pass has failed; zero: one did, or none ran
	lastPass     time.Time
}

// passes are those over incidents, votes and deliveries, in the order in which they begin.
func (r *incidentRepair) passes() []pass {
	where := r.glance.where
	incidents := where(func(f fleet.Work) bool { return f.Incidents }, r.reviveIncidents)
	votes := where(func(f fleet.Work) bool { return f.Votes }, r.handleVotes)
	deliveries := where(func(f fleet.Work) bool { return f.Deliveries }, r.sendDeliveries)
	locations := where(func(f fleet.Work) bool { return f.Locations }, r.reportSilentLocations)
	lateResults := where(func(f fleet.Work) bool { return f.LateResults }, r.reviewLateResults)
	regions := where(func(f fleet.Work) bool { return f.Incidents || f.Votes }, r.markSilentRegions)
	unobserved := where(func(f fleet.Work) bool { return f.Late || f.Unobserved }, r.reportUnobserved)
	ends := where(func(f fleet.Work) bool { return f.Holds }, r.endMaintenance)
	reclassify := where(func(f fleet.Work) bool { return f.Reclassifications }, r.reclassify)
	places := where(func(f fleet.Work) bool { return f.Places }, r.admitDeliveries)
	recoveries := where(func(f fleet.Work) bool { return f.Recoveries }, r.resumeRecoveries)
	return []pass{
		{"incidents", incidentsInterval, passTimeout, ofChecks, r.watched(incidents)},
		{"votes", incidentsInterval, passTimeout, ofChecks, r.watched(votes)},
		{"deliveries", incidentsInterval, passTimeout, ofChecks, r.watched(deliveries)},
		{"silent locations", loopsInterval, passTimeout, ofCommon, locations},
		{"late results", incidentsInterval, passTimeout, ofChecks, lateResults},
		{"silent regions", incidentsInterval, passTimeout, ofChecks, r.watched(regions)},
		{"unobserved checks", incidentsInterval, passTimeout, ofChecks, r.watched(unobserved)},
		{"ends of maintenance", maintenanceInterval, passTimeout, ofChecks, ends},
		{"results in maintenance", loopsInterval, passTimeout, ofChecks, reclassify},
		{"places of deliveries", incidentsInterval, passTimeout, ofCommon, places},
		{"recoveries", incidentsInterval, passTimeout, ofCommon, recoveries},
	}
}

// readsSince is since when this process reads what it judges, without a gap; zero: it does not, or had no shard until now.
func (r *incidentRepair) readsSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused(r.now()) {
		return time.Time{}
	}
	return r.healthySince
}

// paused is whether no pass has ended for some time: this process had no shard. The caller has mu.
func (r *incidentRepair) paused(now time.Time) bool { return now.Sub(r.lastPass) > 3*incidentsInterval }

// watched adds to a pass that it keeps healthySince.
func (r *incidentRepair) watched(run func(context.Context, work) error) func(context.Context, work) error {
	return func(ctx context.Context, w work) error {
		err := run(ctx, w)
		r.mu.Lock()
		defer r.mu.Unlock()
		now := r.now()
		switch {
		case err != nil:
			r.healthySince = time.Time{}
		case r.healthySince.IsZero() || r.paused(now):
			r.healthySince = now
		}
		r.lastPass = now
		return err
	}
}

// reviveIncidents restarts the workflows of incidents that are stalled, until none is left.
func (r *incidentRepair) reviveIncidents(ctx context.Context, w work) error {
	return r.onceInPages(ctx, w, func() ([]repair, error) {
		stalled, err := r.store.StalledIncidents(ctx, r.now(), w.checks(), passLimit)
		if err != nil {
			return nil, err
		}
		list := make([]repair, len(stalled))
		for i, incident := range stalled {
			list[i] = repair{check: incident.CheckID, kind: kindIncident, id: incident.ID.String()}
			list[i].inTurn(
				func(ctx context.Context) error {
					return r.wake(ctx, vigil.IncidentWorkflowID(incident.CheckID), func(ctx context.Context) error {
						return r.incidents.Revive(ctx, incident.OrgID, incident.CheckID, "", "")
					})
				},
				func(ctx context.Context, lease fleet.SweepLease) error {
					return r.store.MarkIncidentSwept(ctx, lease, incident.ID, r.now())
				})
		}
		return list, nil
	})
}

// handleVotes starts the workflows that must handle votes that none has handled.
func (r *incidentRepair) handleVotes(ctx context.Context, w work) error {
	votes, err := r.store.UnhandledVotes(ctx, r.now(), w.checks(), passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(votes))
	for i, vote := range votes {
		list[i] = ofRegion(kindVote, vote.CheckID, vote.Region)
		list[i].inTurn(
			func(ctx context.Context) error {
				return r.wake(ctx, vigil.IncidentWorkflowID(vote.CheckID), func(ctx context.Context) error {
					return r.incidents.Revive(ctx, vote.OrgID, vote.CheckID, vote.CheckName, vote.Target)
				})
			},
			func(ctx context.Context, lease fleet.SweepLease) error {
				return r.store.MarkVoteSwept(ctx, lease, vote, r.now())
			})
	}
	return r.repairs.run(ctx, w, nudgeParallelism, list)
}

// admitDeliveries starts the attempts of waiting deliveries for which there is a place
// that no outcome has freed. A signal that fails is repeated by sendDeliveries.
func (r *incidentRepair) admitDeliveries(ctx context.Context, w work) error {
	admitted, err := r.store.AdmitDeliveries(ctx, passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(admitted))
	for i, delivery := range admitted {
		list[i] = ofDelivery(kindAdmitted, delivery)
		list[i].common = true
		list[i].do = func(ctx context.Context, _ fleet.SweepLease) error { return r.incidents.Send(ctx, delivery) }
	}
	return r.repairs.run(ctx, w, nudgeParallelism, list)
}

// recoverySilence is how long no workflow may have worked on a recovery until it counts as lost.
const recoverySilence = time.Minute

// resumeRecoveries starts the workflows of recoveries that were lost.
func (r *incidentRepair) resumeRecoveries(ctx context.Context, w work) error {
	stalled, err := r.store.StalledRecoveries(ctx, r.now().Add(-recoverySilence), passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(stalled))
	for i, recovery := range stalled {
		list[i] = repair{common: true, kind: kindRecovery, id: recovery.ID.String()}
		list[i].do = func(ctx context.Context, _ fleet.SweepLease) error { return r.incidents.Recover(ctx, recovery) }
	}
	return r.repairs.run(ctx, w, nudgeParallelism, list)
}

// sendDeliveries restarts the workflows of deliveries that are stalled, until none is left: an event may have thousands.
func (r *incidentRepair) sendDeliveries(ctx context.Context, w work) error {
	return r.onceInPages(ctx, w, func() ([]repair, error) {
		deliveries, err := r.store.StalledDeliveries(ctx, r.now(), w.checks(), passLimit)
		if err != nil {
			return nil, err
		}
		list := make([]repair, len(deliveries))
		for i, delivery := range deliveries {
			list[i] = ofDelivery(kindDelivery, delivery)
			list[i].inTurn(
				func(ctx context.Context) error {
					return r.wake(ctx, vigil.DeliveryWorkflowID(delivery.IncidentID, delivery.ChannelID), func(ctx context.Context) error {
						return r.incidents.Send(ctx, delivery)
					})
				},
				func(ctx context.Context, lease fleet.SweepLease) error {
					return r.store.MarkDeliverySwept(ctx, lease, delivery, r.now())
				})
		}
		return list, nil
	})
}

// wake signals a workflow that made no progress, and has logged what an operator has
// paused of it: no signal makes that go on.
func (r *incidentRepair) wake(ctx context.Context, workflowID string, signal func(context.Context) error) error {
	if err := signal(ctx); err != nil {
		return err
	}
	return r.incidents.WarnPaused(ctx, workflowID)
}

// inTurn makes the repair an action and then the mark that it was done. The mark also
// puts off a row whose action fails, so that those behind it are read.
func (r *repair) inTurn(act func(context.Context) error, mark func(context.Context, fleet.SweepLease) error) {
	r.putOff = mark
	r.do = func(ctx context.Context, lease fleet.SweepLease) error {
		if err := act(ctx); err != nil {
			return err
		}
		return mark(ctx, lease)
	}
}

// reportSilentLocations publishes which locations have no agent that reports. Like a region, each gets time
// to report after the sweep could not read.
func (r *incidentRepair) reportSilentLocations(ctx context.Context, w work) error {
	since := r.readsSince()
	lease, common := w.lease(fleet.CommonShard)
	if !common || since.IsZero() {
		return nil
	}
	for ctx.Err() == nil {
		if n, err := r.store.PublishSilentLocations(ctx, lease, since, passLimit); err != nil || n < passLimit {
			return err
		}
	}
	return ctx.Err()
}

// reviewLateResults finds what late results would have opened.
func (r *incidentRepair) reviewLateResults(ctx context.Context, w work) error {
	for ctx.Err() == nil {
		if n, err := r.store.ReviewLateResults(ctx, w.checks(), lateLimit); err != nil || n < lateLimit {
			return err
		}
	}
	return ctx.Err()
}

// lateLimit is the late results of how many checks are looked through at a time.
const lateLimit = 20

// markSilentRegions records which regions became silent or reported again, and has
// the incident workflows of their checks read it. A region that was silent while
// the sweep itself could not read gets time to report.
func (r *incidentRepair) markSilentRegions(ctx context.Context, w work) error {
	since := r.readsSince()
	if since.IsZero() {
		return nil
	}
	silences, err := r.store.Silences(ctx, r.now(), since, w.checks(), passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(silences))
	for i, silence := range silences {
		list[i] = ofRegion(kindSilence, silence.CheckID, silence.Region)
		list[i].do = func(ctx context.Context, lease fleet.SweepLease) error {
			// Marked first, since the workflow reads the mark. If the signal is lost,
			// or no workflow runs, the passes over stalled incidents and unhandled
			// votes repair it.
			if err := r.store.MarkSilence(ctx, lease, silence); err != nil {
				return err
			}
			return r.incidents.Refresh(ctx, silence.CheckID)
		}
	}
	return r.repairs.run(ctx, w, nudgeParallelism, list)
}
