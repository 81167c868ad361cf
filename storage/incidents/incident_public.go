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
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// errTooManyUpdates reports an incident that has as many updates as it can have.
func errTooManyUpdates() error {
	return vigil.Errorf(vigil.CodeConflict, "The incident has %d public updates already, and cannot have more.", overview.MaxIncidentUpdates)
}

// CreateIncidentUpdate stores a public update of an incident of the organization with its event, and
// returns the deliveries to the channels that are subscribed to it; publicURL is the address of the
// platform for links. An unknown incident is a CodeNotFound error; more than
// overview.MaxIncidentUpdates are a CodeConflict error.
func (s *Store) CreateIncidentUpdate(
	ctx context.Context, u overview.IncidentUpdate, publicURL string,
) (overview.IncidentUpdate, []vigil.PendingDelivery, error) {
	u.ID, u.CreatedAt = pg.IDOrNew(u.ID), pg.TimeOrDefault(u.CreatedAt, s.db.Instant())
	var pending []vigil.PendingDelivery
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		c := incidentChange{db: s, tx: tx}
		var checkID, id uuid.UUID
		err := tx.NewRaw("SELECT i.check_id, i.id FROM incidents AS i WHERE i.id = ? AND i.org_id = ? AND "+shownIncident,
			u.IncidentID, u.OrgID).Scan(ctx, &checkID, &id)
		if err != nil {
			return pg.Found("incident", err)
		}
		if c.check, c.org, err = s.lockForIncident(ctx, tx, checkID); err != nil {
			return pg.Found("incident", err)
		}
		if err := selectTraced(tx, &c.row).Where("i.id = ?", id).For("NO KEY UPDATE").Scan(ctx); err != nil {
			return pg.Found("incident", err)
		}
		var n int
		if err := tx.NewRaw("SELECT count(*) FROM incident_updates WHERE incident_id = ?", id).Scan(ctx, &n); err != nil {
			return fmt.Errorf("count the updates: %w", err)
		}
		if n >= overview.MaxIncidentUpdates {
			return errTooManyUpdates()
		}
		row := incidentUpdateRow{
			ID: u.ID, OrgID: u.OrgID, IncidentID: id, State: string(u.State), Text: vigil.CleanText(u.Text), Author: vigil.CleanText(u.Author),
			CreatedAt: u.CreatedAt,
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		if err := c.publishUpdate(ctx, &u, publicURL); err != nil {
			return err
		}
		if pending, err = pendingDeliveries(ctx, tx, c.check.Name, id); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, u)
	})
	if err != nil {
		return overview.IncidentUpdate{}, nil, pg.Wrap("create incident update", err)
	}
	return u, pending, nil
}

// publishUpdate stores the event of an update. Pagers get none: a message about an incident that is
// resolved would open another one there.
func (c *incidentChange) publishUpdate(ctx context.Context, u *overview.IncidentUpdate, publicURL string) error {
	to, err := c.subscribedTo(ctx, vigil.EventUpdated)
	if err != nil {
		return err
	}
	to = slices.DeleteFunc(to, func(r vigil.Recipient) bool { return r.Type == vigil.ChannelPager })
	event, err := c.event(ctx, events.Content{
		ID: events.ID(u.ID, vigil.EventUpdated), Type: vigil.EventUpdated, Time: u.CreatedAt, Regions: c.row.Regions, PublicURL: publicURL,
		Update: &events.PublishedUpdate{ID: u.ID, State: string(u.State), Text: vigil.CleanText(u.Text)},
	})
	if err != nil {
		return err
	}
	return c.db.publish(ctx, c.tx, event, to)
}

type incidentUpdateRow struct {
	bun.BaseModel `bun:"table:incident_updates,alias:iu"`

	ID         uuid.UUID `bun:"id,pk,type:uuid"`
	OrgID      uuid.UUID `bun:"org_id,type:uuid"`
	IncidentID uuid.UUID `bun:"incident_id,type:uuid"`
	State      string    `bun:"state"`
	Text       string    `bun:"text"`
	Author     string    `bun:"author"`
	CreatedAt  time.Time `bun:"created_at"`
}

func (r *incidentUpdateRow) update() overview.IncidentUpdate {
	return overview.IncidentUpdate{
		ID: r.ID, OrgID: r.OrgID, IncidentID: r.IncidentID, State: overview.UpdateState(r.State), Text: r.Text, Author: r.Author,
		CreatedAt: r.CreatedAt.UTC(),
	}
}

// IncidentUpdates returns a page of the public updates of an incident of the organization,
// newest first, and the extent of the list.
func (s *Store) IncidentUpdates(
	ctx context.Context,
	orgID, incidentID uuid.UUID,
	page listing.Page,
) ([]overview.IncidentUpdate, listing.Extent, error) {
	if _, err := s.Incident(ctx, orgID, incidentID); err != nil {
		return nil, listing.Extent{}, err
	}
	list := pg.SmallRows[incidentUpdateRow]{
		What: "incident updates", Alias: "iu", Order: pg.NewestFirst(),
		Selected: func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("iu.incident_id = ? AND iu.org_id = ?", incidentID, orgID)
		},
		Position: func(r *incidentUpdateRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}
	rows, extent, err := list.Page(ctx, s.db, page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	return pg.Map(rows, (*incidentUpdateRow).update), extent, nil
}
