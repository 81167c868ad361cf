// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// fallback is what became of messages that a channel could not deliver.
type fallback struct {
	from    vigil.Channel // that could not; zero: it was not read, or is deleted
	channel vigil.Channel // that got them; zero: there is none
	made    int           // messages that it had not got already
	pending []vigil.PendingDelivery
}

// fallBack gives deliveries of one incident to one channel, which have ended without being
// delivered, to the fallback of the channel, each once. What is itself in the place of another
// delivery goes no further. Where the end of an opening is known, the fallback gets that too;
// an end that comes later finds it in insertDeliveries.
func (s *Store) fallBack(ctx context.Context, tx bun.Tx, failed []deliveryRow, now time.Time) (fallback, error) {
	var out fallback
	failed = slices.DeleteFunc(slices.Clone(failed), func(r deliveryRow) bool { return r.FallbackFor != nil })
	if len(failed) == 0 {
		return out, nil
	}
	head := &failed[0]
	var to struct {
		namedRow
		FallbackType string `bun:"to_type"`
		FallbackName string `bun:"to_name"`
		Usable       bool   `bun:"usable"`
	}
	err := tx.NewRaw(`SELECT c.org_id, c.name, c.type, c.enabled, c.fallback_channel_id, f.id IS NOT NULL AS usable,
			coalesce(f.type, '') AS to_type, coalesce(f.name, '') AS to_name
		FROM channels AS c LEFT JOIN channels AS f ON f.id = c.fallback_channel_id AND f.org_id = c.org_id AND f.enabled
		WHERE c.id = ?`, head.ChannelID).Scan(ctx, &to)
	if pg.IsNoRow(err) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read the fallback: %w", err)
	}
	out.from = to.channel(head.ChannelID)
	if !to.Usable {
		return out, nil
	}
	out.channel = vigil.Channel{ID: out.from.Fallback, OrgID: head.OrgID, Name: to.FallbackName, Type: vigil.ChannelType(to.FallbackType)}
	policy := s.policies.Of(out.channel.Type)
	instead := func(of deliveryRow) deliveryRow {
		return deliveryRow{
			ID: vigil.DeliveryID(of.EventID, out.channel.ID), OrgID: of.OrgID, EventID: of.EventID, EventType: of.EventType,
			IncidentID: of.IncidentID, CheckID: of.CheckID, ChannelID: out.channel.ID, ChannelType: to.FallbackType, ChannelName: to.FallbackName,
			Policy: policy, TraceID: of.TraceID, Orphaned: of.Orphaned, Status: string(vigil.DeliveryPending),
			CreatedAt: now, UpdatedAt: now, SweptAt: now,
			FallbackFor: &vigil.FallbackFor{ChannelID: of.ChannelID, ChannelName: of.ChannelName, DeliveryID: of.ID},
		}
	}
	rows := make([]deliveryRow, 0, len(failed)+1)
	for _, one := range failed {
		rows = append(rows, instead(one))
		if !vigil.EventType(one.EventType).Opens() {
			continue
		}
		ends, err := s.endsOf(ctx, tx, &one, policy.Merges())
		if err != nil {
			return out, err
		}
		for _, end := range ends {
			rows = append(rows, instead(end))
		}
	}
	res, err := tx.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return out, fmt.Errorf("insert the deliveries to the fallback: %w", err)
	}
	made, err := res.RowsAffected()
	if err != nil || made == 0 {
		return out, err
	}
	out.made = len(failed)
	var checkName string
	if err := tx.NewRaw("SELECT name FROM checks WHERE id = ?", head.CheckID).Scan(ctx, &checkName); err != nil && !pg.IsNoRow(err) {
		return out, fmt.Errorf("read the check: %w", err)
	}
	out.pending = []vigil.PendingDelivery{rows[0].pendingDelivery(checkName)}
	return out, nil
}

