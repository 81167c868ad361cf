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
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/events"
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

func (r *healthRow) health() channelhealth.Health {
	h := channelhealth.Health{State: channelhealth.State(r.State), Failures: r.Failures, LastError: r.LastError}
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
func (s *Store) ChannelHealths(ctx context.Context, orgID uuid.UUID, channels []uuid.UUID) (map[uuid.UUID]channelhealth.Health, error) {
	if len(channels) == 0 {
		return nil, nil
	}
	var rows []healthRow
	err := s.db.NewSelect().Model(&rows).Where("h.org_id = ? AND h.channel_id = ANY(?)", orgID, pgdialect.Array(channels)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read the health of channels", err)
	}
	known := make(map[uuid.UUID]channelhealth.Health, len(rows))
	for i := range rows {
		known[rows[i].ChannelID] = rows[i].health()
	}
	return known, nil
}

// channelSight is what an attempt changes about its channel.
type channelSight struct {
	turn          channelhealth.Turn
	before, after channelhealth.Health
}

// see stores what an attempt shows of a channel. It locks the health of the channel, and after
// that nothing but places and the stream may be locked. A channel that was deleted has none.
func (s *Store) see(ctx context.Context, tx bun.Tx, orgID, channel uuid.UUID, seen channelhealth.Seen) (channelSight, error) {
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
	err = pg.Exec(ctx, s.db.In(tx), `UPDATE channel_health
		SET state = @state, failures = @failures, since = @since, episode = @episode::text::uuid, last_delivered_at = @last_delivered_at,
			last_error = @last_error
		WHERE channel_id = @channel`,
		pg.Named{
			"channel": channel, "state": string(after.State), "failures": after.Failures, "since": vigil.NilIfZero(after.Since),
			"episode": textOrNil(after.Episode), "last_delivered_at": after.LastDeliveredAt, "last_error": after.LastError,
		})
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
	rows, err := pg.Rows[healthRow](ctx, s.db.In(tx),
		"SELECT "+pg.ModelColumns[healthRow](s.db, "h")+" FROM channel_health AS h WHERE h.channel_id = $1 FOR NO KEY UPDATE", channel)
	if err != nil || len(rows) == 0 {
		return row, false, pg.Wrap("lock the health of a channel", err)
	}
	return rows[0], true, nil
}

// consequences are what follows from the outcome of an attempt.
type consequences struct {
	pending []vigil.PendingDelivery // to the fallback of the channel
	events  []events.SystemContent  // to publish at the end of the transaction
}

// follow stores what an outcome means for the channel: how it does, whether another one gets the
// message in its place, and whether the owners are to be mailed.
func (s *Store) follow(
	ctx context.Context, tx bun.Tx, row *deliveryRow, outcome *vigil.AttemptOutcome, exhausted bool, now time.Time,
) (consequences, error) {
	var instead fallback
	if exhausted {
		var err error
		if instead, err = s.fallBack(ctx, tx, []deliveryRow{*row}, now); err != nil {
			return consequences{}, err
		}
	}
	seen := channelhealth.SeenOf(outcome, exhausted, now)
	sight, err := s.see(ctx, tx, row.OrgID, row.ChannelID, seen)
	if err != nil {
		return consequences{}, err
	}
	switch {
	case exhausted || seen.Gone || sight.turn == channelhealth.TurnFailing:
		news := channelNews{row: row, gone: seen.Gone, since: now, reason: vigil.CleanText(outcome.Attempt.Error)}
		if !sight.after.Since.IsZero() {
			news.since, news.reason = sight.after.Since, sight.after.LastError
		}
		if exhausted {
			news.lost, news.fellBack = 1, instead.made
		}
		err = noteOwners(ctx, tx, &news, now)
	case sight.turn == channelhealth.TurnRecovered:
		err = calmOwners(ctx, tx, row.ChannelID, now)
	}
	if err != nil {
		return consequences{}, err
	}
	events, err := s.eventsOf(ctx, tx, row, outcome, &sight, &instead, exhausted, now)
	return consequences{pending: instead.pending, events: events}, err
}

// eventsOf makes the events about an outcome. That a message about something like it was given
// up is no event of its own: there would be another one about that.
func (s *Store) eventsOf(
	ctx context.Context, tx bun.Tx, row *deliveryRow, outcome *vigil.AttemptOutcome, sight *channelSight, instead *fallback,
	exhausted bool, now time.Time,
) ([]events.SystemContent, error) {
	exhausted = exhausted && !vigil.EventType(row.EventType).System()
	if !exhausted && sight.turn == channelhealth.TurnNone {
		return nil, nil
	}
	channel, err := instead.from, error(nil)
	if channel.ID == uuid.Nil { // nothing was to go to its fallback
		channel, err = namedChannel(ctx, tx, row.ChannelID)
	}
	if err != nil {
		return nil, err
	}
	if channel.ID == uuid.Nil { // deleted
		channel = vigil.Channel{ID: row.ChannelID, Name: row.ChannelName, Type: vigil.ChannelType(row.ChannelType)}
	}
	channel.OrgID = row.OrgID
	if outcome.Gone && !outcome.Former {
		channel.Enabled = false // it is disabled after this transaction
	}
	made := sight.events(&channel, outcome.PublicURL, now)
	if !exhausted {
		return made, nil
	}
	about := events.ExhaustedDelivery{
		Delivery: row.delivery(), Error: vigil.CleanText(outcome.Attempt.Error), Channel: channel, Health: sight.after, Fallback: instead.channel,
	}
	err = tx.NewRaw("SELECT title FROM events WHERE id = ?", row.EventID).Scan(ctx, &about.Title)
	if err != nil && !pg.IsNoRow(err) {
		return nil, fmt.Errorf("read the title: %w", err)
	}
	return append(made, events.DeliveryExhausted(&about, outcome.PublicURL, now)), nil
}

// events are those about a change of the state of a channel.
func (c *channelSight) events(channel *vigil.Channel, publicURL string, now time.Time) []events.SystemContent {
	switch c.turn {
	case channelhealth.TurnFailing:
		return []events.SystemContent{events.ChannelFailing(channel, c.after, publicURL, now)}
	case channelhealth.TurnRecovered:
		return []events.SystemContent{events.ChannelRecovered(channel, c.before, c.after, publicURL, now)}
	case channelhealth.TurnNone:
	}
	return nil
}

// namedRow is what an event says of a channel.
type namedRow struct {
	OrgID    uuid.UUID  `bun:"org_id,type:uuid"`
	Name     string     `bun:"name"`
	Type     string     `bun:"type"`
	Enabled  bool       `bun:"enabled"`
	Fallback *uuid.UUID `bun:"fallback_channel_id,type:uuid"`
}

func (r *namedRow) channel(id uuid.UUID) vigil.Channel {
	channel := vigil.Channel{ID: id, OrgID: r.OrgID, Name: r.Name, Type: vigil.ChannelType(r.Type), Enabled: r.Enabled}
	if r.Fallback != nil {
		channel.Fallback = *r.Fallback
	}
	return channel
}

// namedChannel reads what an event says of a channel; the zero value is of one that is deleted.
func namedChannel(ctx context.Context, tx bun.Tx, id uuid.UUID) (vigil.Channel, error) {
	var rows []namedRow
	err := tx.NewRaw("SELECT org_id, name, type, enabled, fallback_channel_id FROM channels WHERE id = ?", id).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return vigil.Channel{}, pg.Wrap("read the channel", err)
	}
	return rows[0].channel(id), nil
}

// ChannelReached records that a message arrived that is no delivery, such as a test: a channel
// that fails has recovered by it. publicURL is the address of the platform, for the link in the
// event.
func (s *Store) ChannelReached(ctx context.Context, orgID, channelID uuid.UUID, publicURL string) error {
	err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		now := s.db.Instant()
		sight, err := s.see(ctx, tx, orgID, channelID, channelhealth.Seen{At: now, Delivered: true})
		if err != nil || sight.turn == channelhealth.TurnNone {
			return err
		}
		if err := calmOwners(ctx, tx, channelID, now); err != nil {
			return err
		}
		channel, err := namedChannel(ctx, tx, channelID)
		if err != nil || channel.ID == uuid.Nil {
			return err
		}
		return s.publishAll(ctx, tx, sight.events(&channel, publicURL, now))
	})
	return pg.Wrap("record that a channel was reached", err)
}

// publishAll publishes system events. Like publish, it must come last in a transaction.
func (s *Store) publishAll(ctx context.Context, tx bun.Tx, events []events.SystemContent) error {
	for i := range events {
		if err := s.PublishSystem(ctx, tx, events[i]); err != nil {
			return err
		}
	}
	return nil
}
