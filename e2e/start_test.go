// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// refused runs the program, which must exit with code 1, and returns its standard
// error.
func refused(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Fatalf("ended with %v, want exit code 1; it said:\n%s", err, said.String())
	}
	return said.String()
}

// freePorts are settings for ports that the kernel chooses.
func freePorts(dir string) []string {
	return []string{"VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0", "VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR=" + dir}
}

func TestRefusesToStart(t *testing.T) {
	timingtest.Parallel(t)

	t.Run("OnADataDirectoryInUse", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		p := up(t, dir, "VIGIL_REGIONS=eu-central-fra")
		said := refused(t, freePorts(dir), "up", "--json")
		if !strings.Contains(said, strconv.Itoa(p.ready.PID)) || !strings.Contains(said, "VIGIL_DATA_DIR") {
			t.Errorf("does not name the process that uses the directory (%d) and the remedy:\n%s", p.ready.PID, said)
		}
		figure(t, "how long a platform takes to stop", p.stop(), 15*time.Second, 0)
		if left := usersOf(t, dir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})

	for _, c := range []struct{ name, setting string }{
		{"WhenThePortOfTheAPIIsTaken", "VIGIL_LISTEN"},
		{"WhenThePortOfTemporalIsTaken", "VIGIL_TEMPORAL_LISTEN"},
		{"WhenThePortOfTheUIIsTaken", "VIGIL_UI_LISTEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var config net.ListenConfig
			taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = taken.Close() }()
			dir := dataDir(t)
			said := refused(t, append(freePorts(dir), c.setting+"="+taken.Addr().String()), "up", "--json")
			if !strings.Contains(said, taken.Addr().String()) || !strings.Contains(said, c.setting) {
				t.Errorf("does not name the port %s and the setting %s:\n%s", taken.Addr(), c.setting, said)
			}
			if left := usersOf(t, dir); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}

	t.Run("WithADirectoryThatCannotBeMade", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		said := refused(t, freePorts(filepath.Join(file, "data")), "up", "--json")
		if !strings.Contains(said, file) || !strings.Contains(said, "VIGIL_DATA_DIR") {
			t.Errorf("does not name the directory and the setting:\n%s", said)
		}
	})

	t.Run("WithAWrongDatabaseURL", func(t *testing.T) {
		t.Parallel()
		said := refused(t, append(freePorts(dataDir(t)), "DATABASE_URL=postgres://someone:hunter2@127.0.0.1:1/nothing"), "up", "--json")
		if !strings.Contains(said, "DATABASE_URL") || strings.Contains(said, "hunter2") {
			t.Errorf("does not name DATABASE_URL, or shows its password:\n%s", said)
		}
	})

	t.Run("WithoutPostgres", func(t *testing.T) {
		t.Parallel()
		if matches, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(matches) > 0 {
			t.Skip("Postgres is installed; package standalone tests the case without it")
		}
		said := refused(t, append(freePorts(dataDir(t)), "PATH=/nonexistent"), "up", "--json")
		if !strings.Contains(said, "DATABASE_URL") {
			t.Errorf("no remedy:\n%s", said)
		}
	})
}

// usersOf returns the processes whose command line names a directory.
func usersOf(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			users = append(users, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return users
}

// TestUnprivilegedUser starts the platform as a user without privileges.
func TestUnprivilegedUser(t *testing.T) {
	timingtest.Parallel(t)
	if os.Geteuid() != 0 {
		t.Skip("the other tests already run without privileges")
	}
	const uid = 65534 // the unprivileged user of most systems
	dir := dataDir(t)
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	env := append(freePorts(filepath.Join(dir, "own")), "HOME="+dir, "VIGIL_REGIONS=eu-central-fra")
	p := startAs(t, &syscall.Credential{Uid: uid, Gid: uid}, env, "up", "--json")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	site := newTarget(t)
	c.into(nil, http.MethodPost, "/v1/checks", httpCheck("ordinary", site.URL+"/ordinary", 1, "eu-central-fra"))
	eventually(t, "the check is probed", func() bool { return site.count("/ordinary") > 1 })
	p.stop()
}

// TestQuickStart runs the commands that the first start prints.
func TestQuickStart(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "up")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), freePorts(dir)...)
	screen := &tail{}
	cmd.Stdout, cmd.Stderr = screen, screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	eventually(t, "the lines to paste are printed", func() bool { return strings.Contains(screen.String(), "/results -H") })

	var pasted strings.Builder
	for line := range strings.Lines(screen.String()) {
		if strings.Contains(line, "curl -s") {
			pasted.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	t.Logf("the screen:\n%s", screen)
	eventually(t, "the pasted lines show a result", func() bool {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", pasted.String()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), `"success":true`)
	})
}
