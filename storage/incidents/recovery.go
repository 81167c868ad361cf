// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// recoveryRow is a recovery.
type recoveryRow struct {
	bun.BaseModel `bun:"table:recoveries,alias:rc"`

	ID         uuid.UUID              `bun:"id,pk,type:uuid"`
	OrgID      uuid.UUID              `bun:"org_id,type:uuid"`
	ChannelID  uuid.UUID              `bun:"channel_id,type:uuid"`
	State      string                 `bun:"state"`
	Since      time.Time              `bun:"since"`
	Until      time.Time              `bun:"until"`
	Statuses   []vigil.DeliveryStatus `bun:"statuses,type:jsonb"`
	EventTypes []vigil.EventType      `bun:"event_types,type:jsonb"`
	Total      int                    `bun:"total"`
	Sent       int                    `bun:"sent"`
	Skipped    int                    `bun:"skipped"`
	Failed     int                    `bun:"failed"`
	StartedAt  time.Time              `bun:"started_at"`
	FinishedAt *time.Time             `bun:"finished_at"`
	SteppedAt  time.Time              `bun:"stepped_at"`
}

func (r *recoveryRow) recovery() channelhealth.Recovery {
	return channelhealth.Recovery{
		ID: r.ID, OrgID: r.OrgID, ChannelID: r.ChannelID, State: channelhealth.RecoveryState(r.State), Since: r.Since.UTC(), Until: r.Until.UTC(),
		Statuses: r.Statuses, EventTypes: r.EventTypes, Total: r.Total, Sent: r.Sent, Skipped: r.Skipped, Failed: r.Failed,
		StartedAt: r.StartedAt.UTC(), FinishedAt: r.FinishedAt,
	}
}

