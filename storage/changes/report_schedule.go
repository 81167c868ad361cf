// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type reportScheduleRow struct {
	bun.BaseModel `bun:"table:report_schedules,alias:rs"`

	ID        uuid.UUID   `bun:"id,pk,type:uuid"`
	OrgID     uuid.UUID   `bun:"org_id,type:uuid"`
	Name      string      `bun:"name"`
	Channels  []uuid.UUID `bun:"channel_ids,array"`
	Labels    []string    `bun:"labels,array"`
	Target    float64     `bun:"target"`
	Every     string      `bun:"every"`
	Day       int         `bun:"day"`
	Hour      int         `bun:"hour"`
	Timezone  string      `bun:"timezone"`
	Enabled   bool        `bun:"enabled"`
	NextAt    *time.Time  `bun:"next_at"`
	LastAt    *time.Time  `bun:"last_at"`
	SkippedAt *time.Time  `bun:"skipped_at"`
	Version   int64       `bun:"version"`
	CreatedAt time.Time   `bun:"created_at"`
	UpdatedAt time.Time   `bun:"updated_at"`
}

func rowOfReportSchedule(s *overview.ReportSchedule) *reportScheduleRow {
	return &reportScheduleRow{
		ID: s.ID, OrgID: s.OrgID, Name: s.Name, Channels: append([]uuid.UUID{}, s.Channels...), Labels: append([]string{}, s.Labels...),
		Target: s.Target, Every: string(s.Recurrence.Every), Day: s.Recurrence.Day, Hour: s.Recurrence.Hour, Timezone: s.Recurrence.Timezone,
		Enabled: s.Enabled, NextAt: s.NextAt, LastAt: s.LastAt, SkippedAt: s.SkippedAt, Version: s.Version, CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt,
	}
}

func (r *reportScheduleRow) schedule() overview.ReportSchedule {
	return overview.ReportSchedule{
		ID: r.ID, OrgID: r.OrgID, Name: r.Name, Channels: r.Channels, Labels: r.Labels, Target: r.Target, Enabled: r.Enabled,
		Recurrence: overview.ReportRecurrence{Every: overview.Every(r.Every), Day: r.Day, Hour: r.Hour, Timezone: r.Timezone},
		NextAt:     utc(r.NextAt), LastAt: utc(r.LastAt), SkippedAt: utc(r.SkippedAt), Version: r.Version, CreatedAt: r.CreatedAt.UTC(),
		UpdatedAt: r.UpdatedAt.UTC(),
	}
}

// nextReport returns the first time of a recurrence after an instant. Its errors are CodeInvalid ones.
func nextReport(r *overview.ReportRecurrence, after time.Time) (time.Time, error) {
	if err := r.Validate(); err != nil {
		return time.Time{}, err
	}
	cron := fmt.Sprintf("0 %d %d * *", r.Hour, r.Day)
	switch r.Every {
	case overview.Weekly:
		cron = fmt.Sprintf("0 %d * * %d", r.Hour, r.Day)
	case overview.Quarterly:
		cron = fmt.Sprintf("0 %d %d 1,4,7,10 *", r.Hour, r.Day)
	case overview.Monthly:
	}
	return nextTime(cron, r.Timezone, after)
}

// judgeReportSchedule validates a schedule and fills in when the next report is sent.
func (s *Store) judgeReportSchedule(ctx context.Context, tx bun.Tx, one *overview.ReportSchedule) error {
	next, err := nextReport(&one.Recurrence, s.db.Instant())
	if err != nil {
		return err
	}
	if one.NextAt = nil; one.Enabled {
		one.NextAt = &next
	}
	if _, err := vigil.ParseLabelSelectors("labels", one.Labels); err != nil {
		return err
	}
	var known []uuid.UUID
	err = tx.NewRaw("SELECT id FROM channels WHERE org_id = ? AND id = ANY(?) FOR KEY SHARE", one.OrgID, pgdialect.Array(one.Channels)).
		Scan(ctx, &known)
	if err != nil {
		return fmt.Errorf("find the channels: %w", err)
	}
	for n, id := range one.Channels {
		if !slices.Contains(known, id) {
			return vigil.Invalid(fmt.Sprintf("channel_ids[%d]", n), "is no notification channel of the organization")
		}
	}
	return nil
}

