// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Retention is how long each kind of data is kept. Zero keeps it forever.
type Retention struct {
	Results    time.Duration // since the slot; deleted in whole days
	Rollups    time.Duration // of rollups and gaps
	Leases     time.Duration // since the last renewal
	Tombstones time.Duration // since the loop has ended
	Events     time.Duration // of the alert stream
	Attempts   time.Duration // of deliveries; a delivery can be repeated while they are kept
	Incidents  time.Duration // since they were resolved, with their deliveries
	Audit      time.Duration // of the audit log
}

// DefaultRetention keeps results for 90 days, rollups for 13 months, events for 7 days,
// attempts for 30 days, and incidents and the audit log for 400 days. It keeps expired
// leases and tombstones for a day, for investigations.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		Results: 90 * day, Rollups: 396 * day, Leases: day, Tombstones: day, Events: 7 * day, Attempts: 30 * day,
		Incidents: 400 * day, Audit: 400 * day,
	}
}

// drillRetention is for how long the receipts of drills are kept.
const drillRetention = 90 * 24 * time.Hour

// pingRetention is for how long pings are kept, and longestSlot how long a slot of a heartbeat may last
// with the pings before it.
const (
	pingRetention = 7 * 24 * time.Hour
	longestSlot   = 100 * 24 * time.Hour
)

// dropTime bounds how long one call of DropExpired deletes one kind of data. The next
// call goes on.
const dropTime = 30 * time.Second

// expired is a kind of data whose retention may be over.
type expired struct {
	what string // for errors
	keep time.Duration
	drop func(ctx context.Context, before time.Time) error
}

// DropExpired deletes the data whose retention is over, in steps of up to 1,000 rows, and
// no kind of it for longer than 30 s. A step that fails does not stop the others: the
// returned error joins those of all, and the next call goes on.
func (s *Store) DropExpired(ctx context.Context, now time.Time, keep Retention) error {
	var errs []error
	for _, kind := range append([]expired{
		{"drop partitions", keep.Results, s.DropPartitions},
		{"drop stray results", keep.Results, func(ctx context.Context, before time.Time) error {
			return s.DropRows(ctx, "results_default", before)
		}},
		{"drop rollups", keep.Rollups, func(ctx context.Context, before time.Time) error {
			return s.DropRows(ctx, "result_rollups", before)
		}},
		// Before the attempts and events, which their deliveries need.
		{"drop incidents", keep.Incidents, s.dropIncidents},
		{"drop tombstones", keep.Tombstones, s.dropTombstones},
		{"drop events", keep.Events, func(ctx context.Context, before time.Time) error {
			return s.dropEvents(ctx, before, now.Add(-max(keep.Events, keep.Attempts)))
		}},
		{"erase former secrets", time.Second, s.eraseFormerSecrets},
	}, s.expiredRows(keep)...) {
		if kind.keep <= 0 {
			continue
		}
		if err := s.dropKind(ctx, kind, now); err != nil {
			errs = append(errs, pg.Wrap(kind.what, err))
		}
	}
	return errors.Join(errs...)
}

// dropKind returns nil when the time for the kind is over.
func (s *Store) dropKind(ctx context.Context, kind expired, now time.Time) error {
	limited, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	err := kind.drop(limited, pg.Micro(now.Add(-kind.keep)))
	if limited.Err() != nil && ctx.Err() == nil {
		s.db.Log.InfoContext(ctx, "expired data remains for the next housekeeping", "step", kind.what)
		return nil
	}
	return err
}

