// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/changes"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// reportUpdates bounds the updates of all incidents of a status page.
const reportUpdates = 1000

// failureKeys are the keys of a condition that make a rule fire on a failing result.
const failureKeys = `ARRAY['failure_threshold', 'health_status', 'status_code']`

// StatusReport returns what the enabled status page with the slug is made of: the incidents
// are those that are open, and those that ended since the given time. An unknown slug, and
// one of a disabled page, is a CodeNotFound error.
func (s *Store) StatusReport(ctx context.Context, slug string, since time.Time) (overview.StatusReport, error) {
	page, hash, err := s.publicPage(ctx, slug)
	if err != nil {
		return overview.StatusReport{}, err
	}
	ids := pg.UUIDTexts(page.Checks())
	report := overview.StatusReport{Page: page, PasswordHash: hash, Checks: make(map[uuid.UUID]overview.ReportedCheck, len(ids))}
	batch := &pgx.Batch{}
	queueStates(batch, ids, s.db.Instant(), report.Checks)
	queuePublicIncidents(batch, ids, since, &report.Incidents)
	queuePublicMaintenance(batch, page.OrgID, ids, &report.Maintenance)
	updates := make(map[uuid.UUID][]overview.IncidentUpdate)
	queueUpdates(batch, ids, since, updates)
	if err := s.db.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return overview.StatusReport{}, pg.Wrap("read a status page", err)
	}
	for i := range report.Incidents {
		report.Incidents[i].Updates = updates[report.Incidents[i].ID]
	}
	return report, nil
}

func (s *Store) publicPage(ctx context.Context, slug string) (overview.StatusPage, string, error) {
	var row changes.StatusPageRow
	err := s.db.NewSelect().Model(&row).ColumnExpr("sp.*").ColumnExpr(changes.PageChecks).Where("sp.slug = ? AND sp.enabled", slug).Scan(ctx)
	if err != nil {
		return overview.StatusPage{}, "", pg.Found("status page", err)
	}
	page, err := row.Page()
	return page, row.PasswordHash, pg.Wrap("read a status page", err)
}

// StatusHosts returns the slugs of the enabled status pages that may be served at a host of their own, by
// the host.
func (s *Store) StatusHosts(ctx context.Context) (map[string]string, error) {
	var rows []struct {
		Host string `bun:"host"`
		Slug string `bun:"slug"`
	}
	err := s.db.NewRaw("SELECT host, slug FROM status_pages WHERE enabled AND host_verified_at IS NOT NULL").Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("read the hosts of status pages", err)
	}
	hosts := make(map[string]string, len(rows))
	for _, row := range rows {
		hosts[row.Host] = row.Slug
	}
	return hosts, nil
}

// StatusLogo returns the picture of a status page. A page without one is a CodeNotFound error.
func (s *Store) StatusLogo(ctx context.Context, pageID uuid.UUID) (overview.Logo, error) {
	var row struct {
		MediaType string `bun:"media_type"`
		Image     []byte `bun:"image"`
	}
	err := s.db.NewRaw("SELECT media_type, image FROM status_page_logos WHERE page_id = ?", pageID).Scan(ctx, &row)
	return overview.Logo{MediaType: row.MediaType, Image: row.Image}, pg.Found("logo", err)
}

// queueStates reads the newest result of each check and region.
func queueStates(batch *pgx.Batch, ids []string, now time.Time, into map[uuid.UUID]overview.ReportedCheck) {
	batch.Queue(`
		SELECT c.id, c.enabled,
			EXISTS (SELECT FROM alert_rules AS ar WHERE ar.check_id = c.id AND ar.enabled AND ar.condition ?| `+failureKeys+`),
			coalesce(r.region, ''),
			coalesce(CASE WHEN r.last_slot IS NULL THEN 'unknown' ELSE `+loops.ObservedHealth("$2::timestamptz")+` END, 'unknown'),
			r.last_slot IS NOT NULL
		FROM checks AS c LEFT JOIN check_regions AS r ON r.check_id = c.id AND r.active
		WHERE c.id = ANY($1::text[]::uuid[]) ORDER BY c.id, r.region`, ids, now).
		Query(func(found pgx.Rows) error {
			var id uuid.UUID
			var state overview.ReportedCheck
			var one overview.RegionHealth
			_, err := pgx.ForEachRow(found, []any{&id, &state.Enabled, &state.Watched, &one.Region, &one.Health, &one.Probed}, func() error {
				state.Regions = into[id].Regions
				if one.Region != "" {
					state.Regions = append(state.Regions, one)
				}
				into[id] = state
				return nil
			})
			if err != nil {
				return fmt.Errorf("read the states of checks: %w", err)
			}
			return nil
		})
}

