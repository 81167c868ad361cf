// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type healthRow struct {
	bun.BaseModel `bun:"table:channel_health,alias:h"`

	ChannelID       uuid.UUID  `bun:"channel_id,pk,type:uuid"`
	State           string     `bun:"state"`
	Failures        int        `bun:"failures"`
	Since           *time.Time `bun:"since"`
	Episode         *uuid.UUID `bun:"episode,type:uuid"`
	LastDeliveredAt *time.Time `bun:"last_delivered_at"`
	LastError       string     `bun:"last_error"`
}

func (r *healthRow) health() vigil.ChannelHealth {
	h := vigil.ChannelHealth{State: vigil.ChannelState(r.State), Failures: r.Failures, LastError: r.LastError}
	if r.Since != nil {
		h.Since = r.Since.UTC()
	}
	if r.Episode != nil {
		h.Episode = *r.Episode
	}
	if r.LastDeliveredAt != nil {
		h.LastDeliveredAt = new(r.LastDeliveredAt.UTC())
	}
	return h
}

// ChannelHealths returns how the messages of channels arrive, by channel. One that has had no
// message is missing.
func (s *Store) ChannelHealths(ctx context.Context, orgID uuid.UUID, channels []uuid.UUID) (map[uuid.UUID]vigil.ChannelHealth, error) {
	if len(channels) == 0 {
		return nil, nil
	}
	var rows []healthRow
	err := s.db.NewSelect().Model(&rows).Where("h.org_id = ? AND h.channel_id = ANY(?)", orgID, pgdialect.Array(channels)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read the health of channels", err)
	}
	known := make(map[uuid.UUID]vigil.ChannelHealth, len(rows))
	for i := range rows {
		known[rows[i].ChannelID] = rows[i].health()
	}
	return known, nil
}

// channelSight is what an attempt changes about its channel.
type channelSight struct {
	turn          vigil.ChannelTurn
	before, after vigil.ChannelHealth
}

// see stores what an attempt shows of a channel. It locks the health of the channel, and after
// that nothing but places and the stream may be locked. A channel that was deleted has none.
func (s *Store) see(ctx context.Context, tx bun.Tx, orgID, channel uuid.UUID, seen vigil.ChannelSeen) (channelSight, error) {
	var sight channelSight
	if !seen.Delivered && !seen.Failed && !seen.GivenUp && !seen.Gone {
		return sight, nil
	}
	row, found, err := s.lockHealth(ctx, tx, channel)
	if err == nil && !found {
		// The row of the channel is locked against its deletion, which the reference does as well.
		_, err = tx.NewRaw(`INSERT INTO channel_health (channel_id, org_id)
			SELECT id, org_id FROM channels WHERE id = ? AND org_id = ? FOR KEY SHARE ON CONFLICT DO NOTHING`, channel, orgID).Exec(ctx)
		if err != nil {
			return sight, fmt.Errorf("begin the health of a channel: %w", err)
		}
		row, found, err = s.lockHealth(ctx, tx, channel)
	}
	if err != nil || !found {
		return sight, err
	}
	sight.before = row.health()
	sight.after, sight.turn = sight.before.After(channel, seen)
	after := &sight.after
	err = s.db.SteadyExec(ctx, tx, `UPDATE channel_health
		SET state = $2, failures = $3, since = $4, episode = $5::text::uuid, last_delivered_at = $6, last_error = $7 WHERE channel_id = $1`,
		channel, string(after.State), after.Failures, vigil.NilIfZero(after.Since), textOrNil(after.Episode), after.LastDeliveredAt,
		after.LastError)
	return sight, pg.Wrap("store the health of a channel", err)
}

func textOrNil(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return new(id.String())
}

// lockHealth reads the health of a channel and locks it.
func (s *Store) lockHealth(ctx context.Context, tx bun.Tx, channel uuid.UUID) (row healthRow, found bool, err error) {
	var rows []healthRow
	err = s.db.SteadyIn(ctx, tx, &rows,
		"SELECT "+pg.ModelColumns[healthRow](s.db, "h")+" FROM channel_health AS h WHERE h.channel_id = $1 FOR NO KEY UPDATE", channel)
	if err != nil || len(rows) == 0 {
		return row, false, pg.Wrap("lock the health of a channel", err)
	}
	return rows[0], true, nil
}
