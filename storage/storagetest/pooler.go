// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// poolerConfig is a PgBouncer in transaction mode with fewer connections to the server than
// the tests have clients. It refuses startup parameters that it does not know.
const poolerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
`

// StartPooler starts PgBouncer, in transaction mode, in front of the server of a
// connection string, and returns the connection string that leads through it. It ends with
// the test. The test is skipped when PgBouncer is not installed, or when the server is not
// one of these tests.
func StartPooler(tb testing.TB, dsn string) (through string) {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			tb.Skip("PgBouncer is not installed (Debian and Ubuntu: apt-get install pgbouncer)")
		}
	}
	address, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	query := address.Query()
	socket, port := query.Get("host"), address.Port()
	if socket == "" {
		tb.Skip("the server of the tests has no Unix socket")
	}
	if port == "" {
		port = query.Get("port")
	}
	bin, err := findBinaries()
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(bin.baseDir(false), "vigil-pooler-") //nolint:usetesting // tb.TempDir is closed to the server's user
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := bin.makeOwnedDir(dir); err != nil {
		tb.Fatal(err)
	}
	query.Del("host")
	query.Del("port")
	for {
		listen := freePort(tb)
		address.Host, address.RawQuery = "127.0.0.1:"+listen, query.Encode()
		output := filepath.Join(dir, "output-"+listen)
		startPooler(tb, bin, poolerFiles{
			dir: dir, program: program, output: output, users: fmt.Sprintf("%q \"\"\n", address.User.Username()),
			config: func(users string) string { return fmt.Sprintf(poolerConfig, socket, port, listen, users) },
		})
		if awaitPooler(tb, address.String(), output) {
			return address.String()
		}
	}
}

// poolerFiles are what a PgBouncer starts with.
type poolerFiles struct {
	dir, program, output string
	users                string
	config               func(usersFile string) string
}

// startPooler starts a PgBouncer, which ends with the test.
func startPooler(tb testing.TB, bin *binaries, f poolerFiles) {
	tb.Helper()
	users, config := filepath.Join(f.dir, "users"), filepath.Join(f.dir, "pgbouncer.ini")
	for path, text := range map[string]string{users: f.users, config: f.config(users)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // the server's user reads it
			tb.Fatal(err)
		}
	}
	cmd := bin.command(f.dir, f.program, config)
	output, err := os.Create(f.output)
	if err != nil {
		tb.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// freePort returns a port that nothing listens on.
func freePort(tb testing.TB) string {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// awaitPooler waits until a PgBouncer answers. It is false for one that has found its port taken: another test may
// listen on a port that was free a moment before.
func awaitPooler(tb testing.TB, dsn, log string) bool {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	for {
		said, _ := os.ReadFile(log) //nolint:gosec // of the test's own directory
		if strings.Contains(string(said), "Address already in use") {
			return false
		}
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			_ = conn.Close(ctx)
			return true
		}
		if ctx.Err() != nil {
			tb.Fatalf("PgBouncer does not answer: %v\n%s", err, said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
