// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/results"
)

// readFailures reads the newest results of loops whose newest result failed.
func (c checkSums) readFailures(ctx context.Context, s *Store) error {
	var shown []*overview.RegionSummary
	var keys []results.Key
	for id, sum := range c {
		for n, region := range sum.regions {
			if region.failed {
				shown = append(shown, &sum.health[n])
				keys = append(keys, results.Key{CheckID: id, Region: region.key, Slot: region.last})
			}
		}
	}
	newest, err := s.Briefs(ctx, nil, keys)
	for i, result := range newest {
		if result != nil {
			shown[i].StatusCode, shown[i].Error = result.StatusCode, result.Error
		}
	}
	return err
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
