// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// Incident returns an incident of the organization, or CodeNotFound.
// The result that triggered it has its evidence.
func (s *Store) Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error) {
	var row Row
	err := s.db.NewSelect().Model(&row).Where("i.id = ? AND i.org_id = ?", id, orgID).Where(shownIncident).Scan(ctx)
	if err != nil {
		return vigil.Incident{}, pg.Found("incident", err)
	}
	incident, err := row.Incident()
	if err == nil && incident.Trigger.Result.HasEvidence {
		r := &incident.Trigger.Result
		r.Evidence, err = s.results.Evidence(ctx, results.Key{CheckID: r.CheckID, Region: r.Region, Slot: r.Slot})
		incident.Trigger.Result.HasEvidence = incident.Trigger.Result.Evidence != nil
	}
	return incident, pg.Wrap("read incident", err)
}

// checkOfIncident and checkOfDelivery are SQL conditions: the check still exists. What a
// deleted check leaves is deleted in steps (see purge), and is not shown meanwhile.
const (
	checkOfIncident = "EXISTS (SELECT FROM checks AS c WHERE c.id = i.check_id)"
	checkOfDelivery = "(d.check_id = '00000000-0000-0000-0000-000000000000' OR EXISTS (SELECT FROM checks AS c WHERE c.id = d.check_id))"
)

// shownIncident and shownDelivery are those conditions for what people are shown: the check is
// not that of a drill.
const (
	shownIncident = "EXISTS (SELECT FROM checks AS c WHERE c.id = i.check_id AND c." + pg.NotDrill + ")"
	shownDelivery = "EXISTS (SELECT FROM checks AS c WHERE c.id = d.check_id AND c." + pg.NotDrill + ")"
)

// checkNameOfDelivery is the SQL of the name of a delivery's check; that of a deleted check
// is in the event.
const checkNameOfDelivery = `coalesce((SELECT c.name FROM checks AS c WHERE c.id = d.check_id),
	(SELECT e.variables->>'check_name' FROM events AS e WHERE e.id = d.event_id), '')`

// listedIncidentRow is an incident on a page of a list.
type listedIncidentRow struct {
	Row `bun:",extend"`

	PageLeft int64 `bun:"page_left,scanonly"`
}

// Incidents returns a page of the organization's incidents that the filter selects, newest
// first, and the extent of the list. A page ends before its limit when it holds 8 MiB.
func (s *Store) Incidents(ctx context.Context, orgID uuid.UUID, f listing.IncidentFilter) ([]vigil.Incident, listing.Extent, error) {
	var extent listing.Extent
	var err error
	if extent.Total, err = s.db.PageTotal(ctx, whereIncidents(s.db.NewSelect(), orgID, f), f.Page); err != nil {
		return nil, listing.Extent{}, pg.Wrap("count incidents", err)
	}
	page, err := pg.NewestFirst().Window(whereIncidents(s.db.NewSelect(), orgID, f).ColumnExpr("i.*"), "i", f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	var rows []listedIncidentRow
	const size = "octet_length(p.trigger::text) + octet_length(p.audience::text) + octet_length(p.description)"
	if err := s.db.BoundedPage(page, pg.NewestFirst().By("p"), size).Scan(ctx, &rows); err != nil {
		return nil, listing.Extent{}, pg.Wrap("list incidents", err)
	}
	rows, extent.Next = pg.EndPage(rows, f.Page, func(r *listedIncidentRow) bool { return r.PageLeft > 0 },
		func(r *listedIncidentRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) })
	incidents, err := pg.TryMap(rows, (*listedIncidentRow).Incident)
	return incidents, extent, pg.Wrap("list incidents", err)
}

// whereIncidents selects the incidents of an organization that a filter asks for. Those of drills are
// shown with their drill only.
func whereIncidents(query *bun.SelectQuery, orgID uuid.UUID, f listing.IncidentFilter) *bun.SelectQuery {
	query = query.TableExpr("incidents AS i").Where("i.org_id = ?", orgID).Where(shownIncident)
	if f.Status != "" {
		query = query.Where("i.status = ?", string(f.Status))
	}
	if f.CheckID != uuid.Nil {
		query = query.Where("i.check_id = ?", f.CheckID)
	}
	if f.RuleID != uuid.Nil {
		query = query.Where("i.rule_id = ?", f.RuleID)
	}
	return query
}

