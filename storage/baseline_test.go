// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// formerDatabase makes an empty database one from before the baseline: its migrations are
// recorded, and it has a table with a row.
func formerDatabase(t *testing.T, dsn string) {
	t.Helper()
	conn := connect(t, dsn)
	_, err := conn.Exec(t.Context(), `
		CREATE TABLE bun_migrations (id bigserial PRIMARY KEY, name varchar, group_id bigint,
			migrated_at timestamptz NOT NULL DEFAULT current_timestamp);
		CREATE TABLE bun_migration_locks (id bigserial PRIMARY KEY, table_name varchar UNIQUE);
		INSERT INTO bun_migrations (name, group_id) VALUES ('0001', 1), ('0035', 1), ('0113', 2);
		CREATE TABLE organizations (id uuid PRIMARY KEY, name text NOT NULL);
		INSERT INTO organizations VALUES ('00000000-0000-0000-0000-000000000001', 'Example')`)
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// contentOf lists all relations of a database and the rows of its tables.
func contentOf(t *testing.T, dsn string) (lines []string) {
	t.Helper()
	conn := connect(t, dsn)
	rows, err := conn.Query(t.Context(), `SELECT relkind::text || ' ' || relname, CASE WHEN relkind = 'r' THEN
			query_to_xml(format('SELECT * FROM %I ORDER BY 1', relname), true, false, '')::text ELSE '' END
		FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var relation, content string
	if _, err := pgx.ForEachRow(rows, []any{&relation, &content}, func() error {
		lines = append(lines, relation+" "+content)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// refused holds that an error says in one sentence what the database is, and what to do.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	text := vigil.ErrorMessage(err)
	if vigil.ErrorCode(err) != vigil.CodeConflict || strings.Count(text, ".") != 1 ||
		!strings.Contains(text, "before the baseline") || !strings.Contains(text, "`vigil export`") || !strings.Contains(text, "`vigil apply`") {
		t.Errorf("%s: %v, want a refusal", what, err)
	}
}

func TestDatabaseFromBeforeTheBaseline(t *testing.T) {
	t.Parallel()

	t.Run("IsNotOpened", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.EmptyDSN(t)
		formerDatabase(t, dsn)
		before := contentOf(t, dsn)
		s, err := storage.Open(t.Context(), dsn, storage.Options{})
		refused(t, "open", err)
		if err == nil {
			_ = s.Close()
		}
		equal(t, contentOf(t, dsn), before)
	})

	t.Run("IsNotMigrated", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.EmptyDSN(t)
		s := storagetest.Open(t, dsn) // the other version migrates the database afterwards
		formerDatabase(t, dsn)
		before := contentOf(t, dsn)
		_, err := s.Migrate(t.Context())
		refused(t, "migrate", err)
		_, err = s.MigrateTo(t.Context(), "1001")
		refused(t, "migrate --to", err)
		refused(t, "migrate --down", s.MigrateDown(t.Context()))
		refused(t, "ready", s.Ready(t.Context()))
		equal(t, contentOf(t, dsn), before)
	})

	t.Run("IsKnownByItsSchema", func(t *testing.T) {
		t.Parallel()
		newest, err := storage.NewestSchema()
		if err != nil {
			t.Fatal(err)
		}
		former := slices.DeleteFunc([]string{"0001", "0113", "", "1001", newest}, func(name string) bool { return !storage.BeforeBaseline(name) })
		equal(t, former, []string{"0001", "0113"})
	})
}
