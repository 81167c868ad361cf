// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/loops"
)

// reportMaintenance bounds the maintenance on a status page.
const reportMaintenance = 20

// queuePublicMaintenance reads, of each window that covers checks of a status page, the
// occurrences that run, those that ended within an hour, and the next one that is near.
func queuePublicMaintenance(batch *pgx.Batch, org uuid.UUID, ids []string, into *[]overview.PublicMaintenance) {
	batch.Queue(`
		SELECT o.window_id::text, o.starts_at, o.ends_at, array_agg(c.id::text ORDER BY c.id)
		FROM (
			SELECT f.*, row_number() OVER (PARTITION BY f.window_id, f.starts_at > now() ORDER BY f.starts_at) AS place
			FROM maintenance_occurrences AS f
			WHERE f.org_id = $2 AND f.removed_at IS NULL
				AND f.ends_at > now() - interval '1 hour' AND f.starts_at < now() + make_interval(secs => $3)
		) AS o JOIN maintenance_windows AS w ON w.id = o.window_id AND w.deleted_at IS NULL
			JOIN checks AS c ON c.id = ANY($1::text[]::uuid[]) AND `+loops.Covers+`
		WHERE o.starts_at <= now() OR o.place = 1
		GROUP BY o.window_id, o.starts_at, o.ends_at ORDER BY o.starts_at, o.ends_at, o.window_id LIMIT $4`,
		ids, org, overview.MaintenanceAnnounced.Seconds(), reportMaintenance).
		Query(func(found pgx.Rows) error {
			var one overview.PublicMaintenance
			var window string
			var checks []string
			_, err := pgx.ForEachRow(found, []any{&window, &one.StartsAt, &one.EndsAt, &checks}, func() error {
				shown := overview.PublicMaintenance{
					Key:      window + "/" + one.StartsAt.UTC().Format(time.RFC3339),
					StartsAt: one.StartsAt.UTC(),
					EndsAt:   one.EndsAt.UTC(),
				}
				for _, text := range checks {
					id, err := uuid.Parse(text)
					if err != nil {
						return err
					}
					shown.CheckIDs = append(shown.CheckIDs, id)
				}
				*into, checks = append(*into, shown), nil
				return nil
			})
			if err != nil {
				return fmt.Errorf("read the maintenance of a status page: %w", err)
			}
			return nil
		})
}