// Waits between two repairs of the same row: they double from firstSweepWait to
// longestSweepWait. Progress of the row resets them.
const (
	firstSweepWait   = 30 * time.Second
	longestSweepWait = 10 * time.Minute
)

// sweepable selects rows whose wait since their progress or last repair is over. Its arguments are
// firstSweepWait, in milliseconds, and the present.
const sweepable = "swept_at + greatest(sweep_wait_ms, ?first_wait_ms) * interval '1 millisecond' <= ?now"

// StalledIncidents returns open and latched incidents of these shards without progress
// for 30 s, outside of their wait, and those whose workflow was lost with Temporal's
// store. Most need no repair: an incident may be open for long. Only their IDs, statuses
// and titles are read, so that no row fails all.
func (s *Store) StalledIncidents(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.Incident, error) {
	var rows []Row
	err := s.db.NewSelect().Model(&rows).Column("id", "org_id", "check_id", "status", "title").
		Where("(i.status <> 'resolved' OR i.latched) AND ("+sweepable+" OR "+loops.LostSince+")",
			pg.Named{"first_wait_ms": pg.Milliseconds(firstSweepWait), "now": pg.Micro(now)}).
		Where("?", loops.InShards("i.check_id", shards)).
		Where(checkOfIncident).
		OrderExpr("i.swept_at").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("find stalled incidents", err)
	}
	incidents := make([]vigil.Incident, len(rows))
	for i, r := range rows {
		incidents[i] = vigil.Incident{ID: r.ID, OrgID: r.OrgID, CheckID: r.CheckID, Status: vigil.IncidentStatus(r.Status), Title: r.Title}
	}
	return incidents, nil
}

// MarkIncidentSwept records a repair of an incident and doubles its wait. It changes
// nothing when the lease is of an older fence, as do all of its kind.
func (s *Store) MarkIncidentSwept(ctx context.Context, lease fleet.SweepLease, id uuid.UUID, at time.Time) error {
	return s.markSwept(ctx, lease, "incidents", at, bun.SafeQuery("id = ?", id))
}

// SweepIncidentSoon makes the open or latched incident of a check, and its votes with a firing rule, due for the sweep,
// however long their wait is: no workflow of the incident runs, or it was not reached. A check with neither changes nothing.
func (s *Store) SweepIncidentSoon(ctx context.Context, checkID uuid.UUID) error {
	return pg.Wrap("sweep soon", s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return SweepIncidentsSoon(ctx, tx, checkID)
	}))
}

// SweepIncidentsSoon is SweepIncidentSoon for many checks, in the transaction of the change that their incidents must learn
// of: the signal that follows it may be lost with the process. Incidents are locked before votes, as where checks are deleted,
// and both in the order of checks.
func SweepIncidentsSoon(ctx context.Context, tx bun.Tx, checks ...uuid.UUID) error {
	if len(checks) == 0 {
		return nil
	}
	for _, sql := range []string{
		`UPDATE incidents AS i SET swept_at = 'epoch', sweep_wait_ms = 0
			FROM (SELECT id FROM incidents WHERE check_id = ANY(?) AND (status <> 'resolved' OR latched)
				ORDER BY check_id, id FOR NO KEY UPDATE) AS l
			WHERE i.id = l.id`,
		`UPDATE region_votes AS v SET swept_at = 'epoch', sweep_wait_ms = 0
			FROM (SELECT check_id, region FROM region_votes WHERE check_id = ANY(?) AND firing <> '{}'
				ORDER BY check_id, region FOR NO KEY UPDATE) AS l
			WHERE v.check_id = l.check_id AND v.region = l.region`,
	} {
		if _, err := tx.NewRaw(sql, pgdialect.Array(checks)).Exec(ctx); err != nil {
			return fmt.Errorf("have incidents swept: %w", err)
		}
	}
	return nil
}

