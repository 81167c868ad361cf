// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"database/sql"
	"net"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// database returns an empty database on its own Postgres server, which listens on
// TCP because Temporal needs that. Both are removed after the test.
func database(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	storagetest.StartCluster(t, "listen_addresses=127.0.0.1", "port="+port, "fsync=off")
	server := "postgres://postgres@" + address + "/"
	query(t, server+"postgres?sslmode=disable", "CREATE DATABASE vigil")
	return server + "vigil?sslmode=disable"
}

// openDatabase returns connections to a database, which are kept: a test that waits for a row asks many times a second, and
// a connection costs Postgres more than most answers.
func openDatabase(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	const kept = 4
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(kept)
	db.SetMaxIdleConns(kept)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// query runs statements on a database, and keeps no connection.
func query(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// dataDir returns an empty directory that the Postgres user can enter, unlike
// t.TempDir.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(storagetest.BaseDir(), "vigil-data-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
