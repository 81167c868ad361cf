// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/backup"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage/storagetest"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// formerSchema is a database of Vigil from before the baseline, and formerTemporal one of its
// embedded Temporal, both with a row.
const (
	formerSchema = `CREATE TABLE bun_migrations (id bigserial PRIMARY KEY, name varchar, group_id bigint, migrated_at timestamptz);
		INSERT INTO bun_migrations (name, group_id) VALUES ('0001', 1), ('0113', 1);
		CREATE TABLE organizations (id uuid PRIMARY KEY, name text);
		INSERT INTO organizations VALUES (gen_random_uuid(), 'Example')`
	formerTemporal = `CREATE TABLE executions (shard_id integer PRIMARY KEY, data bytea);
		INSERT INTO executions VALUES (1, 'history')`
)

// execOn runs statements in a database.
func execOn(t *testing.T, dsn, statements string) {
	t.Helper()
	err := withConn(t.Context(), dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), statements)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contentOf describes all tables of a database with their rows.
func contentOf(t *testing.T, dsn string) (content string) {
	t.Helper()
	err := withConn(t.Context(), dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT schema_to_xml('public', true, false, '')::text").Scan(&content)
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func withConn(ctx context.Context, dsn string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

// onCluster starts the private Postgres of a data directory for a while.
func onCluster(t *testing.T, dir string, do func(dsn func(name string) string)) {
	t.Helper()
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: platform.Databases()})
	if err != nil {
		t.Fatal(err)
	}
	do(server.DSN)
	if err := errors.Join(server.Stop(t.Context()), data.Close()); err != nil {
		t.Fatal(err)
	}
}

// refusesFormer runs a command, which must fail with one sentence that says what to do.
func refusesFormer(t *testing.T, args ...string) {
	t.Helper()
	_, stderr, code := vigilRun(t, args...)
	if code == 0 {
		t.Errorf("vigil %s succeeds", args[0])
	}
	for _, want := range []string{"before the baseline", "vigil export", "vigil apply"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("vigil %s says nothing of %q: %s", args[0], want, stderr)
		}
	}
}

// TestDataDirectoryFromBeforeTheBaseline starts the platform on one, and compares what it holds.
func TestDataDirectoryFromBeforeTheBaseline(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "vigil-baseline-") //nolint:usetesting // t.TempDir is closed to the user of Postgres
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	names := platform.Databases()
	key := filepath.Join(dir, platform.SecretKeyFile)
	if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after []string
	onCluster(t, dir, func(dsn func(string) string) {
		execOn(t, dsn(platform.Database), formerSchema)
		execOn(t, dsn(names[1]), formerTemporal)
		execOn(t, dsn(names[2]), formerTemporal)
		for _, name := range names {
			before = append(before, contentOf(t, dsn(name)))
		}
	})
	refusesFormer(t, "up", "--no-login", "--data-dir", dir, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	refusesFormer(t, "backup", filepath.Join(t.TempDir(), "file"), "--data-dir", dir)
	onCluster(t, dir, func(dsn func(string) string) {
		for _, name := range names {
			after = append(after, contentOf(t, dsn(name)))
		}
	})
	if !slices.Equal(before, after) {
		t.Errorf("the databases had\n%s\nand have\n%s", before, after)
	}
	if text, err := os.ReadFile(key); err != nil || string(text) != strings.Repeat("ab", 32)+"\n" {
		t.Errorf("the secret key is %q, %v", text, err)
	}
}

// TestDatabaseFromBeforeTheBaseline has every command that opens the database of DATABASE_URL
// refuse it.
func TestDatabaseFromBeforeTheBaseline(t *testing.T) {
	t.Parallel()
	dsn := storagetest.EmptyDSN(t)
	execOn(t, dsn, formerSchema)
	before := contentOf(t, dsn)
	at := []string{"--database-url", dsn, "--data-dir", t.TempDir()}
	key := []string{"--secret-key", strings.Repeat("ab", 32)}
	refusesFormer(t, append([]string{"migrate"}, at...)...)
	refusesFormer(t, append([]string{"restored"}, at...)...)
	refusesFormer(
		t,
		append(append([]string{"up", "--no-login", "--listen", "127.0.0.1:0", "--temporal-address", "127.0.0.1:1"}, at...), key...)...)
	refusesFormer(t, append(append([]string{"api", "--listen", "127.0.0.1:0", "--temporal-address", "127.0.0.1:1"}, at...), key...)...)
	if after := contentOf(t, dsn); after != before {
		t.Errorf("the database had\n%s\nand has\n%s", before, after)
	}
}

// TestBackupFromBeforeTheBaseline holds that a restore of one refuses it before it writes.
func TestBackupFromBeforeTheBaseline(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{backup.KeyFile: strings.Repeat("ab", 32) + "\n", backup.Platform.File(): "dump"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "vigil.backup")
	err := backup.Create(file, backup.Manifest{
		Version: "0.0.9", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Postgres: 15, Schema: "0113",
		Databases: []backup.Database{{Role: backup.Platform, Name: platform.Database}},
	}, from)
	if err != nil {
		t.Fatal(err)
	}
	refusesFormer(t, "restore", file, "--data-dir", to)
	left, err := filepath.Glob(filepath.Join(to, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			t.Errorf("the restore left %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(to, platform.SecretKeyFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused restore stored a key: %v", err)
	}
}
