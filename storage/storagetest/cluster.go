package storagetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Cluster is a Postgres server that answers on a socket in its directory.
type Cluster struct {
	bin      *binaries
	dir      string
	settings []string
}

const (
	superuser    = "postgres"
	startTimeout = "60" // seconds
	// startTries is how often Start tries, a second apart.
	startTries = 20
)

// disposableSettings are the settings of a server whose data nobody will miss.
func disposableSettings() []string {
	return []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}
}

// StartCluster starts a server for one test alone, which may stop it, kill it
// and start it again. It keeps Postgres's own settings, so that it survives a
// kill, but for those given as name=value. It is gone after the test.
func StartCluster(tb testing.TB, settings ...string) *Cluster {
	tb.Helper()
	bin, err := findBinaries(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(bin.baseDir(), "vigil-pg-") //nolint:usetesting // the server's user cannot enter tb.TempDir, nor is a socket's path there short enough
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
	if err := errors.Join(c.create(), c.start()); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// DSN addresses a database of the cluster as its superuser.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=5432&sslmode=disable", superuser, database, c.dir)
}

// create makes an empty cluster in place of whatever is there.
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
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s' -c port=5432 -c max_connections=300", c.dir)
	for _, setting := range c.settings {
		options += " -c " + setting
	}
	return c.bin.run(c.dir, "pg_ctl", "start", "-w", "-t", startTimeout, "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o", options)
}

// stop ends the server if one runs in the directory.
func (c *Cluster) stop(mode string) {
	if _, err := os.Stat(filepath.Join(c.data(), "postmaster.pid")); err == nil {
		_ = c.bin.run(c.dir, "pg_ctl", "stop", "-w", "-t", startTimeout, "-m", mode, "-D", c.data()) // one that is gone already is as good
	}
}

// Stop ends the server at once, connections and all, as a crash would.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.stop("immediate")
	if c.responds(tb.Context()) {
		tb.Fatal("the server still answers")
	}
}

// Start starts the server again. After a crash the processes that are left need
// a moment to notice, and until then no server starts.
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

// responds says whether the server lives. One that is busy must not be taken for
// dead, since others may be using it: a refusal is an answer too.
func (c *Cluster) responds(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN("postgres"))
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return true
	}
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}
