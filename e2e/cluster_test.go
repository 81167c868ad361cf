// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// clusterRegion is the region of all loops of a cluster.
const clusterRegion = "eu-central-fra"

// cluster is the platform as its roles: each part is a process of its own, with
// two workers for one region, on one Postgres.
type cluster struct {
	t        *testing.T
	postgres *storagetest.Cluster
	dsn      string
	db       *sql.DB // for the test's own queries
	apart    *sql.DB // where results are beside it; nil: nowhere
	keys     *secret.Keyring
	env      []string
	apiURL   string
	began    time.Time // start of the drill; earlier slots belong to the setup
	pauses   []pausedTime

	temporal, api, control *process
	workers                [2]*process
}

// newCluster starts all parts and waits until both workers hold a lease.
func newCluster(t *testing.T, env ...string) *cluster {
	t.Helper()
	return newClusterOn(t, "127.0.0.1", env...)
}

// newClusterOn is newCluster with a Postgres that listens on addresses separated by
// commas, 127.0.0.1 among them.
func newClusterOn(t *testing.T, listen string, env ...string) *cluster {
	t.Helper()
	s := &cluster{t: t}
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s.postgres = storagetest.StartCluster(t, "listen_addresses="+listen, "port="+port, "fsync=off")
	server := "postgres://postgres@" + address + "/"
	query(t, server+"postgres?sslmode=disable", "CREATE DATABASE vigil")
	s.dsn = server + "vigil?sslmode=disable"
	s.db = openDatabase(t, s.dsn)

	value := make([]byte, 32)
	_, _ = rand.Read(value) // never fails
	if s.keys, err = secret.NewKeyring(value); err != nil {
		t.Fatal(err)
	}
	apiAddress := freeAddress(t)
	s.apiURL = "http://" + apiAddress
	s.env = append([]string{
		"DATABASE_URL=" + s.dsn, "VIGIL_DATA_DIR=" + dataDir(t), "VIGIL_SECRET_KEY=" + hex.EncodeToString(value),
		"VIGIL_LISTEN=" + apiAddress, "VIGIL_TEMPORAL_LISTEN=" + freeAddress(t), "VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_LOG_LEVEL=warn",
	}, env...)
	s.startTemporal()
	s.env = append(s.env, "TEMPORAL_ADDRESS="+s.temporal.ready.TemporalAddress)
	s.finish("migrate")
	s.startAPI()
	s.startControl()
	for i := range s.workers {
		s.startWorker(i)
	}
	s.awaitWorkers()
	return s
}

func (s *cluster) startTemporal() { s.temporal = start(s.t, s.env, "temporal", "--json") }
func (s *cluster) startAPI()      { s.api = launch(s.t, s.env, "api") }
func (s *cluster) startControl()  { s.control = launch(s.t, s.env, "worker", "--control") }

// startWorker starts a worker with more settings, which override those of the cluster.
func (s *cluster) startWorker(i int, env ...string) {
	s.workers[i] = launch(s.t, slices.Concat(s.env, env), "worker", "--region", clusterRegion)
}