// expiredRows are the tables of which nothing else depends on an old row.
func (s *Store) expiredRows(keep Retention) []expired {
	var kinds []expired
	for _, rows := range []struct {
		what, table, condition string
		keep                   time.Duration
	}{
		{"drop gaps", "result_gaps", "t.last_slot < ?", keep.Rollups},
		{"drop edges", "region_edges", "t.slot < ?", keep.Results},
		// Deliveries of deleted checks, which no request can find.
		{"drop orphaned deliveries", "deliveries", "t.orphaned AND t.finished_at < ? AND NOT " + incidents.StillSending, time.Hour},
		// After it a delivery cannot be repeated. What is open or pending may need them yet.
		{"drop addresses", "delivery_addresses", "t.created_at < ? AND NOT EXISTS (" +
			"SELECT FROM deliveries AS d LEFT JOIN incidents AS i ON i.id = d.incident_id " +
			"WHERE d.id = t.delivery_id AND (d.status = 'pending' OR i.status <> 'resolved' OR " +
			incidents.NotifiedUnobserved + "))", keep.Attempts},
		{"drop deliveries about no incident", "deliveries", incidents.OfNoIncident + ` AND t.finished_at < ? AND NOT t.redeliver
			AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.id = t.id AND ` + incidents.NotifiedUnobserved + ")", keep.Incidents},
		{"drop recoveries", "recoveries", "t.finished_at < ?", keep.Attempts},
		{"drop attempts", "attempts", "t.started_at < ? AND t.finished_at IS NOT NULL", keep.Attempts},
		{"drop audit entries", "audit_log", "t.at < ?", keep.Audit},
		{"drop leases", "worker_leases", "greatest(t.renewed_at, t.revoked_at) < ?", keep.Leases},
		{"drop times in which regions were blind", "blind_regions", "t.ended_at < ?", keep.Incidents},
		{"drop tokens", "account_tokens", "t.expires_at < ?", time.Hour},
		{"drop invitations", "invitations", "t.expires_at < ?", time.Hour},
		{"drop requests of accounts", "signup_requests", "t.expires_at < ?", time.Hour},
		{"drop login links", "login_links", "t.expires_at < ?", time.Hour},
		{"drop sessions", "sessions", "t.expires_at < ?", time.Hour},
		{"drop failed logins", "login_attempts", "t.last_at < ?", 2 * accounts.LoginWindow},
		{"drop rate windows", "rate_windows", "t.started < ?", time.Hour},
		{"drop mail quotas", "mail_quotas", "t.started_at < ?", accounts.MaxQuotaWindow},
		// The number of the mails about a channel is in their ids, so that the row stays as long as it.
		{"drop mails about deleted channels", "channel_notices", "t.mailed_at < ? AND t.due_at IS NULL " +
			"AND NOT EXISTS (SELECT FROM channels AS c WHERE c.id = t.channel_id)", 2 * accounts.MaxQuotaWindow},
		{"drop idempotency keys", "idempotency_keys", "t.started_at < ?", accounts.IdempotencyRetention},
		{"drop trials", "check_trials", "t.ends < ?", time.Hour},
		{"drop removed occurrences", "maintenance_occurrences", "t.removed_at < ?", 24 * time.Hour},
		{"drop old occurrences", "maintenance_occurrences", "t.removed_at IS NULL AND t.ends_at < ?", keep.Results},
		{"drop deleted maintenance windows", "maintenance_windows", "t.deleted_at < ?", keep.Results},
		{"drop drills", "drills", "t.closed_at < ?", drillRetention},
		{"drop running tests", "running_tests", "t.ends < ?", time.Hour},
		// A slot that takes longer needs them for as long as it may last.
		{"drop pings", "pings", "t.received_at < ? AND NOT EXISTS (" +
			"SELECT FROM checks AS c WHERE c.id = t.check_id AND c.interval_ms > 86400000)", pingRetention},
		{"drop pings of rare jobs", "pings", "t.received_at < ?", longestSlot},
		// What no turn has taken is of a check that does not run there any more.
		{"drop results of agents", "agent_results", "t.received_at < ?", agentlink.Longest + time.Hour},
		{"drop tasks of agents", "agent_tasks", "t.deadline < ?", time.Hour},
		{"drop agents that are gone", "agents", "t.seen_at < ?", 24 * time.Hour},
		{"drop times in which pings were not answered", "ping_spans", "t.to_at < ?", longestSlot},
	} {
		kinds = append(kinds, expired{rows.what, rows.keep, func(ctx context.Context, before time.Time) error {
			return s.db.DeleteAll(ctx, rows.table, rows.condition, before)
		}})
	}
	return kinds
}

// eraseFormerSecrets erases the secrets of channels whose overlap ended before a time. They are not
// read any more since then, so no version changes.
func (s *Store) eraseFormerSecrets(ctx context.Context, before time.Time) error {
	_, err := s.db.NewRaw("UPDATE channels SET former_secret = NULL, secret_overlap_ends_at = NULL WHERE secret_overlap_ends_at < ?", before).
		Exec(ctx)
	return err
}

// dropIncidents deletes the incidents that were resolved before a time, with their
// deliveries and attempts. An open incident stays, and so does one that is latched or has
// a delivery that has not ended.
func (s *Store) dropIncidents(ctx context.Context, before time.Time) error {
	for {
		var ids []uuid.UUID
		err := s.db.NewRaw(`SELECT i.id FROM incidents AS i WHERE i.status = 'resolved' AND NOT i.latched AND i.resolved_at < ?
				AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.incident_id = i.id AND (d.status = 'pending' OR d.redeliver))
			ORDER BY i.resolved_at LIMIT ?`, before, incidents.BatchSize).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := s.DeleteIncidents(ctx, ids); err != nil {
			return err
		}
	}
}

// dropTombstones deletes the tombstones of loops that ended before a time. What their
// checks left is purged again first: nothing else would find a row that was written late.
func (s *Store) dropTombstones(ctx context.Context, before time.Time) error {
	for {
		var checks []uuid.UUID
		err := s.db.NewRaw("SELECT DISTINCT check_id FROM loop_tombstones WHERE done_at < ? LIMIT ?", before, pg.DeleteBatch).Scan(ctx, &checks)
		if err != nil || len(checks) == 0 {
			return err
		}
		for _, check := range checks {
			for more := true; more; {
				if more, err = s.Purge(ctx, check); err != nil {
					return err
				}
			}
		}
		if err := s.db.DeleteAll(ctx, "loop_tombstones", "t.check_id = ANY(?) AND t.done_at < ?", pgdialect.Array(checks), before); err != nil {
			return err
		}
	}
}

// dropEvents deletes events older than before, except those of deliveries that
// are pending or were attempted since recent: these may be sent again.
func (s *Store) dropEvents(ctx context.Context, before, recent time.Time) error {
	return s.db.DeleteAll(ctx, "events", `t.time < ? AND NOT EXISTS (
		SELECT FROM deliveries AS d WHERE d.event_id = t.id AND (d.status = 'pending' OR d.updated_at >= ?))`, before, pg.Micro(recent))
}
