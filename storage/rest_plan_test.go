// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// fullTables are rows that none of the periodic statements has to touch: 10,000 loops that are
// probed in time, and what a platform has kept of its past. Tables that have only what is under way,
// such as places of deliveries and rate limits of the last hour, are read as a whole. ?0 is the organization, ?1 one of its users.
//
//nolint:gochecknoglobals // a table of the test
var fullTables = []string{
	"UPDATE check_regions SET health = 'healthy', worker = 'w', last_slot = now(), last_time = now(), last_scheduled = now(), " +
		"next_due = now() + interval '1 hour'",
	`INSERT INTO region_votes (check_id, region, revision, slot, failures, firing, swept_at)
		SELECT check_id, region, 1, now(), 0, '{}', now() - interval '1 day' FROM check_regions`,
	`INSERT INTO incidents (id, org_id, check_id, rule_id, status, severity, title, description, trigger, regions, audience, started_at,
			created_at, swept_at, resolved_at)
		SELECT gen_random_uuid(), org_id, id, gen_random_uuid(), 'resolved', 'critical', 't', 'd', '{}', regions, '[]', now(), now(),
			now() - interval '1 day', now() FROM checks`,
	`INSERT INTO deliveries (id, org_id, event_id, event_type, incident_id, check_id, channel_id, channel_type, channel_name, status,
			created_at, updated_at, swept_at, finished_at, policy)
		SELECT gen_random_uuid(), org_id, gen_random_uuid(), 'incident.triggered', id, check_id, gen_random_uuid(), 'webhook', 'c',
			'delivered', now(), now(), now() - interval '1 day', now(), '{}' FROM incidents`,
	`INSERT INTO attempts (id, delivery_id, channel_id, number, started_at, manual, finished_at)
		SELECT gen_random_uuid(), id, channel_id, 1, now(), false, now() FROM deliveries`,
	// One row of each kind of work, so that the statements look for what is due among all: none of it is.
	"UPDATE check_regions SET next_due = now() - interval '1 minute', nudged_at = now() WHERE check_id = (SELECT id FROM checks LIMIT 1)",
	`UPDATE region_votes SET firing = ARRAY[gen_random_uuid()], swept_at = now() WHERE check_id = (SELECT id FROM checks LIMIT 1)`,
	`UPDATE incidents SET status = 'active', resolved_at = NULL, swept_at = now() WHERE id = (SELECT id FROM incidents LIMIT 1)`,
	`UPDATE deliveries SET status = 'pending', finished_at = NULL, swept_at = now() WHERE id = (SELECT id FROM deliveries LIMIT 1)`,
	`INSERT INTO unobserved_checks (check_id, id, org_id, since, regions, described, created_at)
		SELECT check_id, gen_random_uuid(), org_id, now(), '{}', '{}', now() FROM check_regions ORDER BY next_due LIMIT 1`,
	"INSERT INTO channels (id, org_id, name, type, config, enabled, created_at, updated_at) " +
		"VALUES (?0, ?0, 'c', 'webhook', '{}', true, now(), now())",
	`INSERT INTO delivery_addresses (id, delivery_id, channel_id, type, config, created_at)
		SELECT gen_random_uuid(), id, ?0, 'webhook', '{}', now() FROM deliveries`,
	`INSERT INTO events (org_id, ms, seq, id, type, incident_id, check_id, time, envelope, title, body, variables)
		SELECT d.org_id, 1, row_number() OVER (), d.event_id, d.event_type, d.incident_id, d.check_id, now(), '{}', 't', 'b', '{}'
		FROM deliveries AS d`,
	`INSERT INTO loop_tombstones (check_id, region, org_id, created_at, done_at)
		SELECT gen_random_uuid(), region, org_id, now(), now() FROM check_regions`,
	`INSERT INTO result_rollups (check_id, region, hour, total, successes, sum_ms, buckets, counts)
		SELECT check_id, region, date_trunc('hour', now()), 1, 1, 1, '{}', '{}' FROM check_regions`,
	`INSERT INTO result_gaps (check_id, region, first_slot, last_slot, step_ms, count)
		SELECT check_id, region, now(), now(), 1000, 1 FROM check_regions`,
	`INSERT INTO region_edges (check_id, slot, region, revision, failures, firing)
		SELECT check_id, now(), region, 1, 0, '{}' FROM check_regions`,
	`INSERT INTO audit_log (id, org_id, at, action, key_prefix, members, request_id, address, user_agent)
		SELECT gen_random_uuid(), org_id, now(), 'create', 'k', '{}', 'r', 'a', 'u' FROM checks`,
	`INSERT INTO sessions (token, id, data, address, user_agent, created_at, seen_at, expires_at)
		SELECT id::text, id, '', 'a', 'u', now(), now(), now() + interval '1 day' FROM checks`,
	`INSERT INTO login_attempts (address, failures, first_at, last_at) SELECT id::text, 1, now(), now() FROM checks`,
	`INSERT INTO login_links (hash, user_id, expires_at) SELECT uuid_send(id), ?1, now() + interval '1 day' FROM checks`,
	`INSERT INTO api_keys (id, org_id, user_id, name, prefix, hash, created_at, expires_at)
		SELECT gen_random_uuid(), ?0, ?1, 'k', 'p', uuid_send(id), now(), now() + interval '90 days' FROM checks`,
	`INSERT INTO idempotency_keys (org_id, key, fingerprint, token, started_at) SELECT ?0, id::text, '', id, now() FROM checks`,
	"INSERT INTO mail_quotas (name, started_at, used) SELECT id::text, now(), 1 FROM checks",
	`INSERT INTO signup_requests (hash, email, name, organization, expires_at)
		SELECT uuid_send(id), id || '@example.com', 'n', 'o', now() + interval '1 day' FROM checks`,
	`INSERT INTO maintenance_windows (id, org_id, name, all_checks, check_ids, labels, starts_at, timezone, duration_seconds, rrule, cron,
			probing, uptime, enabled, created_at, updated_at, extended_at)
		SELECT id, ?0, 'w', false, '{}', '{}', now(), 'UTC', 60, 'FREQ=DAILY', '', 'continue', 'exclude', true, now(), now(), now() FROM checks`,
	`INSERT INTO maintenance_occurrences (window_id, org_id, starts_at, ends_at, start_handled, end_handled)
		SELECT id, ?0, now() - interval '1 day', now() - interval '23 hours', true, true FROM checks`,
	"INSERT INTO check_trials (id, org_id, type, config, target, interval_ms, ends) " +
		"SELECT id, ?0, 'http', '{}', 't', 60000, now() + interval '10 minutes' FROM checks",
}

