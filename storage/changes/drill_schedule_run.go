// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// DueDrillSchedules returns up to limit schedules whose time has come, by id.
func (s *Store) DueDrillSchedules(ctx context.Context, limit int) (due []drills.Schedule, err error) {
	var rows []drillScheduleRow
	err = s.db.NewSelect().Model(&rows).Where("ds.next_at <= ?", s.db.Instant()).OrderExpr("ds.next_at").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("find due schedules of drills", err)
	}
	due = make([]drills.Schedule, len(rows))
	for i := range rows {
		if due[i], err = rows[i].schedule(); err != nil {
			return nil, pg.Wrap("find due schedules of drills", err)
		}
	}
	return due, nil
}

// RunDrillSchedule stores the drill of a schedule whose time has come, in the transaction that moves
// the schedule on, so that each time has one. It returns the drill, whose workflow is to be started;
// nil: there is none. A time that is more than a day ago is skipped. While another drill of a channel
// runs, the time stays due. A drill that cannot be, since what the schedule names is gone or the plan
// allows no more, is stored without channels: it fails, and the owners are mailed.
func (s *Store) RunDrillSchedule(ctx context.Context, orgID, id uuid.UUID, region string) (drill *drills.Drill, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, orgID)
		if vigil.ErrorCode(err) == vigil.CodeUnauthorized {
			return nil // it is being deleted
		}
		if err != nil {
			return err
		}
		schedule, err := readDrillSchedule(ctx, tx.NewSelect().For("NO KEY UPDATE OF ds"), orgID, id)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return nil
		}
		now := s.db.Instant()
		if err != nil || schedule.NextAt == nil || schedule.NextAt.After(now) {
			return err
		}
		at := *schedule.NextAt
		next, err := nextDrill(&schedule.Recurrence, now)
		if err != nil {
			return err
		}
		if now.Sub(at) > drills.MaxDelay {
			return moveSchedule(ctx, tx, id, next, &at)
		}
		planned := drills.Drill{
			ID: drills.ScheduledID(id, at), OrgID: orgID, Request: schedule.Request, RequestedBy: "Schedule: " + schedule.Name,
			AskedAt: now, State: drills.Asked,
		}
		err = s.prepareDrill(ctx, tx, &planned, region)
		if err == nil {
			err = judgeDrill(ctx, tx, &planned, tier)
		}
		switch vigil.ErrorCode(err) {
		case vigil.CodeConflict:
			return nil
		case vigil.CodeInvalid, vigil.CodePlanLimit:
			planned.Channels, planned.Rules, planned.Regions = []drills.Channel{}, []vigil.Rule{}, []string{region}
			planned.Request.Refused = vigil.ErrorMessage(err)
		default:
			if err != nil {
				return err
			}
		}
		if err := insertScheduled(ctx, tx, &planned, id); err != nil {
			return err
		}
		drill = &planned
		return moveSchedule(ctx, tx, id, next, nil)
	})
	if err != nil {
		return nil, pg.Wrap("run a schedule of drills", err)
	}
	return drill, nil
}

func insertScheduled(ctx context.Context, tx bun.Tx, drill *drills.Drill, schedule uuid.UUID) error {
	row, err := rowOfDrill(drill)
	if err != nil {
		return err
	}
	row.ChannelIDs = append([]uuid.UUID{}, row.ChannelIDs...)
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	_, err = tx.NewRaw("UPDATE drills SET schedule_id = ? WHERE id = ?", schedule, drill.ID).Exec(ctx)
	return pg.Wrap("name the schedule", err)
}

// moveSchedule stores when a schedule runs next, and the time that was skipped.
func moveSchedule(ctx context.Context, tx bun.Tx, id uuid.UUID, next time.Time, skipped *time.Time) error {
	_, err := tx.NewRaw("UPDATE drill_schedules SET next_at = ?, skipped_at = coalesce(?, skipped_at) WHERE id = ?", next, skipped, id).
		Exec(ctx)
	return pg.Wrap("move a schedule", err)
}
