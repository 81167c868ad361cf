// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type drillScheduleRow struct {
	bun.BaseModel `bun:"table:drill_schedules,alias:ds"`

	ID        uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID     uuid.UUID       `bun:"org_id,type:uuid"`
	Name      string          `bun:"name"`
	Request   json.RawMessage `bun:"request,type:jsonb"`
	Every     string          `bun:"every"`
	Day       int             `bun:"day"`
	Hour      int             `bun:"hour"`
	Timezone  string          `bun:"timezone"`
	Enabled   bool            `bun:"enabled"`
	NextAt    *time.Time      `bun:"next_at"`
	SkippedAt *time.Time      `bun:"skipped_at"`
	Version   int64           `bun:"version"`
	CreatedAt time.Time       `bun:"created_at"`
	UpdatedAt time.Time       `bun:"updated_at"`

	LastID      *uuid.UUID `bun:"last_id,type:uuid,scanonly"`
	LastVerdict *string    `bun:"last_verdict,scanonly"`
	LastAt      *time.Time `bun:"last_at,scanonly"`
}

// lastOfSchedule is SQL about a row of drill_schedules: its last drill that has ended.
const lastOfSchedule = `LEFT JOIN LATERAL (SELECT dr.id AS last_id, dr.verdict AS last_verdict, dr.closed_at AS last_at FROM drills AS dr
	WHERE dr.schedule_id = ds.id AND dr.state = 'closed' ORDER BY dr.asked_at DESC LIMIT 1) AS last ON true`

func rowOfDrillSchedule(s *drills.Schedule) (*drillScheduleRow, error) {
	request, err := json.Marshal(s.Request)
	if err != nil {
		return nil, fmt.Errorf("encode the request of a schedule: %w", err)
	}
	return &drillScheduleRow{
		ID: s.ID, OrgID: s.OrgID, Name: s.Name, Request: request, Every: string(s.Recurrence.Every), Day: s.Recurrence.Day,
		Hour: s.Recurrence.Hour, Timezone: s.Recurrence.Timezone, Enabled: s.Enabled, NextAt: s.NextAt, SkippedAt: s.SkippedAt,
		Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}, nil
}

func (r *drillScheduleRow) schedule() (drills.Schedule, error) {
	s := drills.Schedule{
		ID: r.ID, OrgID: r.OrgID, Name: r.Name, Enabled: r.Enabled, NextAt: utc(r.NextAt), SkippedAt: utc(r.SkippedAt),
		Recurrence: drills.Recurrence{Every: drills.Every(r.Every), Day: r.Day, Hour: r.Hour, Timezone: r.Timezone},
		Version:    r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.LastID != nil && r.LastVerdict != nil && r.LastAt != nil {
		s.Last = &drills.Ended{DrillID: *r.LastID, Verdict: drills.Verdict(*r.LastVerdict), At: r.LastAt.UTC()}
	}
	if err := json.Unmarshal(r.Request, &s.Request); err != nil {
		return s, fmt.Errorf("decode the request of schedule %s: %w", r.ID, err)
	}
	return s, nil
}

// drillLength is the length of an occurrence, which a schedule of maintenance has and one of drills
// does not need.
const drillLength = time.Minute

// nextDrill returns the first time of a recurrence after an instant. Its errors are CodeInvalid ones.
func nextDrill(r *drills.Recurrence, after time.Time) (time.Time, error) {
	if err := r.Validate(); err != nil {
		return time.Time{}, err
	}
	if _, ok := vigil.LoadZone(r.Timezone); !ok {
		return time.Time{}, vigil.Invalid("recurrence.timezone", "must be the name of an IANA time zone, such as Europe/Berlin or UTC")
	}
	cron := fmt.Sprintf("0 %d %d * *", r.Hour, r.Day)
	if r.Every == drills.Weekly {
		cron = fmt.Sprintf("0 %d * * %d", r.Hour, r.Day)
	}
	return nextTime(cron, r.Timezone, after)
}

// nextTime returns the first time of a cron expression after an instant, by the clocks of a time zone.
func nextTime(cron, timezone string, after time.Time) (time.Time, error) {
	schedule := maintenance.Schedule{
		StartsAt: after.UTC().AddDate(0, 0, -2), Timezone: timezone, Duration: drillLength, Cron: cron,
	}
	for o := range schedule.Occurrences(after) {
		if o.StartsAt.After(after) {
			return o.StartsAt, nil
		}
	}
	return time.Time{}, vigil.Invalid("recurrence", "never occurs")
}

// judgeSchedule validates a schedule as a drill that it would run now, and fills in when the next one
// does.
func (s *Store) judgeSchedule(ctx context.Context, tx bun.Tx, one *drills.Schedule, region string) error {
	next, err := nextDrill(&one.Recurrence, s.db.Instant())
	if err != nil {
		return err
	}
	if one.NextAt = nil; one.Enabled {
		one.NextAt = &next
	}
	drill := drills.Drill{ID: one.ID, OrgID: one.OrgID, Request: one.Request}
	return s.prepareDrill(ctx, tx, &drill, region)
}

// CreateDrillSchedule stores a schedule. What it names and does not exist is a CodeInvalid error, and
// more than drills.MaxSchedules of them a CodeConflict error. region is that of CreateDrill.
func (s *Store) CreateDrillSchedule(ctx context.Context, one drills.Schedule, region string) (drills.Schedule, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, one.OrgID); err != nil {
			return err
		}
		if err := s.beginSchedule(ctx, tx, &one, region); err != nil {
			return err
		}
		n, err := countSchedules(ctx, tx, one.OrgID)
		if err != nil {
			return err
		}
		if n >= drills.MaxSchedules {
			return vigil.Errorf(vigil.CodeConflict, "There are %d schedules of drills, and there can be no more.", n)
		}
		if err := insertSchedule(ctx, tx, &one); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, one)
	})
	if err != nil {
		return drills.Schedule{}, pg.Wrap("create a schedule of drills", err)
	}
	return one, nil
}

