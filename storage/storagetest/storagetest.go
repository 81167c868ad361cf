// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/migrations"
)

// New returns a store on a new database with the latest schema. Both are removed after
// the test; the database of a failed test is kept for inspection.
func New(tb testing.TB, change ...func(*storage.Options)) *storage.Store {
	tb.Helper()
	return Open(tb, DSN(tb), change...)
}

// Open opens a store on a database and closes it after the test. It uses the keyring of
// Keys, the delivery policies of the real channel types and 8 connections; change may set
// other options.
func Open(tb testing.TB, dsn string, change ...func(*storage.Options)) *storage.Store {
	tb.Helper()
	opts := storage.Options{Keys: Keys(tb), Policies: notify.Policies(), MaxConns: 8}
	if os.Getenv("VIGIL_TEST_RESULTS") != "" {
		opts.Results = resultsOf(tb, dsn)
	}
	for _, apply := range change {
		apply(&opts)
	}
	store, err := storage.Open(tb.Context(), dsn, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// ResultsDSN returns the URL of a new database for results alone, with the latest schema.
func ResultsDSN(tb testing.TB) string {
	tb.Helper()
	digest, err := migrations.ResultsDigest()
	if err != nil {
		tb.Fatal(err)
	}
	return newDatabase(tb, resultsTemplate+digest)
}

// resultsOf returns databases for the results of the stores of a database: one for a region of the tests, and one for all others.
// They are the same ones for each store.
func resultsOf(tb testing.TB, dsn string) []storage.ResultsDatabase {
	tb.Helper()
	apart.mu.Lock()
	defer apart.mu.Unlock()
	if apart.of[dsn] == nil {
		apart.of[dsn] = []storage.ResultsDatabase{{DSN: ResultsDSN(tb)}, {Region: "eu-central-fra", DSN: ResultsDSN(tb)}}
	}
	return apart.of[dsn]
}

//nolint:gochecknoglobals // of the process
var apart = struct {
	mu sync.Mutex
	of map[string][]storage.ResultsDatabase
}{of: make(map[string][]storage.ResultsDatabase)}

// Keys returns a fixed keyring for tests.
func Keys(tb testing.TB) *secret.Keyring {
	tb.Helper()
	keys, err := secret.NewKeyring(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// DSN returns the URL of a new database with the latest schema. With VIGIL_TEST_POOLER=yes
// it leads through a PgBouncer in transaction mode.
func DSN(tb testing.TB) string {
	tb.Helper()
	template, err := schemaTemplate()
	if err != nil {
		tb.Fatal(err)
	}
	dsn := newDatabase(tb, template)
	if os.Getenv("VIGIL_TEST_POOLER") != "" {
		return StartPooler(tb, dsn)
	}
	return dsn
}

// EmptyDSN returns the URL of a new database without a schema.
func EmptyDSN(tb testing.TB) string {
	tb.Helper()
	return newDatabase(tb, "")
}

// server returns the connection string of the server on which the databases of tests are
// created.
func server(tb testing.TB) string {
	tb.Helper()
	if given := os.Getenv("VIGIL_TEST_DATABASE_URL"); given != "" {
		return given
	}
	// In a cleanup function the test's own context has already ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*time.Minute)
	defer cancel()
	cluster, err := sharedCluster(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	cluster.keepAlive(tb)
	return cluster.DSN("postgres")
}
