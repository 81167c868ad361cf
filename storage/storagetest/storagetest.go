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

// New returns a store on a fresh, migrated database. Both are gone after the
// test; the database of a failed test stays for a look.
func New(tb testing.TB, change ...func(*storage.Options)) *storage.Store {
	tb.Helper()
	return Open(tb, DSN(tb), change...)
}

// Open opens a store on a database for the time of a test, with the keys of Keys
// and the policies of the real channel types unless change sets others.
func Open(tb testing.TB, dsn string, change ...func(*storage.Options)) *storage.Store {
	tb.Helper()
	opts := storage.Options{Keys: Keys(tb), Policies: notify.Policies(), MaxConns: 8}
	for _, one := range change {
		one(&opts)
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

// Keys is a keyring that every test may know.
func Keys(tb testing.TB) *vigil.Keyring {
	tb.Helper()
	keys, err := vigil.NewKeyring(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

// DSN returns the address of a fresh database with the newest schema.
func DSN(tb testing.TB) string {
	tb.Helper()
	return pgtestdb.Custom(tb, server(tb), schema{}).URL()
}

// EmptyDSN returns the address of a fresh database without any schema.
func EmptyDSN(tb testing.TB) string {
	tb.Helper()
	return pgtestdb.Custom(tb, server(tb), pgtestdb.NoopMigrator{}).URL()
}

// schema makes pgtestdb's template: the database that all others are copies of.
type schema struct{}

// Hash changes with every change of a migration.
func (schema) Hash() (string, error) { return migrations.Digest() }

// Migrate brings the template up to date.
func (schema) Migrate(ctx context.Context, _ *sql.DB, config pgtestdb.Config) error {
	store, err := storage.Open(ctx, config.URL(), storage.Options{MaxConns: 3})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Migrate(ctx)
	return err
}

// server says where the databases of tests are made.
func server(tb testing.TB) pgtestdb.Config {
	tb.Helper()
	given := os.Getenv("VIGIL_TEST_DATABASE_URL")
	if given == "" {
		// A test's own context may be over in its cleanup; this one is not.
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
	if len(host) > 0 && host[0] == '/' { // a socket's directory is no host of a URL
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
