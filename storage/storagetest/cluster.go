// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Cluster is a Postgres server that listens on a Unix socket in its directory.
type Cluster struct {
	bin      *binaries
	dir      string
	settings []string
}

const (
	superuser    = "postgres"
	startTimeout = "60" // seconds
	startTries   = 20   // of Start, one second apart
)

// DisposableSettings are the settings of a server whose data may be lost in a crash.
func DisposableSettings() []string {
	return []string{
		"fsync=off", "synchronous_commit=off", "full_page_writes=off",
		"wal_level=minimal", "max_wal_senders=0", "max_wal_size=256MB", // the data may be in memory
	}
}

// StartCluster starts a server for one test, which may stop and restart it. It uses the
// default settings of Postgres, so that data survives a crash, except for settings given
// as name=value. It is removed after the test.
func StartCluster(tb testing.TB, settings ...string) *Cluster {
	tb.Helper()
	c := newCluster(tb, settings)
	if err := errors.Join(c.create(), c.start()); err != nil {
		tb.Fatal(err)
	}
	return c
}

// newCluster returns a server that has no data yet. It is stopped and removed after the test.
func newCluster(tb testing.TB, settings []string) *Cluster {
	tb.Helper()
	bin, err := findBinaries()
	if err != nil {
		tb.Fatal(err)
	}
	// tb.TempDir is closed to the server's user, and its path is too long for a socket.
	dir, err := os.MkdirTemp(bin.baseDir(slices.Contains(settings, "fsync=off")), "vigil-pg-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{bin: bin, dir: dir, settings: settings}
	tb.Cleanup(func() {
		c.stop("immediate")
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove the cluster: %v", err)
		}
	})
	return c
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// DSN returns the URL of a database of the cluster, with its superuser.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=5432&sslmode=disable", superuser, database, c.dir)
}

// create replaces the cluster in the directory, if there is one, by an empty one.
func (c *Cluster) create() error {
	c.stop("immediate")
	if err := os.RemoveAll(c.data()); err != nil {
		return fmt.Errorf("remove the old cluster: %w", err)
	}
	if err := c.bin.makeOwnedDir(c.dir); err != nil {
		return err
	}
	return c.bin.run(c.dir, "initdb", "-D", c.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
}

func (c *Cluster) start() error {
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s' -c port=5432 -c max_connections=300 -c jit=off", c.dir)
	for _, setting := range c.settings {
		options += " -c " + setting
	}
	return c.bin.run(c.dir, "pg_ctl", "start", "-w", "-t", startTimeout, "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o", options)
}

// stop stops the server if one runs in the directory.
func (c *Cluster) stop(mode string) {
	if _, err := os.Stat(filepath.Join(c.data(), "postmaster.pid")); err == nil {
		_ = c.bin.run(c.dir, "pg_ctl", "stop", "-w", "-t", startTimeout, "-m", mode, "-D", c.data()) // fails when the server has already ended
	}
}

// Stop stops the server immediately and breaks its connections, as a crash does.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.stop("immediate")
	if c.responds(tb.Context()) {
		tb.Fatal("the server still answers")
	}
}

// Start starts the server again. It retries for up to 20 s, because after a crash a new
// server cannot start before the remaining processes of the old one have ended.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	var err error
	for range startTries {
		if err = c.start(); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
	tb.Fatal(err)
}

// runs reports whether there is a process of the server.
func (c *Cluster) runs() bool { return c.bin.run(c.dir, "pg_ctl", "status", "-D", c.data()) == nil }

// responds reports whether the server runs. A server that refuses the connection, because
// it is busy, runs too: other tests may be using it.
func (c *Cluster) responds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN("postgres"))
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return true
	}
	if err != nil {
		return c.runs() // its socket had no room for one more connection just now
	}
	return conn.Close(ctx) == nil
}

// StartStandby starts a hot standby that follows the cluster, which must have the default settings of replication. It is removed
// after the test.
func (c *Cluster) StartStandby(tb testing.TB) *Cluster {
	tb.Helper()
	s := newCluster(tb, c.settings)
	if err := s.bin.makeOwnedDir(s.dir); err != nil {
		tb.Fatal(err)
	}
	// -R notes that it is a standby, and whom it follows.
	copied := s.bin.run(s.dir, "pg_basebackup", "-D", s.data(), "-h", c.dir, "-p", "5432", "-U", superuser, "-R", "-c", "fast", "--no-sync")
	if err := errors.Join(copied, s.start()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Log returns what the server has logged.
func (c *Cluster) Log(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Promote makes a standby a primary.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	if err := c.bin.run(c.dir, "pg_ctl", "promote", "-w", "-t", startTimeout, "-D", c.data()); err != nil {
		tb.Fatal(err)
	}
}