// CheckLabel returns the name and the target of a check of the organization, for people who look at its
// workflows, or CodeNotFound.
func (s *Store) CheckLabel(ctx context.Context, orgID, checkID uuid.UUID) (name, target string, err error) {
	row, err := pg.Row[struct {
		Name   string `bun:"name"`
		Target string `bun:"target"`
	}](ctx, s.db, "SELECT name, target FROM checks WHERE id = $1 AND org_id = $2", checkID, orgID)
	return row.Name, row.Target, pg.Found("check", err)
}

// admissionGrace is how long a delivery that was admitted has to start its attempt
// before it counts as stalled: the signal to its workflow may be lost.
const admissionGrace = 5 * time.Second

// StalledDeliveries returns deliveries of these shards that are due or requested, without
// progress for 30 s and outside of their wait, those of system events, which are started by it, and those whose workflow was lost with
// Temporal's store. Those that wait for a place are not stalled, nor is what comes after another delivery to its channel in
// order: the end of an incident does not wait for a later attempt of a message before it, since it supersedes an opening.
func (s *Store) StalledDeliveries(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.PendingDelivery, error) {
	var rows []namedDeliveryRow
	const stalled = "(d.swept_at < d.created_at OR " + sweepable +
		" AND (d.redeliver OR coalesce(d.next_attempt_at, d.created_at) + ?first_wait_ms * interval '1 millisecond' <= ?now))"
	const ends = "d.event_type IN ('" + string(vigil.EventResolved) + "', '" + string(vigil.EventObserved) + "', '" +
		string(vigil.EventChannelRecovered) + "', '" + string(vigil.EventRegionSighted) + "', '" + string(vigil.EventLocationBack) + "')"
	err := s.db.NewRaw(`SELECT d.org_id, d.incident_id, d.check_id, d.channel_id, d.channel_type, d.channel_name,
			`+checkNameOfDelivery+` AS check_name
		FROM deliveries AS d
		WHERE (d.status = 'pending' OR d.redeliver AND `+checkOfDelivery+`) AND (`+stalled+` OR `+loops.LostSince+`) AND ?in_shards
			AND NOT EXISTS (SELECT FROM deliveries AS e WHERE e.incident_id = d.incident_id AND e.channel_id = d.channel_id
				AND e.status = 'pending' AND e.created_at < d.created_at AND NOT d.redeliver
				AND NOT (`+ends+` AND e.next_attempt_at > ?now AND e.policy ->> 'late_opening' <> '`+string(vigil.LateOpeningDeliver)+`'))
			AND NOT EXISTS (SELECT FROM delivery_places AS p WHERE p.incident_id = d.incident_id AND p.channel_id = d.channel_id
				AND (p.admitted_at IS NULL OR p.admitted_at > ?admitted))
		ORDER BY d.swept_at LIMIT ?limit`,
		pg.Named{
			"first_wait_ms": pg.Milliseconds(firstSweepWait), "now": pg.Micro(now), "in_shards": loops.InShards("d.check_id", shards),
			"admitted": pg.Micro(now.Add(-admissionGrace)), "limit": limit,
		}).Scan(ctx, &rows)
	return pendingDeliveriesOf(rows), pg.Wrap("find stalled deliveries", err)
}

// MarkDeliverySwept records a repair of a delivery and doubles its wait.
func (s *Store) MarkDeliverySwept(ctx context.Context, lease fleet.SweepLease, delivery vigil.PendingDelivery, at time.Time) error {
	return s.markSwept(ctx, lease, "deliveries", at,
		bun.SafeQuery("incident_id = ? AND channel_id = ?", delivery.IncidentID, delivery.ChannelID))
}

func (s *Store) markSwept(ctx context.Context, lease fleet.SweepLease, table string, at time.Time, which schema.QueryAppender) error {
	_, err := s.db.NewRaw(`UPDATE ?table SET swept_at = ?at, sweep_wait_ms = least(greatest(sweep_wait_ms * 2, ?least_ms), ?most_ms)
		WHERE ?fenced AND ?which`,
		pg.Named{
			"table": bun.Ident(table), "at": pg.Micro(at), "least_ms": pg.Milliseconds(firstSweepWait),
			"most_ms": pg.Milliseconds(longestSweepWait), "fenced": loops.Fenced(lease), "which": which,
		}).Exec(ctx)
	return pg.Wrap("record a repair", err)
}
