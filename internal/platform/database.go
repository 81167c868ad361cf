// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
)

// DatabaseFile is where `vigil up` writes the connection string of its private
// Postgres for other commands. It holds the password; only its owner may read it.
const DatabaseFile = "database.url"

// SaveDatabaseURL writes the connection string of the private Postgres into the data
// directory.
func SaveDatabaseURL(dataDir, dsn string) error {
	path := filepath.Join(dataDir, DatabaseFile)
	draft := path + ".new"
	if err := standalone.WritePrivate(draft, dsn+"\n"); err != nil {
		return fmt.Errorf("save the address of the database: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("save the address of the database: %w", err)
	}
	return nil
}

// DatabaseURL is the connection string of the settings, else of the private Postgres.
func DatabaseURL(s *Settings) (string, error) {
	if s.DatabaseURL != "" {
		return s.DatabaseURL, nil
	}
	path := filepath.Join(s.DataDir, DatabaseFile)
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the directory
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no database yet in %s; start `vigil up` first, or set DATABASE_URL or VIGIL_DATA_DIR", s.DataDir)
	case err != nil:
		return "", fmt.Errorf(
			"the address of the database cannot be read (%w); run this as the user who runs `vigil up`, or set DATABASE_URL", err,
		)
	}
	return strings.TrimSpace(string(text)), nil
}

// maxConns bounds the connections of a process to Vigil's own database, beside the five
// of results and leases and the one that listens for events. With the 80 of the embedded
// Temporal server they are the 97 that an untouched Postgres grants to ordinary users.
const maxConns = 11

// smallConns is the same on a small machine.
const smallConns = 6

// openStore opens the database for a process that runs until it is stopped. It refuses one
// from before the baseline, and writes nothing.
func (p *Process) openStore(
	ctx context.Context, dsn string, s *Settings, conns int, keys *secret.Keyring,
) (*storage.Store, error) {
	store, err := storage.Open(ctx, dsn, p.storeOptions(s, conns, keys))
	if err != nil {
		return nil, err
	}
	if store.Pooled() {
		p.Log.InfoContext(ctx, "a transaction pooler is in front of Postgres: alert streams find new events by a poll each second")
	}
	p.closeLast(store)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	go p.clock.follow(following, store.Clock)
	p.onStopBy(serverBy, func(context.Context) { stop() })
	return store, nil
}

// storeOptions are those of the databases of a process that runs until it is stopped.
func (p *Process) storeOptions(s *Settings, conns int, keys *secret.Keyring) storage.Options {
	return storage.Options{
		Keys: keys, Secrets: ConfigSecrets(), Policies: notify.Policies(), Pooler: s.DatabasePooler, MaxConns: conns, Now: p.clock.Now,
		Log: p.Log, Results: s.ResultsDatabases,
	}
}

// closeLast closes a database when the process stops, after what uses it.
func (p *Process) closeLast(store io.Closer) {
	p.onStopBy(serverBy, func(ctx context.Context) {
		if err := store.Close(); err != nil {
			p.Log.WarnContext(ctx, "database not closed cleanly", "error", err)
		}
	})
}

// migrateStore brings the schema of a database up to date.
func migrateStore(ctx context.Context, store *storage.Store) error {
	if _, err := store.Migrate(ctx); err != nil {
		return err
	}
	return store.EnsurePartitions(ctx, time.Now())
}

// Database is the name of Vigil's own database in a private cluster.
const Database = "vigil"
