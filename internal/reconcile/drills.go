// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// drillStore has the drills that the sweep looks after. Every call may be repeated.
type drillStore interface {
	// StalledDrills returns drills without progress, or that should have ended.
	StalledDrills(ctx context.Context, limit int) ([]drills.Stalled, error)
	StartDrill(ctx context.Context, orgID, id uuid.UUID) error
	CloseDrill(ctx context.Context, id uuid.UUID) error
	// DueDrillSchedules returns schedules whose time has come, and RunDrillSchedule stores the drill of
	// one; nil: there is none.
	DueDrillSchedules(ctx context.Context, limit int) ([]drills.Schedule, error)
	RunDrillSchedule(ctx context.Context, orgID, id uuid.UUID) (*drills.Drill, error)
}

// runDrillSchedules begins the drills of schedules whose time has come. One whose workflow is not
// started here is stalled, and repairDrills starts it.
func (s *Sweep) runDrillSchedules(ctx context.Context, w work) error {
	due, err := s.drills.DueDrillSchedules(ctx, passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(due))
	for i, schedule := range due {
		list[i] = repair{common: true, check: schedule.ID, kind: "drill schedule", id: schedule.ID.String()}
		list[i].do = func(ctx context.Context, _ fleet.SweepLease) error {
			drill, err := s.drills.RunDrillSchedule(ctx, schedule.OrgID, schedule.ID)
			if err != nil || drill == nil {
				return err
			}
			return s.drills.StartDrill(ctx, drill.OrgID, drill.ID)
		}
	}
	return s.repairs.run(ctx, w, startParallelism, list)
}

// repairDrills starts the workflows of drills again that were lost, and closes the drills that
// should have ended.
func (s *Sweep) repairDrills(ctx context.Context, w work) error {
	stalled, err := s.drills.StalledDrills(ctx, passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(stalled))
	for i, drill := range stalled {
		list[i] = repair{common: true, check: drill.ID, kind: "drill", id: drill.ID.String()}
		list[i].do = func(ctx context.Context, _ fleet.SweepLease) error {
			if drill.Old {
				return s.drills.CloseDrill(ctx, drill.ID)
			}
			return s.drills.StartDrill(ctx, drill.OrgID, drill.ID)
		}
	}
	return s.repairs.run(ctx, w, startParallelism, list)
}