// BeginRecovery stores a recovery with the deliveries that it selects. It has ended when there are
// none. CodeNotFound: the organization has no such channel. CodeConflict: the channel is disabled,
// or a recovery of it runs, whose id is in the details. More than channelhealth.MaxRecovery deliveries are a
// CodeInvalid error.
func (s *Store) BeginRecovery(ctx context.Context, r channelhealth.Recovery) (channelhealth.Recovery, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var enabled bool
		err := tx.NewRaw("SELECT enabled FROM channels WHERE id = ? AND org_id = ? FOR SHARE", r.ChannelID, r.OrgID).Scan(ctx, &enabled)
		if err != nil {
			return pg.Found("channel", err)
		}
		if !enabled {
			return vigil.Errorf(vigil.CodeConflict, "The channel is disabled. Enable it before sending what it did not get.")
		}
		now := s.db.Instant()
		row := recoveryRow{
			ID: pg.IDOrNew(r.ID), OrgID: r.OrgID, ChannelID: r.ChannelID, State: string(channelhealth.RecoveryRunning), Since: pg.Micro(r.Since),
			Until: pg.Micro(r.Until), Statuses: r.Statuses, EventTypes: append([]vigil.EventType{}, r.EventTypes...),
			StartedAt: now, SteppedAt: now,
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		if row.Total, err = addItems(ctx, tx, &row); err != nil {
			return err
		}
		if row.Total > channelhealth.MaxRecovery {
			return vigil.Invalid("since", "selects more than %d deliveries: choose a shorter time", channelhealth.MaxRecovery)
		}
		if row.Total == 0 {
			row.State, row.FinishedAt = string(channelhealth.RecoveryDone), &now
		}
		if _, err := tx.NewUpdate().Model(&row).WherePK().Column("total", "state", "finished_at").Exec(ctx); err != nil {
			return fmt.Errorf("count: %w", err)
		}
		r = row.recovery()
		return accounts.KeepAnswer(ctx, tx, r)
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.ConstraintName == "recoveries_running_key" {
		return channelhealth.Recovery{}, s.recoveryRuns(ctx, r.ChannelID)
	}
	return r, pg.Wrap("begin a recovery", err)
}

// recoveryRuns is the refusal of a second recovery of a channel.
func (s *Store) recoveryRuns(ctx context.Context, channel uuid.UUID) error {
	refused := vigil.Errorf(vigil.CodeConflict, "A recovery of this channel runs. Wait until it has ended, or cancel it.")
	var id uuid.UUID
	err := s.db.NewRaw("SELECT id FROM recoveries WHERE channel_id = ? AND state = 'running'", channel).Scan(ctx, &id)
	if err == nil {
		refused.Details = map[string]any{"recovery_id": id}
	}
	return refused
}

// addItems stores the deliveries that a recovery selects, one more than it may have at most: incident after
// incident, by the age of its first delivery, and those of one in the order of their events.
func addItems(ctx context.Context, tx bun.Tx, r *recoveryRow) (int, error) {
	opens := []string{string(vigil.EventTriggered), string(vigil.EventUnobserved)}
	res, err := tx.NewRaw(`INSERT INTO recovery_items (recovery_id, position, delivery_id, incident_id, state)
		SELECT ?recovery, row_number() OVER (ORDER BY first, incident_id, later, created_at, address, id), id, incident_id, 'waiting' FROM (
			SELECT d.id, d.incident_id, d.created_at, d.address, d.event_type <> ALL(?opens::text[]) AS later,
				min(d.created_at) OVER (PARTITION BY d.incident_id) AS first
			FROM deliveries AS d
			WHERE d.channel_id = ?channel AND d.org_id = ?org AND d.created_at >= ?since AND d.created_at < ?until
				AND d.status = ANY(?statuses::text[])
				AND (cardinality(?types::text[]) = 0 OR d.event_type = ANY(?types::text[])) AND `+checkOfDelivery+`
			LIMIT ?limit
		) AS selected`,
		pg.Named{
			"recovery": r.ID, "opens": pgdialect.Array(opens), "channel": r.ChannelID, "org": r.OrgID, "since": r.Since, "until": r.Until,
			"statuses": pgdialect.Array(texts(r.Statuses)), "types": pgdialect.Array(texts(r.EventTypes)), "limit": channelhealth.MaxRecovery + 1,
		}).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("select the deliveries: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// texts returns words as texts, never nil.
func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// Recovery returns a recovery of a channel of the organization.
func (s *Store) Recovery(ctx context.Context, orgID, channelID, id uuid.UUID) (channelhealth.Recovery, error) {
	var row recoveryRow
	err := s.db.NewSelect().Model(&row).Where("rc.id = ? AND rc.channel_id = ? AND rc.org_id = ?", id, channelID, orgID).Scan(ctx)
	if err != nil {
		return channelhealth.Recovery{}, pg.Found("recovery", err)
	}
	return row.recovery(), nil
}

// Recoveries lists the recoveries of a channel of the organization, newest first. CodeNotFound: it
// has no such channel.
func (s *Store) Recoveries(
	ctx context.Context, orgID, channelID uuid.UUID, page listing.Page,
) ([]channelhealth.Recovery, listing.Extent, error) {
	var own bool
	err := s.db.NewRaw("SELECT EXISTS (SELECT FROM channels WHERE id = ? AND org_id = ?)", channelID, orgID).Scan(ctx, &own)
	if err != nil {
		return nil, listing.Extent{}, pg.Wrap("list recoveries", err)
	}
	if !own {
		return nil, listing.Extent{}, vigil.NotFound("channel")
	}
	rows, extent, err := pg.SmallRows[recoveryRow]{
		What: "recoveries", Alias: "rc", Order: pg.Newest("started_at"),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery {
			return query.Where("rc.org_id = ? AND rc.channel_id = ?", orgID, channelID)
		},
		Position: func(r *recoveryRow) listing.PagePosition { return pg.TimePosition(r.StartedAt, r.ID) },
	}.Page(ctx, s.db, page)
	return recoveriesOf(rows), extent, err
}

// CancelRecovery ends a recovery of a channel of the organization, and returns it. What was requested and has
// not begun is withdrawn. One that has ended stays as it is.
func (s *Store) CancelRecovery(ctx context.Context, orgID, channelID, id uuid.UUID) (channelhealth.Recovery, error) {
	var row recoveryRow
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		err := tx.NewSelect().Model(&row).Where("rc.id = ? AND rc.channel_id = ? AND rc.org_id = ?", id, channelID, orgID).
			For("UPDATE").Scan(ctx)
		if err != nil {
			return pg.Found("recovery", err)
		}
		if row.State != string(channelhealth.RecoveryRunning) {
			return nil
		}
		return s.withdraw(ctx, tx, &row)
	})
	return row.recovery(), pg.Wrap("cancel a recovery", err)
}

// withdraw ends a recovery, whose row is locked, before it is done.
func (s *Store) withdraw(ctx context.Context, tx bun.Tx, r *recoveryRow) error {
	now := s.db.Instant()
	_, err := tx.NewRaw(`UPDATE deliveries AS d SET redeliver = false, updated_at = ? FROM recovery_items AS i
		WHERE i.recovery_id = ? AND i.state = 'requested' AND d.id = i.delivery_id AND d.redeliver AND d.attempts = i.attempts`, now, r.ID).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("withdraw what was requested: %w", err)
	}
	r.State, r.FinishedAt, r.SteppedAt = string(channelhealth.RecoveryCanceled), &now, now
	return storeRecovery(ctx, tx, r)
}

func storeRecovery(ctx context.Context, tx bun.Tx, r *recoveryRow) error {
	_, err := tx.NewUpdate().Model(r).WherePK().Column("state", "sent", "skipped", "failed", "finished_at", "stepped_at").Exec(ctx)
	return pg.Wrap("store a recovery", err)
}

// StalledRecoveries returns recoveries that run, and on which no workflow has worked since a time.
func (s *Store) StalledRecoveries(ctx context.Context, before time.Time, limit int) ([]channelhealth.Recovery, error) {
	var rows []recoveryRow
	err := s.db.NewSelect().Model(&rows).Where("rc.state = 'running' AND rc.stepped_at < ?", pg.Micro(before)).
		OrderExpr("rc.stepped_at").Limit(int64(limit)).Scan(ctx)
	return recoveriesOf(rows), pg.Wrap("find stalled recoveries", err)
}

func recoveriesOf(rows []recoveryRow) []channelhealth.Recovery {
	return pg.Map(rows, (*recoveryRow).recovery)
}
