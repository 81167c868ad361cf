// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxAlsoNotified bounds the names that a message lists.
const maxAlsoNotified = 20

// AlsoNotified returns the names of the other channels that the event of a delivery is sent to, sorted, and no more
// than 20.
func (s *Store) AlsoNotified(ctx context.Context, d vigil.Delivery) ([]string, error) {
	type named struct{ Name string }
	rows, err := pg.Rows[named](ctx, s.db, `SELECT DISTINCT c.name FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id
		WHERE d.event_id = $1 AND d.org_id = $2 AND d.channel_id <> $3 ORDER BY c.name LIMIT $4`,
		d.EventID, d.OrgID, d.ChannelID, maxAlsoNotified)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	return names, pg.Wrap("read who else is notified", err)
}

// Notified returns an incident of which a channel was notified, and the name of the channel; CodeNotFound where it was not,
// and when the channel was deleted or disabled since.
func (s *Store) Notified(ctx context.Context, incidentID, channelID uuid.UUID) (vigil.Incident, string, error) {
	type found struct {
		OrgID uuid.UUID
		Name  string
	}
	rows, err := pg.Rows[found](ctx, s.db, `SELECT d.org_id, c.name FROM deliveries AS d
		JOIN channels AS c ON c.id = d.channel_id AND c.enabled
		WHERE d.incident_id = $1 AND d.channel_id = $2 LIMIT 1`, incidentID, channelID)
	if err != nil {
		return vigil.Incident{}, "", pg.Wrap("read a notified incident", err)
	}
	if len(rows) == 0 {
		return vigil.Incident{}, "", vigil.NotFound("incident")
	}
	incident, err := s.Incident(ctx, rows[0].OrgID, incidentID)
	return incident, rows[0].Name, err
}
