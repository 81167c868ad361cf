// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// A delivery needs a place for each attempt. Places are shares of an organization and
// of a channel, over all processes. A delivery without a free place waits in the order
// of arrival; the transaction that frees a place admits the next one, whose workflow
// is then signaled. Rows of delivery_places change only under the lock of the
// organization, so that transactions never wait for each other in a circle.
const (
	// maxInFlight and maxInFlightOfOrg bound the attempts in flight to one channel
	// and of one organization.
	maxInFlight      = 8
	maxInFlightOfOrg = 64
	// placeTimeout is the age at which a place without an outcome is free again.
	placeTimeout = time.Minute
	// placesKept is how long the place of a deleted delivery is kept.
	placesKept = 10 * time.Minute
)

// placeKey identifies the place of the deliveries of an incident to a channel.
type placeKey struct {
	IncidentID uuid.UUID `bun:"incident_id"`
	ChannelID  uuid.UUID `bun:"channel_id"`
}

func (r *deliveryRow) place() placeKey { return placeKey{r.IncidentID, r.ChannelID} }

// enterPlaces enters the gate of the organization of the deliveries with this value in a column,
// if there are any.
func (s *Store) enterPlaces(ctx context.Context, column string, id uuid.UUID) (leave func(), err error) {
	var orgID uuid.UUID
	err = s.db.NewRaw("SELECT org_id FROM deliveries WHERE ? = ? LIMIT 1", bun.Ident(column), id).Scan(ctx, &orgID)
	if pg.IsNoRow(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the organization: %w", err)
	}
	return s.places.enter(ctx, orgID)
}

// lockPlaces serializes the changes of an organization's places until the end of the
// transaction.
func lockPlaces(ctx context.Context, tx bun.Tx, orgID uuid.UUID) error {
	return pg.Wrap("lock the organization's deliveries", pg.LockName(ctx, tx, placeLock(orgID)))
}

func placeLock(orgID uuid.UUID) string { return "deliveries/" + orgID.String() }

// takePlace requests a place for an attempt and reports whether it holds one. It
// returns the other deliveries that it admitted: their workflows must be signaled.
func (s *Store) takePlace(ctx context.Context, tx bun.Tx, row *deliveryRow, now time.Time) (bool, []vigil.PendingDelivery, error) {
	if err := lockPlaces(ctx, tx, row.OrgID); err != nil {
		return false, nil, err
	}
	// A place that was granted counts from the start of the attempt. One that was
	// granted too long ago has been given away; the position in the order is kept.
	var held *time.Time
	err := tx.NewRaw(`INSERT INTO delivery_places AS p (incident_id, channel_id, org_id, queued_at) VALUES (?incident, ?channel, ?org, ?now)
		ON CONFLICT (incident_id, channel_id) DO UPDATE SET admitted_at = CASE WHEN p.admitted_at > ?expired THEN ?now::timestamptz END
		RETURNING admitted_at`,
		pg.Named{
			"incident": row.IncidentID, "channel": row.ChannelID, "org": row.OrgID, "now": now, "expired": now.Add(-placeTimeout),
		}).Scan(ctx, &held)
	if err != nil {
		return false, nil, fmt.Errorf("request a place: %w", err)
	}
	admitted, err := s.admit(ctx, tx, row.OrgID, now)
	if err != nil {
		return false, nil, err
	}
	others := slices.DeleteFunc(slices.Clone(admitted), func(key placeKey) bool { return key == row.place() })
	signal, err := s.admittedDeliveries(ctx, tx, row.OrgID, others, now)
	return held != nil || len(others) < len(admitted), signal, err
}

