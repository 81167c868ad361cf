// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// catalogOf describes every table, column, constraint and index of a database.
func catalogOf(t *testing.T, s *storage.Store) []string {
	t.Helper()
	var lines []string
	err := s.DB().NewRaw(`
		SELECT format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
				pg_get_expr(d.adbin, d.adrelid))
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
				AND c.relname NOT LIKE 'bun_%'
		UNION ALL SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'bun_%'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'bun_%'
		ORDER BY 1`).Scan(t.Context(), &lines)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("UpDownAndUpAgainGivesTheSameSchema", func(t *testing.T) {
		t.Parallel()
		s := storagetest.Open(t, storagetest.EmptyDSN(t))
		ctx := t.Context()
		if err := s.Ready(ctx); vigil.ErrorCode(err) != vigil.CodeUnavailable {
			t.Errorf("an empty database is ready: %v", err)
		}
		n, err := s.Migrate(ctx)
		if err != nil || n == 0 {
			t.Fatalf("%d steps, %v", n, err)
		}
		if err := s.Ready(ctx); err != nil {
			t.Error(err)
		}
		first := catalogOf(t, s)
		if len(first) < 50 {
			t.Fatalf("only %d objects were created: %v", len(first), first)
		}
		if err := s.EnsurePartitions(ctx, epoch()); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Migrate(ctx); n != 0 || err != nil {
			t.Errorf("a second run took %d steps, %v", n, err)
		}
		if err := s.MigrateDown(ctx); err != nil {
			t.Fatal(err)
		}
		if left := catalogOf(t, s); len(left) != 0 {
			t.Errorf("left after going down: %v", left)
		}
		if err := s.Ready(ctx); vigil.ErrorCode(err) != vigil.CodeUnavailable {
			t.Errorf("ready without a schema: %v", err)
		}
		if _, err := s.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		equal(t, catalogOf(t, s), first)
	})

	t.Run("BackToAMigrationAndUpAgainGivesTheSameSchema", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		newest := catalogOf(t, s)
		reverted, err := s.MigrateTo(t.Context(), "1006")
		if err != nil || len(reverted) < 5 || !slices.Contains(reverted, "1007_incidents") ||
			slices.Contains(reverted, "1006_rules") {
			t.Errorf("reverted %v, %v", reverted, err)
		}
		if !slices.IsSortedFunc(reverted, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("reverted %v, want the newest first", reverted)
		}
		if again, err := s.MigrateTo(t.Context(), "1006"); err != nil || len(again) > 0 {
			t.Errorf("reverted %v again, %v", again, err)
		}
		if n, err := s.Migrate(t.Context()); err != nil || n != len(reverted) {
			t.Errorf("%d steps up, %v, want %d", n, err, len(reverted))
		}
		equal(t, catalogOf(t, s), newest)
	})

	t.Run("BackToAnUnknownMigrationIsRefused", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		if reverted, err := s.MigrateTo(t.Context(), "1999"); err == nil || len(reverted) > 0 {
			t.Errorf("reverted %v", reverted)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})

	t.Run("MigrationThatWasNotRecordedRunsAgain", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM bun_migrations WHERE id = (SELECT max(id) FROM bun_migrations)"); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Migrate(t.Context()); n != 1 || err != nil {
			t.Errorf("%d steps, %v", n, err)
		}
	})

	t.Run("OneOfManyConcurrentCallsMigrates", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.EmptyDSN(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		worked := 0
		for range 4 {
			s := storagetest.Open(t, dsn)
			wg.Go(func() {
				n, err := s.Migrate(t.Context())
				if err != nil {
					t.Error(err)
				}
				if n > 0 {
					mu.Lock()
					worked++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if worked != 1 {
			t.Errorf("%d did the work", worked)
		}
	})

	t.Run("WaitsForALongTransactionWithoutBlockingOthers", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.DSN(t)
		var log lockedBuffer
		s := storagetest.Open(t, dsn, func(o *storage.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM bun_migrations WHERE name = '1007'"); err != nil {
			t.Fatal(err)
		}
		pid, release := hold(t, dsn, "incidents IN ROW EXCLUSIVE MODE")
		stop := longestWait(t, storagetest.Open(t, dsn), "UPDATE incidents SET note = '' WHERE false")
		type outcome struct {
			n   int
			err error
		}
		done := make(chan outcome, 1)
		go func() {
			n, err := s.Migrate(t.Context())
			done <- outcome{n, err}
		}()
		eventually(t, "the log says what the migration waits for, and that it tries again", func() bool {
			text := log.String()
			return strings.Contains(text, fmt.Sprintf("pid %d (vigil", pid)) && strings.Contains(text, "migration=1007_incidents") &&
				strings.Count(text, "will be tried again") > 1
		})
		select {
		case out := <-done:
			t.Fatalf("the migration did not wait: %+v", out)
		default:
		}
		if longest := stop(); longest > 2*time.Second {
			t.Errorf("a writer waited for %v", longest)
		} else {
			t.Logf("the longest wait of a writer was %v, for a lock that is waited for 250 ms", longest)
		}
		release()
		if out := <-done; out.n != 1 || out.err != nil {
			t.Errorf("%d steps, %v", out.n, out.err)
		}
	})

	t.Run("LockOfAKilledMigrationIsFree", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.EmptyDSN(t)
		blocker, s := storagetest.Open(t, dsn), storagetest.Open(t, dsn)
		conn, err := blocker.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var pid int
		err = conn.NewRaw("SELECT pg_backend_pid() FROM pg_advisory_lock(?)", int64(0x7669_6769_6c00_0001)).Scan(t.Context(), &pid)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := s.Migrate(context.WithoutCancel(t.Context()))
			done <- err
		}()
		eventually(t, "a session waits for the lock", func() bool {
			var waiting bool
			err := blocker.DB().NewRaw(`SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
				WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted)`).Scan(t.Context(), &waiting)
			return err == nil && waiting
		})
		if _, err := blocker.DB().NewRaw("SELECT pg_terminate_backend(?)", pid).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTablesOfResultsAreAlike: a later migration of the one database of results is one of the other.
func TestTablesOfResultsAreAlike(t *testing.T) {
	t.Parallel()
	s, _ := newApart(t)
	var tables [2][]string
	for i, db := range s.ResultDBs()[:2] {
		err := db.NewRaw(`SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name IN ('results', 'result_rollups', 'uncounted_results') AND column_name <> 'stored_at'
			ORDER BY 1`).Scan(t.Context(), &tables[i])
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(tables[0]) < 30 {
		t.Errorf("%d columns", len(tables[0]))
	}
	equal(t, tables[1], tables[0])
}