// beginSchedule gives a new schedule what it has at first, and judges it.
func (s *Store) beginSchedule(ctx context.Context, tx bun.Tx, one *drills.Schedule, region string) error {
	now := s.db.Instant()
	one.ID, one.Version, one.CreatedAt, one.UpdatedAt = pg.IDOrNew(one.ID), 1, now, now
	return s.judgeSchedule(ctx, tx, one, region)
}

func countSchedules(ctx context.Context, tx bun.Tx, org uuid.UUID) (int64, error) {
	n, err := tx.NewSelect().Model((*drillScheduleRow)(nil)).Where("ds.org_id = ?", org).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the schedules: %w", err)
	}
	return n, nil
}

func insertSchedule(ctx context.Context, tx bun.Tx, one *drills.Schedule) error {
	row, err := rowOfDrillSchedule(one)
	if err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return nil
}

// DrillSchedule finds a schedule of the organization. An unknown one is a CodeNotFound error.
func (s *Store) DrillSchedule(ctx context.Context, orgID, id uuid.UUID) (drills.Schedule, error) {
	return readDrillSchedule(ctx, s.db.NewSelect(), orgID, id)
}

func readDrillSchedule(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (drills.Schedule, error) {
	var row drillScheduleRow
	err := query.Model(&row).ColumnExpr("ds.*, last.*").Join(lastOfSchedule).Where("ds.id = ? AND ds.org_id = ?", id, orgID).Scan(ctx)
	if err != nil {
		return drills.Schedule{}, pg.Found("drill schedule", err)
	}
	return row.schedule()
}

// DrillSchedules returns a page of an organization's schedules, newest first, and the extent of the
// list.
func (s *Store) DrillSchedules(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]drills.Schedule, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[drillScheduleRow]{
		What: "schedules of drills", Alias: "ds", Order: pg.NewestFirst(),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery { return query.Where("ds.org_id = ?", orgID) },
		Position: func(r *drillScheduleRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	list := make([]drills.Schedule, len(rows))
	for i := range rows { // an organization has few
		if list[i], err = s.DrillSchedule(ctx, orgID, rows[i].ID); err != nil {
			if vigil.ErrorCode(err) != vigil.CodeNotFound {
				return nil, listing.Extent{}, pg.Wrap("list the schedules of drills", err)
			}
			if list[i], err = rows[i].schedule(); err != nil { // it was deleted meanwhile
				return nil, listing.Extent{}, pg.Wrap("list the schedules of drills", err)
			}
		}
	}
	return list, extent, nil
}

// UpdateDrillSchedule changes a schedule: change edits a copy of what is stored, and may return an
// error, which UpdateDrillSchedule returns unchanged. A change that leaves it equal is none. Errors are those of CreateDrillSchedule; an
// unknown one is a CodeNotFound error.
func (s *Store) UpdateDrillSchedule(
	ctx context.Context, orgID, id uuid.UUID, region string, change func(*drills.Schedule) error,
) (drills.Schedule, error) {
	var after drills.Schedule
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readDrillSchedule(ctx, tx.NewSelect().For("NO KEY UPDATE OF ds"), orgID, id)
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
		if err := s.judgeSchedule(ctx, tx, &after, region); err != nil {
			return err
		}
		if after.Recurrence == before.Recurrence && after.Enabled == before.Enabled {
			after.NextAt = before.NextAt // also where it is due and has not run yet
		}
		after.Version, after.UpdatedAt = before.Version+1, s.db.Instant()
		row, err := rowOfDrillSchedule(&after)
		if err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "created_at", "skipped_at").Exec(ctx)
		return pg.Wrap("store", err)
	})
	if err != nil {
		return drills.Schedule{}, pg.Wrap("update a schedule of drills", err)
	}
	return after, nil
}

// DeleteDrillSchedule deletes a schedule; its drills stay. An unknown one is a CodeNotFound error, and
// a version that match does not accept a CodePrecondition error.
func (s *Store) DeleteDrillSchedule(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readDrillSchedule(ctx, tx.NewSelect().For("UPDATE OF ds"), orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check("drill schedule", before.Version); err != nil {
			return err
		}
		_, err = tx.NewDelete().Model((*drillScheduleRow)(nil)).Where("id = ?", id).Exec(ctx)
		return pg.Wrap("delete", err)
	})
	return pg.Wrap("delete a schedule of drills", err)
}