// endsOf returns the deliveries of the end of what a delivery opened, to the same channel, one
// for each event. With merges the end is found also where the channel was not to get it.
func (s *Store) endsOf(ctx context.Context, tx bun.Tx, opening *deliveryRow, merges bool) ([]deliveryRow, error) {
	var ends []deliveryRow
	err := tx.NewSelect().Model(&ends).ExcludeColumn("body").
		Where("d.incident_id = ? AND d.channel_id = ? AND d.event_id <> ?", opening.IncidentID, opening.ChannelID, opening.EventID).
		OrderExpr("d.event_id, d.address").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the end: %w", err)
	}
	ends = slices.DeleteFunc(ends, func(r deliveryRow) bool { return r.Address != 0 || !vigil.EventType(r.EventType).Ends() })
	if len(ends) > 0 || !merges {
		return ends, nil
	}
	var events []eventRow
	err = tx.NewSelect().Model(&events).Column("id", "type").Where("e.incident_id = ?", opening.IncidentID).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the event of the end: %w", err)
	}
	for _, e := range events {
		if vigil.EventType(e.Type).Ends() {
			end := *opening
			end.EventID, end.EventType = e.ID, e.Type
			ends = append(ends, end)
		}
	}
	return ends, nil
}

// withFallbacks adds to the recipients of an end the channels that got the beginning in the place
// of others. The deliveries of the beginning that are pending are locked.
func withFallbacks(ctx context.Context, tx bun.Tx, e *vigil.Event, to []vigil.Recipient) ([]vigil.Recipient, error) {
	if !e.Type.Ends() {
		return to, nil
	}
	var rows []deliveryRow
	err := tx.NewSelect().Model(&rows).Column("channel_id", "channel_type", "channel_name", "policy", "status", "event_type", "fallback_for").
		Where("d.incident_id = ? AND d.fallback_for IS NOT NULL AND d.event_id <> ?", e.IncidentID, e.ID).
		OrderExpr("d.created_at, d.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read who got the beginning: %w", err)
	}
	var openings []channelhealth.FallbackOpening
	for _, r := range rows {
		if vigil.EventType(r.EventType).Opens() {
			openings = append(openings, channelhealth.FallbackOpening{
				Recipient: vigil.Recipient{
					ChannelID: r.ChannelID, Type: vigil.ChannelType(r.ChannelType), Name: r.ChannelName, Policy: r.Policy, FallbackFor: r.FallbackFor,
				},
				Pending: r.Status == string(vigil.DeliveryPending),
			})
		}
	}
	return channelhealth.FallbackRecipients(to, openings, e.ID), nil
}

// fallBackCanceled gives what was canceled because the receiver of a channel is gone to the
// fallback of the channel, and notes it for the mail to the owners.
func (s *Store) fallBackCanceled(
	ctx context.Context, tx bun.Tx, box []deliveryRow, canceled []uuid.UUID, now time.Time,
) ([]vigil.PendingDelivery, error) {
	if len(canceled) == 0 {
		return nil, nil
	}
	var gone []string
	err := tx.NewRaw("SELECT disabled_reason FROM channels WHERE id = ? AND NOT enabled AND disabled_reason <> ''", box[0].ChannelID).
		Scan(ctx, &gone)
	if err != nil || len(gone) == 0 {
		return nil, pg.Wrap("read why the channel is disabled", err)
	}
	lost := slices.DeleteFunc(slices.Clone(box), func(r deliveryRow) bool { return !slices.Contains(canceled, r.ID) })
	out, err := s.fallBack(ctx, tx, lost, now)
	if err != nil {
		return nil, err
	}
	return out.pending, noteOwners(ctx, tx, &channelNews{
		row: &lost[0], gone: true, since: now, reason: gone[0], lost: len(lost), fellBack: out.made,
	}, now)
}

// SweepDeliveriesSoon makes the pending deliveries of a channel due at once, in the transaction that disables it because its
// receiver is gone: they need not wait for their next attempt to be canceled and given to the fallback.
func SweepDeliveriesSoon(ctx context.Context, tx bun.Tx, channelID uuid.UUID) error {
	_, err := tx.NewRaw(`UPDATE deliveries AS d SET next_attempt_at = NULL, swept_at = 'epoch', sweep_wait_ms = 0
		FROM (SELECT id FROM deliveries WHERE channel_id = ? AND status = 'pending' ORDER BY id FOR NO KEY UPDATE) AS l
		WHERE d.id = l.id`, channelID).Exec(ctx)
	return pg.Wrap("have the deliveries of a channel swept", err)
}