// freePlace frees the place that the deliveries of a row hold or wait for, and returns
// the deliveries that it admitted.
func (s *Store) freePlace(ctx context.Context, tx bun.Tx, row *deliveryRow, now time.Time) ([]vigil.PendingDelivery, error) {
	if err := lockPlaces(ctx, tx, row.OrgID); err != nil {
		return nil, err
	}
	_, err := tx.NewRaw("DELETE FROM delivery_places WHERE incident_id = ? AND channel_id = ?", row.IncidentID, row.ChannelID).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("free a place: %w", err)
	}
	admitted, err := s.admit(ctx, tx, row.OrgID, now)
	if err != nil {
		return nil, err
	}
	return s.admittedDeliveries(ctx, tx, row.OrgID, admitted, now)
}

// freeUnused is freePlace for deliveries that may have no place.
func (s *Store) freeUnused(ctx context.Context, tx bun.Tx, row *deliveryRow, now time.Time) ([]vigil.PendingDelivery, error) {
	var exists bool
	err := tx.NewRaw("SELECT EXISTS (SELECT FROM delivery_places WHERE incident_id = ? AND channel_id = ?)", row.IncidentID, row.ChannelID).
		Scan(ctx, &exists)
	if err != nil || !exists {
		return nil, pg.Wrap("look for a place", err)
	}
	return s.freePlace(ctx, tx, row, now)
}

// admit gives the free places of an organization to waiting deliveries: first to the
// channels with the fewest in flight, within a channel in the order of arrival. Only
// the first few of each channel are read, however many wait.
func (s *Store) admit(ctx context.Context, tx bun.Tx, orgID uuid.UUID, now time.Time) ([]placeKey, error) {
	admitted, err := pg.Rows[placeKey](ctx, s.db.In(tx), `
		WITH RECURSIVE held AS (
			SELECT channel_id, count(*) AS n FROM delivery_places WHERE org_id = @org AND admitted_at > @expired GROUP BY channel_id
		), waiting AS (
			(SELECT channel_id FROM delivery_places WHERE org_id = @org AND admitted_at IS NULL ORDER BY channel_id LIMIT 1)
			UNION ALL
			SELECT (SELECT p.channel_id FROM delivery_places AS p
				WHERE p.org_id = @org AND p.admitted_at IS NULL AND p.channel_id > w.channel_id ORDER BY p.channel_id LIMIT 1)
			FROM waiting AS w WHERE w.channel_id IS NOT NULL
		), next AS (
			SELECT first.incident_id, w.channel_id FROM waiting AS w LEFT JOIN held AS h USING (channel_id)
			CROSS JOIN LATERAL (
				SELECT p.incident_id, p.position, coalesce(h.n, 0) + row_number() OVER (ORDER BY p.position) AS share
				FROM delivery_places AS p WHERE p.org_id = @org AND p.channel_id = w.channel_id AND p.admitted_at IS NULL
				ORDER BY p.position LIMIT greatest(@per_channel - coalesce(h.n, 0), 0)
			) AS first
			ORDER BY first.share, first.position LIMIT greatest(@per_org - (SELECT coalesce(sum(n), 0) FROM held), 0)
		)
		UPDATE delivery_places AS p SET admitted_at = @now FROM next
		WHERE p.incident_id = next.incident_id AND p.channel_id = next.channel_id
		RETURNING p.incident_id, p.channel_id`,
		pg.Named{
			"org": orgID, "now": now, "expired": now.Add(-placeTimeout), "per_channel": maxInFlight, "per_org": maxInFlightOfOrg,
		})
	return admitted, pg.Wrap("admit deliveries", err)
}

// admittedDeliveries reads the deliveries of places. Places without a pending delivery
// go to others.
func (s *Store) admittedDeliveries(
	ctx context.Context,
	tx bun.Tx,
	orgID uuid.UUID,
	keys []placeKey,
	now time.Time,
) ([]vigil.PendingDelivery, error) {
	var list []vigil.PendingDelivery
	for len(keys) > 0 {
		found, err := placedDeliveries(ctx, tx, keys)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		if len(found) == len(keys) {
			return list, nil
		}
		if err := deletePlaces(ctx, tx, slices.DeleteFunc(keys, func(key placeKey) bool {
			return slices.ContainsFunc(found, func(d vigil.PendingDelivery) bool {
				return d.IncidentID == key.IncidentID && d.ChannelID == key.ChannelID
			})
		})); err != nil {
			return nil, err
		}
		if keys, err = s.admit(ctx, tx, orgID, now); err != nil {
			return nil, err
		}
	}
	return list, nil
}