// address returns where the cluster's database is.
func (s *cluster) address() *url.URL {
	s.t.Helper()
	dsn, err := url.Parse(s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	return dsn
}

// through returns the setting of the cluster's database for a part that reaches it by
// another host:port.
func (s *cluster) through(host string) string {
	dsn := s.address()
	dsn.Host = host
	return "DATABASE_URL=" + dsn.String()
}

// finish runs a command to its end.
func (s *cluster) finish(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// nameOf is a pattern of the name that a worker process has in the database.
func nameOf(w *process) string { return fmt.Sprintf("%%/%d/%%", w.cmd.Process.Pid) }

// awaitWorkers waits until every worker process renews its lease.
func (s *cluster) awaitWorkers() {
	s.t.Helper()
	eventually(s.t, "both workers hold a lease", func() bool {
		for _, w := range s.workers {
			const fresh = "SELECT count(*) FROM worker_leases WHERE worker LIKE $1 AND renewed_at > clock_timestamp() - interval '3 s'"
			if s.number(fresh, nameOf(w)) == 0 {
				return false
			}
		}
		return true
	})
}

// number returns the number that a query selects; -1 while Postgres is unreachable.
func (s *cluster) number(query string, args ...any) int {
	n := -1
	if err := s.db.QueryRowContext(s.t.Context(), query, args...).Scan(&n); err != nil {
		return -1
	}
	return n
}

// seed makes checks that probe the target; the sweep starts their loops. It
// returns when every loop has a result.
func (s *cluster) seed(target string, checks int, interval time.Duration) {
	s.t.Helper()
	s.withStore(func(store *storage.Store) {
		org := s.createOrganization(store, "cluster")
		for i := range checks {
			s.createCheck(store, org, fmt.Sprintf("cluster %d", i), fmt.Sprintf("%s/%d", target, i), 2, interval)
		}
	})
	// More than the usual limit: thousands of loops start slowly, and so do all on an overloaded machine.
	limit := 3*waitLimit + interval + time.Duration(checks)*20*time.Millisecond
	eventuallyWithin(s.t, limit, "every loop has a result", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_slot IS NOT NULL") == checks
	})
	s.began = time.Now().Truncate(time.Microsecond)
}

// withStore calls do with the store of the cluster.
func (s *cluster) withStore(do func(*storage.Store)) {
	s.t.Helper()
	store, err := storage.Open(s.t.Context(), s.dsn, storage.Options{Keys: s.keys, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	do(store)
}

// createOrganization makes an organization of the enterprise tier.
func (s *cluster) createOrganization(store *storage.Store, name string) uuid.UUID {
	s.t.Helper()
	_, org, err := store.CreateAccount(s.t.Context(), account.Organization{Name: name, Tier: account.TierEnterprise},
		account.User{Email: name + "@vigil.test", Name: name}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return org.ID
}

// createCheck makes a check of a URL; its timeout is in seconds.
func (s *cluster) createCheck(store *storage.Store, org uuid.UUID, name, url string, timeout int, interval time.Duration) vigil.Check {
	s.t.Helper()
	config, err := json.Marshal(map[string]any{"url": url, "timeout_seconds": timeout})
	if err != nil {
		s.t.Fatal(err)
	}
	check, err := store.CreateCheck(s.t.Context(), vigil.Check{
		OrgID: org, Name: name, Type: vigil.TypeHTTP, Config: config, Target: "target",
		Interval: interval, Regions: []string{clusterRegion}, Enabled: true, Simultaneous: true,
	}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
	if err != nil {
		s.t.Fatal(err)
	}
	return check
}

// killPostgres ends all of Postgres's processes at once.
func (s *cluster) killPostgres() {
	s.t.Helper()
	var file string
	if err := s.db.QueryRowContext(s.t.Context(), "SELECT pg_read_file('postmaster.pid')").Scan(&file); err != nil {
		s.t.Fatal(err)
	}
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT pid::text FROM pg_stat_activity")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	lines := strings.Split(file, "\n") // the postmaster, its data directory
	pids := []string{strings.TrimSpace(lines[0])}
	for rows.Next() {
		var pid string
		if err := rows.Scan(&pid); err != nil {
			s.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
	}
	// A backend that is still starting is not in the list. It may wait forever for
	// a lock that a dead process holds, and then no new server can start.
	eventually(s.t, "no process of Postgres is left", func() bool { return killProcessesIn(lines[1]) == 0 })
	eventually(s.t, "Postgres has stopped", func() bool { return s.number("SELECT 1") != 1 })
}

// killProcessesIn kills the processes with that working directory and returns
// how many it killed.
func killProcessesIn(dir string) (killed int) {
	for _, pid := range processesIn(dir) {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// processesIn returns the processes with that working directory; none on systems
// without proc(5).
func processesIn(dir string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is valid
	for _, path := range paths {
		if at, err := os.Readlink(path); err != nil || at != dir {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// launch runs a part that prints nothing to standard output. It is killed at the
// end of the test if it is still running.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return launchCommand(t, env, binary, args...)
}

// launchCommand is launch by another program, which becomes the part.
func launchCommand(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, stderr: &tail{}, exited: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", strings.Join(args, " "), p.stderr)
		}
	})
	return p
}
