// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestSweepQueriesUseTheirIndexes holds that the queries of each second do not read all
// loops, for any shards.
func TestSweepQueriesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	const loops = 10_000
	manyLoops(t, s)
	common := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	for generation := range int64(2) { // the second one after a loss
		if _, err := s.AdvanceTemporalGeneration(t.Context(), common, generation+1); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	lagging, err := s.Lagging(t.Context(), fleet.EverySweepShard(), loops)
	if err != nil || len(lagging) != loops {
		t.Fatalf("%d loops lag, %v", len(lagging), err)
	}
	t.Logf("%d lagging loops read in %v", loops, time.Since(began))
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE check_regions SET generation = 2"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB().ExecContext(t.Context(), "VACUUM ANALYZE check_regions"); err != nil {
		t.Fatal(err)
	}
	plan := explain(t, s, func() {
		if lagging, err := s.Lagging(t.Context(), fleet.EverySweepShard(), loops); err != nil || len(lagging) != 0 {
			t.Fatalf("%d loops lag, %v", len(lagging), err)
		}
	})
	if strings.Contains(plan, "Seq Scan on check_regions") {
		t.Errorf("all loops are read each second:\n%s", plan)
	}
	t.Logf("%s", plan)
}

// statementLog keeps the statements of a store.
type statementLog struct {
	mu  sync.Mutex
	all []string
}

func (*statementLog) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *statementLog) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, event.Query)
}

// explain returns the plans of the statements that run makes of a store.
func explain(t *testing.T, s *storage.Store, run func()) string {
	t.Helper()
	seen := &statementLog{}
	s.DB().AddQueryHook(seen) //nolint:staticcheck // its replacement returns a copy, which the store does not use
	run()
	var plans strings.Builder
	for _, statement := range seen.all {
		rows, err := s.DB().QueryContext(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF) "+statement)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plans.WriteString(line + "\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return plans.String()
}

// manyLoops stores 10,000 loops that are due within a minute, and returns their organization.
func manyLoops(t *testing.T, s *storage.Store) account.Organization {
	t.Helper()
	org, _ := newOrg(t, s)
	for _, sql := range []string{
		`INSERT INTO checks (id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision,
				created_at, updated_at)
			SELECT gen_random_uuid(), ?, 'c', 'http', '{}', 't', 60000, '{na-east-ewr}', true, true, now(), 1, now(), now()
			FROM generate_series(1, 10000)`,
		`INSERT INTO check_regions (check_id, region, org_id, desired, applied, active, start_at, anchor, interval_ms, counted_until, next_due)
			SELECT id, 'na-east-ewr', org_id, 1, 1, true, now(), now(), 60000, now(), now() + random() * interval '1 minute'
			FROM checks WHERE org_id = ?`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), sql, org.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.DB().ExecContext(t.Context(), "ANALYZE checks, check_regions"); err != nil {
		t.Fatal(err)
	}
	return org
}

// TestWhatIsLateIsReadByIndex: the sweep and the lists read the loops that are due, which are
// few, and not all of them, nor the heartbeats whose jobs may ping later: half of them are due at any time.
func TestWhatIsLateIsReadByIndex(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	org := manyLoops(t, s)
	beats := manyLoops(t, s)
	if _, err := s.DB().ExecContext(t.Context(), `UPDATE check_regions SET region = 'heartbeat', deadline_ms = 660000,
		next_due = next_due - interval '30 seconds' WHERE org_id = ?`, beats.ID); err != nil {
		t.Fatal(err)
	}
	// Without a loop that is due the sweep does not look for those to nudge. This one was nudged.
	if _, err := s.DB().ExecContext(t.Context(), `UPDATE check_regions SET next_due = now() - interval '1 minute', nudged_at = now()
		WHERE check_id = (SELECT id FROM checks WHERE org_id = ? LIMIT 1)`, org.ID); err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() error{
		"the sweep": func() error {
			late, err := s.Overdue(t.Context(), time.Now(), 5*time.Second, []string{newark, vigil.HeartbeatRegion}, fleet.EverySweepShard(), 100)
			if len(late) > 0 {
				t.Errorf("%d loops are late", len(late))
			}
			return err
		},
		"the sweep for what is unobserved": func() error {
			_, err := s.Unobserved(t.Context(), time.Now(), time.Now().Add(-time.Hour), fleet.EverySweepShard(), 100)
			return err
		},
		"the counts of a list": func() error {
			_, err := s.CheckCounts(t.Context(), org.ID, listing.CheckFilter{})
			return err
		},
	} {
		for _, sql := range []string{"UPDATE check_regions SET health = 'healthy'", "VACUUM ANALYZE check_regions"} {
			if _, err := s.DB().ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		plan := explain(t, s, func() {
			if err := read(); err != nil {
				t.Fatal(err)
			}
		})
		if strings.Contains(plan, "Seq Scan on check_regions") || !strings.Contains(plan, "check_regions_due_idx") ||
			!strings.Contains(plan, "check_regions_heartbeat_due_idx") {
			t.Errorf("%s reads all loops:\n%s", what, plan)
		}
	}
}
