// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestBehindPgBouncer runs the store behind a real PgBouncer in transaction mode.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	s := storagetest.Open(t, storagetest.StartPooler(t, storagetest.EmptyDSN(t)), func(o *storage.Options) { o.Now = epoch })
	if !s.Pooled() {
		t.Fatal("the proxy was not found")
	}
	var migrations sync.WaitGroup
	for range 2 { // one waits for the other
		migrations.Go(func() {
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	migrations.Wait()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.EnsurePartitions(t.Context(), epoch()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SealConfigs(t.Context()); err != nil {
		t.Error(err)
	}

	t.Run("StoresTheResultsOfManyLoopsAndConnections", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		w, other := newWriter(t, s, storage.WriterOptions{}), newWriter(t, s, storage.WriterOptions{})
		var wg sync.WaitGroup
		const loops, rounds = 30, 10
		for range loops {
			c := newCheck(t, s, draft(org.ID, newark))
			slots := slotsOf(scheduleOf(t, s, c, newark), epoch().Add(1), epoch().Add(time.Hour))[:rounds]
			wg.Go(func() {
				for i, slot := range slots {
					write(t, []*storage.ResultWriter{w, other}[i%2], ok(c, newark, slot))
					if _, err := s.Uptime(t.Context(), org.ID, c.ID, time.Hour, false); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := count(
			t,
			s,
			"SELECT count(*) FROM results AS r JOIN checks AS c ON c.id = r.check_id WHERE c.org_id = ?",
			org.ID,
		); n != loops*rounds {
			t.Errorf("%d results of %d", n, loops*rounds)
		}
	})

	t.Run("ATransactionHasLimits", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		tx, err := s.DB().BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.NewRaw("SELECT FROM checks WHERE id = ? FOR UPDATE", c.ID).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		_, err = s.UpdateCheck(ctx, org.ID, c.ID, unlimited(), func(*vigil.Check) error { return nil })
		wantCode(t, err, vigil.CodeUnavailable)
		if err == nil || !strings.Contains(err.Error(), "55P03") {
			t.Errorf("it did not end by the lock timeout: %v", err)
		}
	})

	t.Run("DoesNotListen", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.ListenEvents(ctx, func(uuid.UUID) {}) }()
		if n := count(t, s, "SELECT count(*) FROM pg_listening_channels()"); n != 0 {
			t.Errorf("%d channels", n)
		}
		select {
		case err := <-ended:
			t.Errorf("it ended: %v", err)
		default:
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("it ended without an error")
		}
	})

	t.Run("LeavesNoSettingToOthers", func(t *testing.T) {
		t.Parallel()
		for range 20 {
			var limit string
			if err := s.DB().NewRaw("SELECT current_setting('lock_timeout')").Scan(t.Context(), &limit); err != nil || limit != "0" {
				t.Errorf("lock_timeout is %q outside of a transaction, %v", limit, err)
			}
		}
	})

	t.Run("ManyStatementsOfBun", func(t *testing.T) {
		t.Parallel()
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				var got int
				if err := s.DB().NewRaw("SELECT ?::int + ?", i, bun.Safe("1")).Scan(t.Context(), &got); err != nil || got != i+1 {
					t.Errorf("%d: %d, %v", i, got, err)
				}
			})
		}
		wg.Wait()
	})
}

// TestSuiteBehindPgBouncer runs the tests of what the platform does all the time once more,
// with every store behind a PgBouncer.
func TestSuiteBehindPgBouncer(t *testing.T) {
	t.Parallel()
	if os.Getenv("VIGIL_TEST_POOLER") != "" || testing.Short() {
		t.Skip("this is the second run, or a short one")
	}
	storagetest.StartPooler(t, storagetest.EmptyDSN(t)) // skips where there is none
	const tests = "^(TestResultWriter|TestConcurrentWriters|TestWriterPastLocks|TestCreateCheck|TestUpdateCheck|TestDeleteCheck|" +
		"TestResolveIncident|TestClaimAttempt|TestSaveVote|TestUptime|TestLeases|TestChannel|TestDefinitions|" +
		"TestTombstones|TestLagging|TestStreamHeads|TestEnsurePartitions|TestSealConfigs|TestGaps|TestTimeline)$"
	cmd := exec.CommandContext(
		t.Context(),
		os.Args[0],
		"-test.run",
		tests,
		"-test.v",
		"-test.timeout",
		"8m",
	)
	cmd.Env = append(os.Environ(), "VIGIL_TEST_POOLER=yes")
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "--- PASS")
	if err != nil || passed < 20 {
		t.Errorf("%v after %d passed tests:\n%s", err, passed, out[max(0, len(out)-20_000):])
	}
	t.Logf("%d tests passed behind PgBouncer", passed)
}
