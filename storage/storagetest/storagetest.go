package storagetest

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of pgtestdb
	"github.com/peterldowns/pgtestdb"

	"vigil"
	"vigil/notify"
	"vigil/storage"
	"vigil/storage/migrations"
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

// Keys returns a fixed keyring for tests.
func Keys(tb testing.TB) *vigil.Keyring {
	tb.Helper()
	keys, err := vigil.NewKeyring(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// DSN returns the URL of a new database with the latest schema. With VIGIL_TEST_POOLER=yes
// it leads through a PgBouncer in transaction mode.
func DSN(tb testing.TB) string {
	tb.Helper()
	dsn := pgtestdb.Custom(tb, server(tb), schema{}).URL()
	if os.Getenv("VIGIL_TEST_POOLER") != "" {
		return StartPooler(tb, dsn)
	}
	return dsn
}

// EmptyDSN returns the URL of a new database without a schema.
func EmptyDSN(tb testing.TB) string {
	tb.Helper()
	return pgtestdb.Custom(tb, server(tb), pgtestdb.NoopMigrator{}).URL()
}

// schema creates the template of pgtestdb: the database that new ones are copied from.
type schema struct{}

// Hash identifies the schema: it changes when a migration changes.
func (schema) Hash() (string, error) { return migrations.Digest() }

// Migrate applies all migrations to the template.
func (schema) Migrate(ctx context.Context, _ *sql.DB, config pgtestdb.Config) error {
	store, err := storage.Open(ctx, config.URL(), storage.Options{MaxConns: 3})
	if err != nil {
		return err
	}
	defer store.Close() //nolint:contextcheck // it bounds its own work
	_, err = store.Migrate(ctx)
	return err
}

// server returns the server on which the databases of tests are created.
func server(tb testing.TB) pgtestdb.Config {
	tb.Helper()
	given := os.Getenv("VIGIL_TEST_DATABASE_URL")
	if given == "" {
		// In a cleanup function the test's own context has already ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*time.Minute)
		defer cancel()
		cluster, err := sharedCluster(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		cluster.keepAlive(tb)
		given = cluster.DSN("postgres")
	}
	config, err := pgx.ParseConfig(given)
	if err != nil {
		tb.Fatalf("read VIGIL_TEST_DATABASE_URL: %v", err)
	}
	options := url.Values{"sslmode": {"disable"}}
	if config.TLSConfig != nil {
		options.Set("sslmode", "require")
	}
	host := config.Host
	if len(host) > 0 && host[0] == '/' { // a URL cannot have a socket's directory as its host
		options.Set("host", host)
		host = ""
	} else if net.ParseIP(host) != nil && bytes.ContainsRune([]byte(host), ':') {
		host = "[" + host + "]"
	}
	return pgtestdb.Config{
		DriverName: "pgx", Host: host, Port: strconv.Itoa(int(config.Port)), User: config.User,
		Password: url.QueryEscape(config.Password), Database: config.Database, Options: options.Encode(),
		ForceTerminateConnections: true,
	}
}
