// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestMain is also the program of the tests that need another process: started
// as "<binary> hold <dir>" it runs Postgres in the directory until it is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		os.Exit(hold(os.Args[2]))
	}
	os.Exit(m.Run())
}

// hold prints the server's process id and connection string, and waits.
func hold(dir string) int {
	ctx := context.Background()
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		return 1
	}
	pg, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{Databases: []string{"vigil"}})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		return 1
	}
	fmt.Fprintln(os.Stdout, pg.PID(), pg.DSN("vigil"))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // a closed pipe means: stop
	if err := pg.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		return 1
	}
	return 0
}

// holder is another process that runs hold.
type holder struct {
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	pid   int    // of the server
	dsn   string // of the server
}

// startHolder runs hold in a process of its own, as another user when attr says so.
func startHolder(t *testing.T, binary, dir string, attr *syscall.SysProcAttr) *holder {
	t.Helper()
	cmd := exec.Command(binary, "hold", dir) //nolint:noctx // this test binary; ended by the test
	cmd.SysProcAttr = attr
	cmd.Dir = "/"
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the other process ended: %v", err)
	}
	h := &holder{cmd: cmd, stdin: stdin}
	if _, err := fmt.Sscan(line, &h.pid, &h.dsn); err != nil {
		t.Fatalf("the other process said %q", line)
	}
	return h
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// openDir opens a data directory until the end of the test.
func openDir(t *testing.T, path string) *standalone.DataDir {
	t.Helper()
	data, err := standalone.OpenDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	return data
}

// startPostgres starts a server until the end of the test.
func startPostgres(t *testing.T, data *standalone.DataDir) *standalone.Postgres {
	t.Helper()
	pg, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: []string{"vigil"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) }) //nolint:usetesting // the test's own context has ended
	return pg
}

// wantSentence fails unless err is one line that holds every part.
func wantSentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not mention %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one line", err)
	}
}

func modeOf(t *testing.T, elem ...string) os.FileMode {
	t.Helper()
	info, err := os.Stat(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
