// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// BatchSize is how many incidents are deleted together.
const BatchSize = 100

// StillSending holds for a delivery beside which another one of its incident and channel is
// pending: whether the end of an incident is sent depends on what became of its opening.
const StillSending = "EXISTS (SELECT FROM deliveries AS p WHERE p.incident_id = t.incident_id AND p.channel_id = t.channel_id " +
	"AND p.status = 'pending')"

// DeleteIncidents deletes incidents with their attempts and deliveries, in steps. Deliveries
// that are still pending stay: the end of an incident is sent although its check is deleted.
func (s *Store) DeleteIncidents(ctx context.Context, ids []uuid.UUID) error {
	list := pgdialect.Array(ids)
	for _, step := range []struct{ table, condition string }{
		{"attempts", "t.delivery_id IN (SELECT id FROM deliveries WHERE incident_id = ANY(?) AND status <> 'pending')"},
		{"deliveries", "t.incident_id = ANY(?) AND NOT " + StillSending},
	} {
		if err := s.db.DeleteAll(ctx, step.table, step.condition, list); err != nil {
			return err
		}
	}
	// Of any status: some may have ended by now, and the housekeeping finds them by this mark.
	if _, err := s.db.NewRaw("UPDATE deliveries SET orphaned = true WHERE incident_id = ANY(?)", list).Exec(ctx); err != nil {
		return fmt.Errorf("mark what is still to be sent: %w", err)
	}
	return s.db.DeleteAll(ctx, "incidents", "t.id = ANY(?)", list)
}

// PurgeLoop records that the loop of a tombstone has ended. The tombstone remains for
// workers' catalogues until its retention ends; one that was cleared or replaced is
// not changed. While a deleted check has left something, PurgeLoop deletes a part of it
// instead and returns false: call it again.
func (s *Store) PurgeLoop(ctx context.Context, tombstone vigil.Tombstone) (done bool, err error) {
	if more, err := s.Purge(ctx, tombstone.CheckID); err != nil || more {
		return false, pg.Wrap("delete what a deleted check left", err)
	}
	// A vote may have been stored while the transaction that removed the loop had its row.
	_, err = s.db.NewRaw(`WITH done AS (
			UPDATE loop_tombstones SET done_at = clock_timestamp()
			WHERE check_id = ?0 AND region = ?1 AND created_at = ?2 AND done_at IS NULL
		)
		DELETE FROM region_votes AS v WHERE v.check_id = ?0 AND v.region = ?1
			AND NOT EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = ?0 AND r.region = ?1)`,
		tombstone.CheckID, tombstone.Region, tombstone.CreatedAt).Exec(ctx)
	return err == nil, pg.Wrap("close a tombstone", err)
}

// Purge deletes a part of what a deleted check left, in steps, and reports whether there
// was any: up to BatchSize incidents, DeleteBatch rows of another kind, or the
// results of one day and region. It holds locks of deleted rows only. A check that
// exists keeps everything.
func (s *Store) Purge(ctx context.Context, checkID uuid.UUID) (found bool, err error) {
	var exists bool
	if err := s.db.NewRaw("SELECT EXISTS (SELECT FROM checks WHERE id = ?)", checkID).Scan(ctx, &exists); err != nil || exists {
		return false, err
	}
	var incidents []uuid.UUID
	err = s.db.NewRaw("SELECT id FROM incidents WHERE check_id = ? LIMIT ?", checkID, BatchSize).Scan(ctx, &incidents)
	if err != nil {
		return false, fmt.Errorf("look for incidents: %w", err)
	}
	if len(incidents) > 0 {
		return true, s.DeleteIncidents(ctx, incidents)
	}
	// What is still to be sent stays; the housekeeping finds all of them by this mark.
	_, err = s.db.NewRaw("UPDATE deliveries AS t SET orphaned = true WHERE t.check_id = ? AND NOT t.orphaned AND "+OfNoIncident, checkID).
		Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("mark the deliveries about no incident: %w", err)
	}
	for _, table := range []string{"region_edges", "result_gaps", "pings", "agent_results", "late_spans"} {
		if n, err := s.db.DeleteSome(ctx, table, "t.check_id = ?", checkID); err != nil || n > 0 {
			return true, err
		}
	}
	return s.results.PurgeResults(ctx, checkID)
}
