// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/storage/migrations"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// role owns the databases of tests. It has no privileges beyond them, as that of an
	// installation, and no secret: the server's data is disposable.
	role = "vigil_test"

	// databaseTimeout bounds the creation and the removal of a database.
	databaseTimeout = 2 * time.Minute

	// templateLock is the advisory lock of the process that creates a template.
	templateLock = 0x7669_6769_6c74
)

// Databases are copied file by file. The other strategy of Postgres logs each page of the copy
// and takes twice the CPU, and the tests create a thousand of them.
const cloneDatabase = `CREATE DATABASE %s TEMPLATE %s OWNER ` + role + ` STRATEGY file_copy`

// newDatabase creates a database from a template, "" for one without a schema, and returns
// its URL. It is removed after the test; that of a failed test is kept for inspection.
func newDatabase(tb testing.TB, template string) (dsn string) {
	tb.Helper()
	name := "vigil_test_" + strings.ToLower(rand.Text())
	if template == "" {
		template = "template0"
	}
	admin := server(tb)
	err := administer(tb, admin, func(ctx context.Context, conn *pgx.Conn) error {
		dsn = databaseURL(conn.Config(), name)
		if err := templates.ensure(ctx, conn, template); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, fmt.Sprintf(cloneDatabase, name, template))
		return err
	})
	if err != nil {
		tb.Fatalf("create a database: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the database is kept: %s", dsn)
			return
		}
		err := administer(tb, admin, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			return err
		})
		if err != nil {
			tb.Errorf("remove the database %s: %v", name, err)
		}
	})
	return dsn
}

// administer runs work with a connection to the database of a server that may create others.
func administer(tb testing.TB, admin string, work func(context.Context, *pgx.Conn) error) error {
	tb.Helper()
	// In a cleanup function the test's own context has already ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), databaseTimeout)
	defer cancel()
	conn, err := administrators.take(ctx, admin)
	if err != nil {
		return err
	}
	if err := work(ctx, conn); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	administrators.put(admin, conn)
	return nil
}

// administrators are the idle connections of this process that create and remove databases, by the address of
// their server. They end with the process: a server takes some milliseconds of CPU for each new one.
var administrators idleConns //nolint:gochecknoglobals // see above

type idleConns struct {
	mu   sync.Mutex
	idle map[string][]*pgx.Conn
}

// take returns an idle connection that still answers, else a new one.
func (c *idleConns) take(ctx context.Context, server string) (*pgx.Conn, error) {
	for {
		conn := c.pop(server)
		if conn == nil {
			return pgx.Connect(ctx, server)
		}
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx) // its server has ended meanwhile
	}
}

func (c *idleConns) pop(server string) *pgx.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.idle[server]
	if len(idle) == 0 {
		return nil
	}
	conn := idle[len(idle)-1]
	c.idle[server] = idle[:len(idle)-1]
	return conn
}

func (c *idleConns) put(server string, conn *pgx.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = map[string][]*pgx.Conn{}
	}
	c.idle[server] = append(c.idle[server], conn)
}

// databaseURL is the URL of a database for the role of the tests.
func databaseURL(server *pgx.ConnConfig, name string) string {
	options := url.Values{"sslmode": {"disable"}}
	if server.TLSConfig != nil {
		options.Set("sslmode", "require")
	}
	address := url.URL{Scheme: "postgres", User: url.UserPassword(role, role), Path: "/" + name}
	if strings.HasPrefix(server.Host, "/") { // a URL cannot have a socket's directory as its host
		options.Set("host", server.Host)
		address.Host = fmt.Sprintf(":%d", server.Port)
	} else {
		address.Host = net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	}
	address.RawQuery = strings.ReplaceAll(options.Encode(), "+", "%20") // as Postgres reads it
	return address.String()
}

// templates are those that this process has found or created.
var templates templateSet //nolint:gochecknoglobals // one server for each process

type templateSet struct {
	mu    sync.Mutex
	known map[string]bool
}

// ensure creates the role of the tests, and the template if there is none with its name. Processes wait
// for one another; a template that a process left unfinished is created again.
func (s *templateSet) ensure(ctx context.Context, conn *pgx.Conn, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name] {
		return nil
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	err := ensureTemplate(ctx, conn, name)
	_, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", templateLock)
	if err := errors.Join(err, unlockErr); err != nil {
		return err
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[name] = true
	return nil
}

func ensureTemplate(ctx context.Context, conn *pgx.Conn, name string) error {
	var hasRole, hasTemplate bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
		EXISTS (SELECT FROM pg_database WHERE datname = $2 AND datistemplate)`, role, name).Scan(&hasRole, &hasTemplate)
	if err != nil {
		return err
	}
	if !hasRole {
		if _, err := conn.Exec(ctx, "CREATE ROLE "+role+" LOGIN PASSWORD '"+role+"'"); err != nil {
			return err
		}
	}
	if hasTemplate {
		return nil
	}
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf(cloneDatabase, name, "template0")); err != nil {
		return err
	}
	if err := migrate(ctx, name, databaseURL(conn.Config(), name)); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+name+" WITH IS_TEMPLATE true")
	return err
}

// schemaTemplate is the name of the template with the latest schema: it changes when a
// migration changes.
func schemaTemplate() (string, error) {
	digest, err := migrations.Digest()
	if err != nil {
		return "", err
	}
	return "vigil_template_" + digest[:min(len(digest), 32)], nil
}

// resultsTemplate begins the names of the templates of databases for results alone.
const resultsTemplate = "vigil_results_template_"

// migrate applies all migrations to the database of a template.
func migrate(ctx context.Context, template, dsn string) error {
	db, err := pg.Open(ctx, dsn, pg.Options{MaxConns: 3, Results: strings.HasPrefix(template, resultsTemplate)})
	if err != nil {
		return err
	}
	_, err = db.Migrate(ctx)
	return errors.Join(err, db.Close()) //nolint:contextcheck // it bounds its own work
}
