// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// queueFailures reads the newest results of loops whose newest result failed.
func (c checkSums) queueFailures(batch *pgx.Batch, now time.Time) {
	type place struct {
		sum *checkSum
		n   int
	}
	var places []place
	var checks, regions []string
	var slots []time.Time
	for id, sum := range c {
		for n, region := range sum.regions {
			if region.failed {
				places = append(places, place{sum, n})
				checks, regions, slots = append(checks, id.String()), append(regions, region.key), append(slots, region.last)
			}
		}
	}
	if len(places) == 0 {
		return
	}
	batch.Queue(`
		SELECT k.n, coalesce(r.status_code, 0), coalesce(r.error_message, '')
		FROM unnest(@checks::text[], @regions::text[], @slots::timestamptz[]) WITH ORDINALITY AS k (check_id, region, slot, n)
		JOIN results AS r ON r.check_id = k.check_id::uuid AND r.region = k.region AND r.slot = k.slot
		WHERE r.slot >= @from AND r.slot < @to`,
		pg.Named{
			"checks": checks, "regions": regions, "slots": slots, "from": slices.MinFunc(slots, time.Time.Compare),
			"to": results.StartOf(results.DayOf(now) + 2),
		}).
		Query(func(found pgx.Rows) error {
			var n int64
			var status int
			var message string
			_, err := pgx.ForEachRow(found, []any{&n, &status, &message}, func() error {
				at := places[n-1]
				at.sum.health[at.n].StatusCode, at.sum.health[at.n].Error = status, message
				return nil
			})
			return err
		})
}

// queueIncidents reads the open incidents.
func (c checkSums) queueIncidents(batch *pgx.Batch) {
	if len(c) == 0 {
		return
	}
	batch.Queue(`
		SELECT id, org_id, check_id, rule_id, status, severity, title, description, trigger, regions, started_at, acknowledged_at,
			created_at, acknowledged_by, rules
		FROM incidents WHERE check_id = ANY($1::text[]::uuid[]) AND status <> 'resolved'`, c.ids()).
		Query(func(found pgx.Rows) error {
			for found.Next() {
				var row incidents.Row
				var trigger, rules []byte
				err := found.Scan(&row.ID, &row.OrgID, &row.CheckID, &row.RuleID, &row.Status, &row.Severity, &row.Title, &row.Description,
					&trigger, &row.Regions, &row.StartedAt, &row.AcknowledgedAt, &row.CreatedAt, &row.AcknowledgedBy,
					&rules)
				if err != nil {
					return err
				}
				row.Trigger, row.Rules = json.RawMessage(trigger), json.RawMessage(rules)
				incident, err := row.Incident()
				if err != nil {
					return err
				}
				c[row.CheckID].incident = &incident
			}
			return found.Err()
		})
}

// queueLimits reads beyond which response times rules fire.
func (c checkSums) queueLimits(batch *pgx.Batch) {
	if len(c) == 0 {
		return
	}
	batch.Queue(`
		SELECT check_id, min((condition->>'response_time_ms')::bigint) FROM alert_rules
		WHERE check_id = ANY($1::text[]::uuid[]) AND enabled AND condition ? 'response_time_ms' GROUP BY 1`, c.ids()).
		Query(func(found pgx.Rows) error {
			var id uuid.UUID
			var ms int64
			_, err := pgx.ForEachRow(found, []any{&id, &ms}, func() error {
				limit := ms
				c[id].slowerThanMS = &limit
				return nil
			})
			return err
		})
}

// ids are the checks as a column of a statement.
func (c checkSums) ids() []string {
	list := make([]string, 0, len(c))
	for id := range c {
		list = append(list, id.String())
	}
	return list
}
