// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	manyhosts "github.com/vigil-monitor/vigil/internal/cluster"
)

// lastLines are the last lines of a file, cut at 300 bytes each.
func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 300)]
	}
	return strings.Join(lines, "\n")
}

// TestManyHosts runs the platform on a Temporal cluster of several hosts and two Postgres with standbys, and takes
// three of them: a history host is killed, a frontend is frozen, and the primary of Vigil's Postgres is killed until
// its standby is the primary. Counts are judged, times are printed: `make cluster-drills` has the bounds.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	for _, each := range []struct{ pattern, name string }{
		{"../../.bin/temporal-server-*", "temporal-server"},
		{"../../.bin/temporal-sql-tool-*", "temporal-sql-tool"},
		{"/usr/bin/etcd", "etcd"},
		{"/usr/bin/patroni", "Patroni"},
		{"/usr/sbin/haproxy", "haproxy"},
	} {
		if found, _ := filepath.Glob(each.pattern); len(found) == 0 {
			t.Skipf("this machine has no %s; make cluster-tools installs it", each.name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	programs, rows := t.TempDir()+"/", filepath.Join(t.TempDir(), "rows")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X main.commit=test", "-o", programs, "./.ci/cluster", "./cmd/vigil")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, err := os.MkdirTemp("", "vigil-many-hosts-") //nolint:usetesting // the user of Postgres may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	drills := exec.CommandContext(ctx, programs+"cluster", "drills", "-short", "-dir", dir, "-rows", rows, "-vigil", programs+"vigil",
		"-checks", "30", "-flapping", "4", "-away", "15s", "-patience", "8m", "-etcd", "1", "-history", "2", "-matching", "1",
		"-control", "1", "-regions", "2", "-workers", "1", "-agents", "0")
	drills.Dir = "../.."
	drills.Cancel = func() error { return drills.Process.Signal(syscall.SIGTERM) }
	drills.WaitDelay = time.Minute
	var out, said bytes.Buffer
	drills.Stdout, drills.Stderr = &out, &said
	if err := drills.Run(); err != nil {
		t.Errorf("the drills: %v\n%s", err, &said)
		logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*"))
		for _, log := range logs {
			t.Logf("%s ends with\n%s", filepath.Base(log), lastLines(log, 12))
		}
	}
	t.Logf("\n%s", &out)
	found, err := manyhosts.ReadRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(manyhosts.ShortDrills()) {
		t.Errorf("%d drills were done, want %d", len(found), len(manyhosts.ShortDrills()))
	}
	for _, row := range found {
		if wrong := row.Wrong(); len(wrong) > 0 {
			t.Errorf("%s, %s: %s", row.Host, row.Take, strings.Join(wrong, "; "))
		}
		if row.Due == 0 || row.Alerts.Incidents == 0 || row.Writes == 0 {
			t.Errorf("%s, %s: %d slots, %d incidents and %d writes, want some", row.Host, row.Take, row.Due, row.Alerts.Incidents, row.Writes)
		}
	}
}
