// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// MakeDefaultDrills makes the schedule of drills that the operator's organization has by default, for its
// first channel that is enabled, is no pager, falls back to none and is not one that d leaves out. It does
// so once in the life of the organization, also with several processes, and not at all where there is a
// schedule already. It reports whether that is settled; false: there is no such channel yet. The first drill
// is a day later at the earliest. region is that of CreateDrill.
func (s *Store) MakeDefaultDrills(ctx context.Context, d drills.Defaults, region string) (settled bool, err error) {
	var orgs []uuid.UUID
	// Most calls end here: nothing is locked where there is nothing to make.
	err = s.db.NewRaw(`SELECT o.id FROM users AS u JOIN organizations AS o ON o.id = u.org_id
		WHERE u.operator AND o.deleted_at IS NULL AND o.default_drills_at IS NULL`).Scan(ctx, &orgs)
	if err != nil || len(orgs) == 0 {
		return err == nil, pg.Wrap("look for the operator's organization", err)
	}
	org := orgs[0]
	if channel, err := firstChannel(ctx, s.db, org, d.Except); err != nil || channel == uuid.Nil {
		return false, pg.Wrap("look for a channel to drill", err)
	}
	entry := &audit.Entry{Action: "drill_schedule.create", UserAgent: "vigil up"} // without an organization it is not stored
	err = s.db.InTx(audit.NewContext(ctx, entry), func(ctx context.Context, tx bun.Tx) error {
		made, err := s.makeDefaultDrills(ctx, tx, org, d, region)
		if made != uuid.Nil {
			entry.OrgID, entry.ResourceID = org, made
		}
		settled = err == nil
		return err
	})
	if code := vigil.ErrorCode(err); code == vigil.CodeInvalid || code == vigil.CodeUnauthorized {
		return false, nil // the channel, or the organization, is gone meanwhile
	}
	return settled && err == nil, pg.Wrap("make the schedule of drills by default", err)
}

// makeDefaultDrills stores the schedule, and that the organization had it. It returns the ID; zero: another
// process was faster, or there are schedules.
func (s *Store) makeDefaultDrills(ctx context.Context, tx bun.Tx, org uuid.UUID, d drills.Defaults, region string) (uuid.UUID, error) {
	if _, err := accounts.LockOrganization(ctx, tx, org); err != nil {
		return uuid.Nil, err
	}
	now := s.db.Instant()
	marked, err := tx.NewRaw("UPDATE organizations SET default_drills_at = ? WHERE id = ? AND default_drills_at IS NULL", now, org).Exec(ctx)
	if err != nil {
		return uuid.Nil, fmt.Errorf("note that it is made: %w", err)
	}
	if n, err := marked.RowsAffected(); err != nil || n == 0 {
		return uuid.Nil, err
	}
	if n, err := countSchedules(ctx, tx, org); err != nil || n > 0 {
		return uuid.Nil, err
	}
	channel, err := firstChannel(ctx, tx, org, d.Except)
	if err != nil {
		return uuid.Nil, err
	}
	one := drills.Schedule{
		ID: uuid.Must(uuid.NewV7()), OrgID: org, Name: d.Name, Recurrence: d.Recurrence, Enabled: true,
		Request: drills.Request{
			ChannelIDs: []uuid.UUID{channel}, Regions: d.Regions, Severity: vigil.Info, ExpectWithin: drills.DefaultExpect,
		},
	}
	if err := s.beginSchedule(ctx, tx, &one, region); err != nil {
		return uuid.Nil, err
	}
	// Who has just created a first channel is not surprised by a drill of it.
	next, err := nextDrill(&one.Recurrence, now.Add(drills.MinDefaultDelay))
	if err != nil {
		return uuid.Nil, err
	}
	one.NextAt = &next
	return one.ID, insertSchedule(ctx, tx, &one)
}

// firstChannel returns the oldest channel of an organization that is drilled by default; zero: there is none.
func firstChannel(ctx context.Context, db bun.IDB, org uuid.UUID, except vigil.ManagedBy) (uuid.UUID, error) {
	var ids []uuid.UUID
	err := db.NewRaw(`SELECT ch.id FROM channels AS ch WHERE ch.org_id = ?0 AND ch.enabled AND ch.type <> ?1
		AND (ch.managed_tool, ch.managed_project) IS DISTINCT FROM (?2, ?3)
		AND NOT EXISTS (SELECT FROM channels AS f WHERE f.id = ch.fallback_channel_id AND f.org_id = ch.org_id AND f.enabled AND f.type = ?1)
		ORDER BY ch.created_at, ch.id LIMIT 1`,
		org, string(vigil.ChannelPager), except.Tool, except.Project).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return uuid.Nil, err
	}
	return ids[0], nil
}
