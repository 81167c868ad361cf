// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// DueReportSchedules returns up to limit schedules whose time has come, the longest due first.
func (s *Store) DueReportSchedules(ctx context.Context, limit int) ([]overview.ReportSchedule, error) {
	var rows []reportScheduleRow
	err := s.db.NewSelect().Model(&rows).Where("rs.next_at <= ?", s.db.Instant()).OrderExpr("rs.next_at, rs.id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("find due schedules of reports", err)
	}
	return pg.Map(rows, (*reportScheduleRow).schedule), nil
}

// RunReportSchedule sends the report of a schedule whose time has come: it stores the event with its deliveries in
// the transaction that moves the schedule on, so that each time has one. When several times have come while the
// platform was away, only the newest has a report. publicURL is the address of the platform for links; it may be
// empty.
func (s *Store) RunReportSchedule(ctx context.Context, orgID, id uuid.UUID, publicURL string) error {
	schedule, err := s.ReportSchedule(ctx, orgID, id)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	now := s.db.Instant()
	if err != nil || schedule.NextAt == nil || schedule.NextAt.After(now) {
		return err
	}
	at, skipped, next, err := dueReport(&schedule, now)
	if err != nil {
		return pg.Wrap("run a schedule of reports", err)
	}
	about, err := s.scheduledReport(ctx, &schedule, at, now, publicURL)
	if err != nil {
		return pg.Wrap("make a scheduled report", err)
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, orgID); err != nil {
			if vigil.ErrorCode(err) == vigil.CodeUnauthorized {
				return nil // it is being deleted
			}
			return err
		}
		known, err := readReportSchedule(ctx, tx.NewSelect().For("NO KEY UPDATE OF rs"), orgID, id)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return nil
		}
		if err != nil || known.Version != schedule.Version || known.NextAt == nil || !known.NextAt.Equal(*schedule.NextAt) {
			return err // another process sent it, or it was changed: the next pass looks again
		}
		_, err = tx.NewRaw("UPDATE report_schedules SET next_at = ?, last_at = ?, skipped_at = coalesce(?, skipped_at) WHERE id = ?",
			next, at, skipped, id).Exec(ctx)
		if err != nil {
			return err
		}
		return s.incidents.PublishSystemTo(ctx, tx, about, schedule.Channels)
	})
	return pg.Wrap("run a schedule of reports", err)
}

// dueReport returns the newest time that has come, the one before it where that is left out, and the next one.
func dueReport(schedule *overview.ReportSchedule, now time.Time) (at time.Time, skipped *time.Time, next time.Time, err error) {
	at = *schedule.NextAt
	for {
		if next, err = nextReport(&schedule.Recurrence, at); err != nil || next.After(now) {
			return at, skipped, next, err
		}
		before := at
		at, skipped = next, &before
	}
}

// scheduledReport makes the report of a time of a schedule.
func (s *Store) scheduledReport(
	ctx context.Context, schedule *overview.ReportSchedule, at, now time.Time, publicURL string,
) (events.SystemContent, error) {
	labels, err := vigil.ParseLabelSelectors("labels", schedule.Labels)
	if err != nil {
		return events.SystemContent{}, err
	}
	var worst events.WorstChecks
	query := overview.ReportQuery{Span: schedule.Recurrence.Span(at), Labels: labels}
	report, err := s.results.Report(ctx, schedule.OrgID, query, func(row *overview.ReportRow) error {
		worst.Add(row)
		return nil
	})
	if err != nil {
		return events.SystemContent{}, err
	}
	return events.ReportReady(schedule, &report, worst, at, now, publicURL), nil
}