// whereReported selects the incidents of a status page, whose alias is i.
const whereReported = "i.check_id = ANY($1::text[]::uuid[]) AND (i.status <> 'resolved' OR i.resolved_at >= $2)"

func queuePublicIncidents(batch *pgx.Batch, ids []string, since time.Time, into *[]overview.PublicIncident) {
	batch.Queue(`
		SELECT i.id, i.check_id, i.started_at, i.resolved_at, i.regions, i.rules
		FROM incidents AS i WHERE `+whereReported+` ORDER BY i.resolved_at DESC NULLS FIRST, i.started_at DESC, i.id DESC LIMIT $3`,
		ids, pg.Micro(since), overview.MaxReportedIncidents).
		Query(func(found pgx.Rows) error {
			var one overview.PublicIncident
			var rules []byte
			columns := []any{&one.ID, &one.CheckID, &one.StartedAt, &one.ResolvedAt, &one.Regions, &rules}
			_, err := pgx.ForEachRow(found, columns, func() error {
				fired, err := incidents.DecodeRules(rules)
				if err != nil {
					return err
				}
				incident := one
				showEffect(&incident, fired)
				*into = append(*into, incident)
				one.Regions, one.ResolvedAt, rules = nil, nil, nil
				return nil
			})
			if err != nil {
				return fmt.Errorf("read the incidents of a status page: %w", err)
			}
			slices.SortStableFunc(*into, func(a, b overview.PublicIncident) int { return b.StartedAt.Compare(a.StartedAt) })
			return nil
		})
}

// showEffect says what the public sees of an open incident by the rules that fire now, or saw
// of one that is resolved, and since when. A rule such as one of certificates has no effect
// that the public sees.
func showEffect(incident *overview.PublicIncident, rules []vigil.IncidentRule) {
	effect := func(has func(*vigil.IncidentRule) bool) bool {
		var began []time.Time
		for i := range rules {
			if has(&rules[i]) && (rules[i].Fires() || incident.ResolvedAt != nil) {
				began = append(began, rules[i].Since)
			}
		}
		if len(began) > 0 {
			incident.StartedAt = slices.MinFunc(began, time.Time.Compare)
		}
		return len(began) > 0
	}
	incident.Failing = effect(func(r *vigil.IncidentRule) bool { return r.Failing })
	incident.Slow = !incident.Failing && effect(func(r *vigil.IncidentRule) bool { return r.Slow })
}

func queueUpdates(batch *pgx.Batch, ids []string, since time.Time, into map[uuid.UUID][]overview.IncidentUpdate) {
	batch.Queue(`
		SELECT iu.id, iu.incident_id, iu.state, iu.text, iu.created_at
		FROM incident_updates AS iu JOIN incidents AS i ON i.id = iu.incident_id
		WHERE `+whereReported+` ORDER BY iu.created_at DESC, iu.id DESC LIMIT $3`, ids, pg.Micro(since), reportUpdates).
		Query(func(found pgx.Rows) error {
			var one overview.IncidentUpdate
			_, err := pgx.ForEachRow(found, []any{&one.ID, &one.IncidentID, &one.State, &one.Text, &one.CreatedAt}, func() error {
				into[one.IncidentID] = append(into[one.IncidentID], one)
				return nil
			})
			if err != nil {
				return fmt.Errorf("read the updates of a status page: %w", err)
			}
			return nil
		})
}

// PublicSlug returns the slug of the oldest enabled status page that shows a check. A check
// that none shows is a CodeNotFound error.
func (s *Store) PublicSlug(ctx context.Context, checkID uuid.UUID) (string, error) {
	var slug string
	err := s.db.NewRaw(`SELECT sp.slug FROM status_pages AS sp JOIN status_page_checks AS pc ON pc.page_id = sp.id
		WHERE pc.check_id = ? AND sp.enabled ORDER BY sp.created_at, sp.id LIMIT 1`, checkID).Scan(ctx, &slug)
	return slug, pg.Found("badge", err)
}
