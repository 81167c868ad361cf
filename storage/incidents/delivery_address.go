// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// addressRow is the config of a channel, sealed, with which attempts of a delivery are
// made. An opening has one for each address that its attempts went to, a recovery its own.
type addressRow struct {
	bun.BaseModel `bun:"table:delivery_addresses,alias:da"`

	ID         uuid.UUID       `bun:"id,pk,type:uuid"`
	DeliveryID uuid.UUID       `bun:"delivery_id,type:uuid"`
	ChannelID  uuid.UUID       `bun:"channel_id,type:uuid"`
	Type       string          `bun:"type"`
	Config     json.RawMessage `bun:"config,type:jsonb"`
	CreatedAt  time.Time       `bun:"created_at"`
}

// open returns the config with its secrets in plaintext.
func (r *addressRow) open(s *Store) (json.RawMessage, error) {
	config, err := s.definitions.Keyring.OpenSecrets(s.definitions.Secrets.Channel(vigil.ChannelType(r.Type)), r.Config)
	if err != nil {
		return nil, fmt.Errorf("open the address of delivery %s: %w", r.DeliveryID, err)
	}
	return config, nil
}

// sameAddress reports whether two configs agree in the members that a policy names.
func sameAddress(p vigil.DeliveryPolicy, a, b json.RawMessage) bool {
	var left, right map[string]json.RawMessage
	if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(p.Address), func(member string) bool {
		return !definitions.SameConfig(orNull(left[member]), orNull(right[member]))
	})
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// keepAddress records where an attempt of an opening goes, where the recovery must go there
// too. It is a part of the transaction that stores the attempt, so that an attempt whose
// answer is lost has its address.
func (s *Store) keepAddress(ctx context.Context, tx bun.Tx, row *deliveryRow, now time.Time) error {
	if row.Policy.Address == "" || !vigil.EventType(row.EventType).Opens() {
		return nil
	}
	next := addressRow{ID: uuid.New(), DeliveryID: row.ID, ChannelID: row.ChannelID, CreatedAt: now}
	err := tx.NewRaw("SELECT type, config FROM channels WHERE id = ?", row.ChannelID).Scan(ctx, &next.Type, &next.Config)
	if pg.IsNoRow(err) {
		return nil // deleted since it was looked for; the sender finds that out as well
	}
	if err != nil {
		return fmt.Errorf("read the address: %w", err)
	}
	known, err := addressesOf(ctx, tx, row.ID)
	if err != nil {
		return err
	}
	switch at, err := s.addressAt(row.Policy, known, &next); {
	case err != nil: // the attempt cannot read it either, and says so
		s.db.Log.WarnContext(ctx, "the address of an attempt is not kept", "delivery", row.ID, "error", err)
		return nil
	case at >= 0:
		return nil
	}
	if _, err := tx.NewInsert().Model(&next).Exec(ctx); err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	return nil
}

// addressAt returns the index of the row with the same address, or -1.
func (s *Store) addressAt(p vigil.DeliveryPolicy, rows []addressRow, of *addressRow) (int, error) {
	config, err := of.open(s)
	if err != nil {
		return -1, err
	}
	for i := range rows {
		other, err := rows[i].open(s)
		if err != nil {
			return -1, err
		}
		if sameAddress(p, other, config) {
			return i, nil
		}
	}
	return -1, nil
}

// addressesOf reads the addresses of a delivery, the first one first.
func addressesOf(ctx context.Context, db bun.IDB, delivery uuid.UUID) ([]addressRow, error) {
	var rows []addressRow
	err := db.NewSelect().Model(&rows).Where("da.delivery_id = ?", delivery).OrderExpr("da.created_at, da.id").Scan(ctx)
	return rows, pg.Wrap("read the addresses of a delivery", err)
}

// openingAddresses reads, for the end of an incident or of a time without results, the addresses
// that the openings to its recipients went to, by channel, the last one first. There are some of channels only whose
// policy asks for it. Those of a channel that is not notified of the end stay with its opening.
func openingAddresses(ctx context.Context, tx bun.Tx, e *vigil.Event, to []vigil.Recipient) (map[uuid.UUID][]addressRow, error) {
	var asking []uuid.UUID
	for _, r := range to {
		if r.Policy.Address != "" {
			asking = append(asking, r.ChannelID)
		}
	}
	if !e.Type.Ends() || len(asking) == 0 {
		return nil, nil
	}
	var rows []addressRow
	err := tx.NewSelect().Model(&rows).Join("JOIN deliveries AS d ON d.id = da.delivery_id").
		Where("d.incident_id = ? AND d.event_type IN (?, ?) AND d.channel_id = ANY(?)", e.IncidentID,
			string(vigil.EventTriggered), string(vigil.EventUnobserved), pgdialect.Array(asking)).
		OrderExpr("da.created_at DESC, da.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the addresses of the openings: %w", err)
	}
	by := make(map[uuid.UUID][]addressRow)
	for _, row := range rows {
		by[row.ChannelID] = append(by[row.ChannelID], row)
	}
	return by, nil
}

// DeliveryChannel returns the channel of a delivery as an attempt uses it, its secrets in
// clear. A recovery that must go where its opening went has the config of that time, unless
// the channel still leads there: then templates and credentials are those of now. former is
// true for a config that is not the channel's any more. CodeNotFound: the channel was deleted.
func (s *Store) DeliveryChannel(ctx context.Context, d vigil.Delivery) (channel vigil.Channel, former bool, err error) {
	channel, err = s.definitions.Channel(ctx, d.OrgID, d.ChannelID)
	if err != nil || d.Policy.Address == "" {
		return channel, false, err
	}
	rows, err := addressesOf(ctx, s.db, d.ID)
	if err != nil || len(rows) == 0 {
		return channel, false, err
	}
	for i := range rows {
		config, err := rows[i].open(s)
		if err != nil {
			return channel, false, pg.Wrap("read the address", err)
		}
		if sameAddress(d.Policy, config, channel.Config) {
			return channel, false, nil
		}
		if i == len(rows)-1 {
			channel.Config = config
		}
	}
	return channel, true, nil
}