const placesOf = "unnest(?::uuid[], ?::uuid[]) AS k (incident_id, channel_id)"

func columnsOf(keys []placeKey) []any {
	incidents, channels := make([]uuid.UUID, len(keys)), make([]uuid.UUID, len(keys))
	for i, key := range keys {
		incidents[i], channels[i] = key.IncidentID, key.ChannelID
	}
	return []any{pgdialect.Array(incidents), pgdialect.Array(channels)}
}

// placedDeliveries reads one unfinished delivery for each place: a place is that of an outbox, whose
// deliveries are sent one after the other.
func placedDeliveries(ctx context.Context, tx bun.Tx, keys []placeKey) ([]vigil.PendingDelivery, error) {
	var rows []namedDeliveryRow
	err := tx.NewRaw(`SELECT DISTINCT ON (d.incident_id, d.channel_id) d.incident_id, d.channel_id, d.org_id, d.check_id,
			d.channel_type, d.channel_name, `+checkNameOfDelivery+` AS check_name
		FROM `+placesOf+` JOIN deliveries AS d USING (incident_id, channel_id)
		WHERE d.status = 'pending' OR d.redeliver ORDER BY d.incident_id, d.channel_id`, columnsOf(keys)...).Scan(ctx, &rows)
	return pendingDeliveriesOf(rows), pg.Wrap("read admitted deliveries", err)
}

// deletePlaces frees places, however long they were held.
func deletePlaces(ctx context.Context, tx bun.Tx, keys []placeKey) error {
	_, err := tx.NewRaw("DELETE FROM delivery_places AS p USING "+placesOf+
		" WHERE p.incident_id = k.incident_id AND p.channel_id = k.channel_id", columnsOf(keys)...).Exec(ctx)
	return pg.Wrap("delete places", err)
}

// AdmitDeliveries admits waiting deliveries where places became free without an
// outcome, because their time was over. It returns those whose workflows must be
// signaled, about limit at most.
func (s *Store) AdmitDeliveries(ctx context.Context, limit int) ([]vigil.PendingDelivery, error) {
	now := s.db.Instant()
	if _, err := s.db.NewRaw("DELETE FROM delivery_places WHERE admitted_at < ?", now.Add(-placesKept)).Exec(ctx); err != nil {
		return nil, pg.Wrap("delete old places", err)
	}
	var orgs []uuid.UUID
	err := s.db.NewRaw("SELECT DISTINCT org_id FROM delivery_places WHERE admitted_at IS NULL ORDER BY org_id").Scan(ctx, &orgs)
	if err != nil {
		return nil, pg.Wrap("find waiting deliveries", err)
	}
	var list []vigil.PendingDelivery
	for _, org := range orgs {
		if len(list) >= limit {
			return list, nil
		}
		admitted, err := s.admitOf(ctx, org)
		if err != nil {
			return list, err
		}
		list = append(list, admitted...)
	}
	return list, nil
}

// admitOf is admit for an organization whose places no other transaction changes.
func (s *Store) admitOf(ctx context.Context, orgID uuid.UUID) ([]vigil.PendingDelivery, error) {
	var list []vigil.PendingDelivery
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var locked bool
		err := tx.NewRaw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))", placeLock(orgID)).Scan(ctx, &locked)
		if err != nil || !locked {
			return pg.Wrap("lock the organization's deliveries", err)
		}
		now := s.db.Instant()
		keys, err := s.admit(ctx, tx, orgID, now)
		if err != nil {
			return err
		}
		list, err = s.admittedDeliveries(ctx, tx, orgID, keys, now)
		return err
	})
	return list, pg.Wrap("admit deliveries", err)
}
