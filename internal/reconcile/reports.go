// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// reportStore has the schedules of reports. Every call may be repeated.
type reportStore interface {
	// DueReportSchedules returns schedules whose time has come, and RunReportSchedule stores the report of one, with its
	// deliveries, whose workflows the sweep starts as those of every system event.
	DueReportSchedules(ctx context.Context, limit int) ([]overview.ReportSchedule, error)
	RunReportSchedule(ctx context.Context, orgID, id uuid.UUID) error
}

// runReportSchedules sends the reports of schedules whose time has come.
func (s *Sweep) runReportSchedules(ctx context.Context, w work) error {
	due, err := s.reports.DueReportSchedules(ctx, passLimit)
	if err != nil {
		return err
	}
	list := make([]repair, len(due))
	for i, schedule := range due {
		list[i] = repair{common: true, check: schedule.ID, kind: "report schedule", id: schedule.ID.String()}
		list[i].do = func(ctx context.Context, _ fleet.SweepLease) error {
			return s.reports.RunReportSchedule(ctx, schedule.OrgID, schedule.ID)
		}
	}
	return s.repairs.run(ctx, w, startParallelism, list)
}