// few is how many rows and entries of indexes a statement may read of one table: pages of an
// index have some hundred entries, and tables of a few rows are read as a whole.
const few = 300

// touched are the rows of tables and the entries of their indexes that were read, and the rows
// that were written.
type touched map[string]struct{ Read, Written int64 }

// touchedSoFar returns what the only connection of a store has touched.
func touchedSoFar(t *testing.T, s *storage.Store) touched {
	t.Helper()
	if _, err := s.DB().ExecContext(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Table   string
		Read    int64
		Written int64
	}
	err := s.DB().NewRaw(`SELECT t.relname AS table, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0) AS read,
			t.n_tup_ins + t.n_tup_upd + t.n_tup_del AS written
		FROM pg_stat_user_tables AS t LEFT JOIN pg_stat_user_indexes AS i USING (relid)
		GROUP BY t.relid, t.relname, t.seq_tup_read, t.n_tup_ins, t.n_tup_upd, t.n_tup_del`).Scan(t.Context(), &rows)
	if err != nil {
		t.Fatal(err)
	}
	all := make(touched)
	for _, row := range rows {
		all[row.Table] = struct{ Read, Written int64 }{row.Read, row.Written}
	}
	return all
}

// awaitOlderTransactions waits until no transaction of the server, also of another database, is older than this call: what
// they may still change is read again from a cursor.
func awaitOlderTransactions(t *testing.T, s *storage.Store) {
	t.Helper()
	var now string
	if err := s.DB().NewRaw("SELECT pg_current_xact_id()::text").Scan(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	eventually(t, "older transactions have ended", func() bool {
		var ended bool
		err := s.DB().NewRaw("SELECT pg_snapshot_xmin(pg_current_snapshot()) > ?::xid8", now).Scan(t.Context(), &ended)
		return err == nil && ended
	})
}

// TestPeriodicStatementsReadWhatIsDue holds that what runs again and again on a platform at
// rest reads only what is due, which is nothing here, and writes nothing: neither the loops
// nor what is kept of the past.
func TestPeriodicStatementsReadWhatIsDue(t *testing.T) {
	t.Parallel()
	// One connection, which publishes what it has touched when it is asked to.
	s := storagetest.New(t, func(o *storage.Options) { o.MaxConns, o.Now = 1, time.Now })
	org := manyLoops(t, s)
	var user uuid.UUID
	if err := s.DB().NewRaw("SELECT id FROM users WHERE org_id = ?", org.ID).Scan(t.Context(), &user); err != nil {
		t.Fatal(err)
	}
	for _, sql := range fullTables {
		if _, err := s.DB().NewRaw(sql, org.ID, user).Exec(t.Context()); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := s.DB().ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
	awaitOlderTransactions(t, s)
	now, shards, old := time.Now(), fleet.EverySweepShard(), time.Now().Add(-time.Hour)
	_, _, cursor, err := s.Definitions(t.Context(), []string{frankfurt}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsurePartitions(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for what, run := range map[string]func(ctx context.Context) error{
		"lagging loops": func(ctx context.Context) error {
			_, err := s.Lagging(ctx, shards, 200)
			return err
		},
		"starting loops": func(ctx context.Context) error {
			_, err := s.Starting(ctx, shards)
			return err
		},
		"loops that wait for their start": func(ctx context.Context) error {
			_, _, err := s.WaitingToStart(ctx, shards, old)
			return err
		},
		"overdue loops": func(ctx context.Context) error {
			_, err := s.Overdue(ctx, now, 5*time.Second, []string{newark}, shards, 200)
			return err
		},
		"loops that have not begun": func(ctx context.Context) error {
			_, err := s.NotBegun(ctx, 10*time.Second, []string{newark}, shards, 200)
			return err
		},
		"tombstones": func(ctx context.Context) error {
			_, err := s.Tombstones(ctx, shards, 200)
			return err
		},
		"unobserved loops": func(ctx context.Context) error {
			_, err := s.UnobservedLoops(ctx)
			return err
		},
		"unobserved checks": func(ctx context.Context) error {
			_, err := s.Unobserved(ctx, now, old, shards, 200)
			return err
		},
		"checks that are observed again": func(ctx context.Context) error {
			_, err := s.ObservedAgain(ctx, now, shards, 200)
			return err
		},
		"silent regions": func(ctx context.Context) error {
			_, err := s.Silences(ctx, now, old, shards, 200)
			return err
		},
		"stalled incidents": func(ctx context.Context) error {
			_, err := s.StalledIncidents(ctx, now, shards, 200)
			return err
		},
		"unhandled votes": func(ctx context.Context) error {
			_, err := s.UnhandledVotes(ctx, now, shards, 200)
			return err
		},
		"stalled deliveries": func(ctx context.Context) error {
			_, err := s.StalledDeliveries(ctx, now, shards, 200)
			return err
		},
		"places of deliveries": func(ctx context.Context) error {
			_, err := s.AdmitDeliveries(ctx, 200)
			return err
		},
		"ends of maintenance": func(ctx context.Context) error {
			_, err := s.EndedHolds(ctx, shards, 200)
			return err
		},
		"results in maintenance": func(ctx context.Context) error {
			_, err := s.DueReclassifications(ctx, shards, 200)
			return err
		},
		"the catalogue": func(ctx context.Context) error {
			_, _, _, err := s.Definitions(ctx, []string{newark}, cursor)
			return err
		},
		"regions in use": func(ctx context.Context) error {
			_, err := s.RegionsInUse(ctx, vigil.RegionKeys())
			return err
		},
		"uncounted results": func(ctx context.Context) error {
			_, err := s.CountResults(ctx)
			return err
		},
		"ends of keys": func(ctx context.Context) error {
			_, err := s.ClaimKeyEnds(ctx, 100)
			return err
		},
		"expired checks": func(ctx context.Context) error {
			_, err := s.ExpireChecks(ctx, now)
			return err
		},
		"the retention":     func(ctx context.Context) error { return s.DropExpired(ctx, now, storage.DefaultRetention()) },
		"partitions":        func(ctx context.Context) error { return s.EnsurePartitions(ctx, now) },
		"later maintenance": s.ExtendMaintenance,
	} {
		before := touchedSoFar(t, s)
		if err := run(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var much []string
		for table, after := range touchedSoFar(t, s) {
			read, written := after.Read-before[table].Read, after.Written-before[table].Written
			if read > few || written > 0 {
				much = append(much, fmt.Sprintf("%d rows of %s, and writes %d", read, table, written))
			}
		}
		if sort.Strings(much); len(much) > 0 {
			t.Errorf("%s: reads %s", what, strings.Join(much, "; "))
		}
	}
}
