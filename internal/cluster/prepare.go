// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/vigil-monitor/vigil/internal/timing"
)

// programs are the paths of what hosts run.
type programs struct{ etcd, patroni, haproxy, temporal, sqlTool string }

// MissingError names programs that this machine does not have.
type MissingError struct{ Programs []string }

// Error says what installs them.
func (e MissingError) Error() string {
	return "this machine has no " + strings.Join(e.Programs, ", no ") +
		": make cluster-tools installs Debian's etcd-server, patroni and haproxy, and builds Temporal's server"
}

func findPrograms(options Options) (found programs, err error) {
	found.temporal, found.sqlTool = options.TemporalServer, options.TemporalSQLTool
	if options.PreviousServer != "" {
		found.temporal, found.sqlTool = options.PreviousServer, options.PreviousSQLTool
	}
	var missing MissingError
	for name, path := range map[string]*string{"etcd": &found.etcd, "patroni": &found.patroni, "haproxy": &found.haproxy} {
		at, err := find(name)
		if err != nil {
			missing.Programs = append(missing.Programs, name)
		}
		*path = at
	}
	for name, path := range map[string]string{
		"temporal-server": options.TemporalServer, "temporal-sql-tool": options.TemporalSQLTool, "vigil": options.Vigil,
		"previous temporal-server": found.temporal, "previous temporal-sql-tool": found.sqlTool,
	} {
		if _, err := os.Stat(path); err != nil {
			missing.Programs = append(missing.Programs, name)
		}
	}
	if len(missing.Programs) > 0 {
		return found, missing
	}
	return found, nil
}

// find returns the path of a program, which may be one of root's.
func find(name string) (at string, err error) {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if at, err = exec.LookPath(candidate); err == nil {
			return at, nil
		}
	}
	return "", err
}

// startLimit is how long one step of a start may take.
const startLimit = 3 * time.Minute

// until repeats what may fail while others start.
func (c *Cluster) until(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			c.log.InfoContext(ctx, "ready", "what", what)
			return nil
		}
		if waited := timing.Sleep(ctx, 500*time.Millisecond); waited != nil {
			return fmt.Errorf("it is not so that %s: %w; the logs are in %s", what, err, c.path("logs"))
		}
	}
}

// finish runs a command to its end.
func (c *Cluster) finish(ctx context.Context, env []string, argv ...string) error {
	_, err := c.output(ctx, env, argv...)
	return err
}

// output is finish for a command that prints something.
func (c *Cluster) output(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // programs of the cluster
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", strings.Join(argv[:min(3, len(argv))], " "), err, &said, &out)
	}
	return strings.TrimSpace(out.String()), nil
}

// openDatabase opens a database of the primary, as a user whose certificate the operator has.
func (c *Cluster) openDatabase(user, port, database string) (*sql.DB, error) {
	return sql.Open("pgx", dsn(user, net.JoinHostPort(c.proxy().Address, port), database, c.path("operator")))
}

// ensure runs a statement where a query with one argument counts none.
func ensure(ctx context.Context, db *sql.DB, query, argument, statement string) error {
	var n int
	if err := db.QueryRowContext(ctx, query, argument).Scan(&n); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	if n > 0 {
		return nil
	}
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// prepareDatabases makes a user and its databases, as far as they are missing.
func (c *Cluster) prepareDatabases(ctx context.Context, port, user string, databases ...string) error {
	db, err := c.openDatabase("postgres", port, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := c.until(ctx, "the primary of "+user+" answers", db.PingContext); err != nil {
		return err
	}
	if err := ensure(ctx, db, "SELECT count(*) FROM pg_roles WHERE rolname = $1", user, "CREATE ROLE "+user+" LOGIN"); err != nil {
		return err
	}
	for _, database := range databases {
		if err := ensure(ctx, db, "SELECT count(*) FROM pg_database WHERE datname = $1", database,
			"CREATE DATABASE "+database+" OWNER "+user); err != nil {
			return err
		}
	}
	if c.options.Sizes.Postgres == 1 {
		return nil
	}
	return c.until(ctx, "the standby of "+user+" is synchronous", func(ctx context.Context) error { return synchronous(ctx, db) })
}

// synchronous returns an error while a primary has no standby that a commit waits for.
func synchronous(ctx context.Context, primary *sql.DB) error {
	var n int
	err := primary.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n)
	if err == nil && n == 0 {
		err = errors.New("no standby is")
	}
	return err
}

// call sends a request to the API and reads the data of its answer.
func (c *Cluster) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.APIURL()+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, &struct {
		Data any `json:"data"`
	}{into})
}

// regionsOnline returns an error while a region of the cluster has no worker.
func (c *Cluster) regionsOnline(ctx context.Context) error {
	var regions []struct {
		Key    string `json:"key"`
		Status string `json:"status"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/regions", nil, &regions); err != nil {
		return err
	}
	online := make(map[string]bool)
	for _, region := range regions {
		online[region.Key] = region.Status == "online"
	}
	for _, h := range c.Hosts(KindWorker) {
		if !online[h.Region] {
			return fmt.Errorf("%s has none", h.Region)
		}
	}
	return nil
}

// newLocation makes a location and returns the token of its agents.
func (c *Cluster) newLocation(ctx context.Context, name string) (string, error) {
	var made struct {
		Token string `json:"token"`
	}
	err := c.call(ctx, http.MethodPost, "/v1/locations", map[string]string{"name": name}, &made)
	return made.Token, err
}
