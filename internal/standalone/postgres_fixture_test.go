// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// stopAndCheck stops the server and fails when its process is still there.
func stopAndCheck(t *testing.T, pg *standalone.Postgres) {
	t.Helper()
	pid := pg.PID()
	began := time.Now()
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stop %v", time.Since(began))
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// runDetached runs a server in the data directory without a parent death signal, such
// as a killed Vigil leaves on a system that has none.
func runDetached(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cluster := filepath.Join(dir, "postgres")
	port, err := os.ReadFile(filepath.Join(dir, "postgres.port"))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := filepath.EvalSymlinks(binaryOnThisMachine(t))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimSpace(string(port))
	cmd := exec.Command(exe, "-D", cluster, "-p", at, "-c", "unix_socket_directories=") //nolint:noctx // ended by the code under test
	cmd.Dir = cluster
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: ownerOf(t, cluster)}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	password, err := os.ReadFile(filepath.Join(dir, "postgres.password"))
	if err != nil {
		t.Fatal(err)
	}
	awaitQuery(t, "postgres://vigil:"+strings.TrimSpace(string(password))+"@127.0.0.1:"+strings.TrimSpace(string(port))+"/vigil", `SELECT 1`)
	return cmd
}

func binaryOnThisMachine(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("postgres"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Skip("no postgres on PATH or where Debian puts it")
	}
	return found[len(found)-1]
}

func ownerOf(t *testing.T, path string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner")
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid, NoSetGroups: true}
}

// unprivileged returns a directory of an unprivileged user, a copy of this binary that
// it can run, and the attributes to run a process as that user.
func unprivileged(t *testing.T) (dir, binary string, attr *syscall.SysProcAttr) {
	t.Helper()
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("no user nobody")
	}
	uid, _ := strconv.ParseUint(account.Uid, 10, 32)
	gid, _ := strconv.ParseUint(account.Gid, 10, 32)
	dir = openTempDir(t)
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(openTempDir(t), "vigil.test")
	program, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, binary, program)
	return dir, binary, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// openTempDir is a temporary directory that every user can reach; the testing
// package's own keep other users out.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "standalone") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func exec1(t *testing.T, dsn, statement string) {
	t.Helper()
	if err := try(t.Context(), dsn, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query1(t *testing.T, dsn, statement string, args ...any) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), statement, args...).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// awaitQuery tries until the statement succeeds.
func awaitQuery(t *testing.T, dsn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	defer func() {
		if err != nil {
			t.Log(err)
		}
	}()
	timingtest.Eventually(t, 20*time.Second, "the database accepts "+statement, func() bool {
		err = try(ctx, dsn, statement)
		return err == nil
	})
}

func try(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