// CreateReportSchedule stores a schedule. A channel that does not exist is a CodeInvalid error, and more than
// overview.MaxReportSchedules of them a CodeConflict error.
func (s *Store) CreateReportSchedule(ctx context.Context, one overview.ReportSchedule) (overview.ReportSchedule, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, one.OrgID); err != nil {
			return err
		}
		now := s.db.Instant()
		one.ID, one.Version, one.CreatedAt, one.UpdatedAt = pg.IDOrNew(one.ID), 1, now, now
		if err := s.judgeReportSchedule(ctx, tx, &one); err != nil {
			return err
		}
		n, err := tx.NewSelect().Model((*reportScheduleRow)(nil)).Where("rs.org_id = ?", one.OrgID).Count(ctx)
		if err != nil {
			return fmt.Errorf("count the schedules: %w", err)
		}
		if n >= overview.MaxReportSchedules {
			return vigil.Errorf(vigil.CodeConflict, "There are %d schedules of reports, and there can be no more.", n)
		}
		if _, err := tx.NewInsert().Model(rowOfReportSchedule(&one)).Exec(ctx); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		return accounts.KeepAnswer(ctx, tx, one)
	})
	if err != nil {
		return overview.ReportSchedule{}, pg.Wrap("create a schedule of reports", err)
	}
	return one, nil
}

// ReportSchedule finds a schedule of the organization. An unknown one is a CodeNotFound error.
func (s *Store) ReportSchedule(ctx context.Context, orgID, id uuid.UUID) (overview.ReportSchedule, error) {
	return readReportSchedule(ctx, s.db.NewSelect(), orgID, id)
}

func readReportSchedule(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (overview.ReportSchedule, error) {
	var row reportScheduleRow
	if err := query.Model(&row).Where("rs.id = ? AND rs.org_id = ?", id, orgID).Scan(ctx); err != nil {
		return overview.ReportSchedule{}, pg.Found("report schedule", err)
	}
	return row.schedule(), nil
}

// ReportSchedules returns a page of an organization's schedules, newest first, and the extent of the list.
func (s *Store) ReportSchedules(
	ctx context.Context, orgID uuid.UUID, page listing.Page,
) ([]overview.ReportSchedule, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[reportScheduleRow]{
		What: "schedules of reports", Alias: "rs", Order: pg.NewestFirst(),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery { return query.Where("rs.org_id = ?", orgID) },
		Position: func(r *reportScheduleRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	return pg.Map(rows, (*reportScheduleRow).schedule), extent, nil
}

// UpdateReportSchedule changes a schedule: change edits a copy of what is stored, and may return an error, which
// UpdateReportSchedule returns unchanged. A change that leaves it equal is none. Errors are those of
// CreateReportSchedule; an unknown one is a CodeNotFound error.
func (s *Store) UpdateReportSchedule(
	ctx context.Context, orgID, id uuid.UUID, change func(*overview.ReportSchedule) error,
) (overview.ReportSchedule, error) {
	var after overview.ReportSchedule
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readReportSchedule(ctx, tx.NewSelect().For("NO KEY UPDATE OF rs"), orgID, id)
		if err != nil {
			return err
		}
		after = before
		if err := change(&after); err != nil {
			return err
		}
		if reflect.DeepEqual(after, before) {
			return nil
		}
		if err := s.judgeReportSchedule(ctx, tx, &after); err != nil {
			return err
		}
		if after.Recurrence == before.Recurrence && after.Enabled == before.Enabled {
			after.NextAt = before.NextAt // also where it is due and was not sent yet
		}
		after.Version, after.UpdatedAt = before.Version+1, s.db.Instant()
		_, err = tx.NewUpdate().Model(rowOfReportSchedule(&after)).WherePK().
			ExcludeColumn("id", "org_id", "created_at", "last_at", "skipped_at").Exec(ctx)
		return pg.Wrap("store", err)
	})
	if err != nil {
		return overview.ReportSchedule{}, pg.Wrap("update a schedule of reports", err)
	}
	return after, nil
}

// DeleteReportSchedule deletes a schedule. An unknown one is a CodeNotFound error, and a version that match does
// not accept a CodePrecondition error.
func (s *Store) DeleteReportSchedule(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readReportSchedule(ctx, tx.NewSelect().For("UPDATE OF rs"), orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check("report schedule", before.Version); err != nil {
			return err
		}
		_, err = tx.NewDelete().Model((*reportScheduleRow)(nil)).Where("id = ?", id).Exec(ctx)
		return pg.Wrap("delete", err)
	})
	return pg.Wrap("delete a schedule of reports", err)
}
