// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// command runs the program to its end and returns what it printed.
func command(t *testing.T, env []string, args ...string) (printed string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBackup makes a backup of a running platform, restores it into another data
// directory and starts that one.
func TestBackup(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	file := filepath.Join(dataDir(t), "vigil.backup")
	env := []string{"VIGIL_REGIONS=eu-central-fra", fastSchedule}
	p := up(t, dir, env...)
	d := newAlertScenario(t, client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}, privateDatabase(t, dir), 1, 2, 0, "eu-central-fra")
	d.service.fail(path(0))
	if !d.awaitIncidents(0, 1, "active") {
		t.FailNow()
	}
	d.awaitDeliveries()

	own := []string{"VIGIL_DATA_DIR=" + dir}
	printed, err := command(t, own, "backup", file)
	if err != nil || !strings.Contains(printed, "vigil_temporal_visibility") || !strings.Contains(printed, "keep it like a password") {
		t.Fatalf("vigil backup: %v: %s", err, printed)
	}
	t.Log(printed)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has the mode %v (%v), want 0600", info.Mode(), err)
	}
	if printed, err := command(t, nil, "backup", "--verify", file); err != nil || !strings.Contains(printed, "The backup is complete") {
		t.Errorf("vigil backup --verify: %v: %s", err, printed)
	}
	refuses(t, own, "exists already", "backup", file)
	refuses(t, own, "in use by another vigil", "restore", file)
	p.stop()
	refuses(t, own, "is not empty", "restore", file)
	t.Run("OfAStoppedPlatform", func(t *testing.T) {
		if printed, err := command(t, own, "backup", file+".stopped"); err != nil {
			t.Errorf("vigil backup: %v: %s", err, printed)
		}
	})
	t.Run("DamagedIsRefusedBeforeAnythingChanges", func(t *testing.T) { damagedBackups(t, file) })

	t.Run("IntoAServer", func(t *testing.T) { restoreIntoServer(t, dir, file) })

	fresh := dataDir(t)
	printed, err = command(t, []string{"VIGIL_DATA_DIR=" + fresh}, "restore", file)
	if err != nil || !strings.Contains(printed, "Start it with `vigil up --data-dir "+fresh+"`") {
		t.Fatalf("vigil restore: %v: %s", err, printed)
	}
	t.Log(printed)
	began := time.Now()
	p = up(t, fresh, env...)
	if p.ready.APIKey != "" {
		t.Error("the restored platform made an API key: it did not find the operator's account")
	}
	d.client.url, d.dsn = p.ready.APIURL, privateDatabase(t, fresh)
	d.db = openDatabase(t, d.dsn)
	eventually(t, "every loop probes again", func() bool {
		return d.counts(`SELECT 'late', count(*) FROM check_regions WHERE last_slot < clock_timestamp() - interval '3 s'`)["late"] == 0
	})
	t.Logf("every loop probes again %v after the start", time.Since(began).Round(time.Millisecond))
	if n, last := d.incidents(0); n != 1 || last != "active" {
		t.Errorf("%d incidents, the last %s, want the one that was open", n, last)
	}
	var channels []struct{ ID string }
	d.client.into(&channels, http.MethodGet, "/v1/notification-channels", nil)
	d.service.repair(path(0))
	if !d.awaitIncidents(0, 1, "resolved") {
		t.FailNow()
	}
	d.awaitDeliveries()
	// A signature that the receiver accepts shows that the key opens the secrets.
	if a := d.receiver.summarize(); a.opened != 1 || a.resolved != 1 || a.repeated > 0 || a.unsigned > 0 {
		t.Errorf("the receiver got %+v, want one signed message of each kind", a)
	}
	p.stop()

	printed, err = command(t, []string{"VIGIL_DATA_DIR=" + fresh}, "restore", "--force", file)
	aside, _ := filepath.Glob(filepath.Join(fresh, "replaced-*", "postgres", "PG_VERSION"))
	if err != nil || len(aside) != 1 {
		t.Errorf("vigil restore --force: %v: %s; moved aside: %v", err, printed, aside)
	}
}

// restoreIntoServer restores into the empty database of a server of its own.
func restoreIntoServer(t *testing.T, dir, file string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + database(t), "VIGIL_DATA_DIR=" + dataDir(t)}
	refuses(t, env, "set VIGIL_SECRET_KEY to that of the backup", "restore", file)
	env = append(env, "VIGIL_SECRET_KEY="+strings.TrimSpace(string(key)))
	if printed, err := command(t, env, "restore", file); err != nil || !strings.Contains(printed, "3 databases are restored") {
		t.Errorf("vigil restore: %v: %s", err, printed)
	}
	refuses(t, env, "is not empty", "restore", file)
	if printed, err := command(t, env, "restored"); err != nil || !strings.Contains(printed, "Noted.") {
		t.Errorf("vigil restored: %v: %s", err, printed)
	}
	// Of a server whose Temporal is elsewhere.
	apart := append(env, "TEMPORAL_ADDRESS=127.0.0.1:1")
	printed, err := command(t, apart, "backup", file+".apart")
	if err != nil || strings.Contains(printed, "vigil_temporal") {
		t.Errorf("vigil backup: %v: %s", err, printed)
	}
}

// refuses runs a command that must fail with a text.
func refuses(t *testing.T, env []string, want string, args ...string) {
	t.Helper()
	if printed, err := command(t, env, args...); err == nil || !strings.Contains(printed, want) {
		t.Errorf("vigil %s: %v: %s, want it refused: %s", strings.Join(args, " "), err, printed, want)
	}
}

// damagedBackups restores files that are truncated or altered.
func damagedBackups(t *testing.T, file string) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	middle := bytes.Clone(whole)
	middle[len(middle)/2] ^= 1
	for name, content := range map[string][]byte{
		"truncated": whole[:len(whole)/2], "without its end": whole[:len(whole)-4<<10], "altered": middle,
		"empty": nil, "text": []byte("no backup"),
	} {
		broken := filepath.Join(t.TempDir(), "broken")
		if err := os.WriteFile(broken, content, 0o600); err != nil {
			t.Fatal(err)
		}
		target := dataDir(t)
		printed, err := command(t, []string{"VIGIL_DATA_DIR=" + target}, "restore", broken)
		if err == nil || !strings.Contains(printed, "damaged or incomplete") {
			t.Errorf("%s: %v: %s, want it refused as damaged", name, err, printed)
		}
		left, err := os.ReadDir(target)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range left {
			if entry.Name() != "vigil.lock" {
				t.Errorf("%s: it left %s in the data directory", name, entry.Name())
			}
		}
	}
}

// privateDatabase is the connection string that `vigil up` leaves in its data directory.
func privateDatabase(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "database.url"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
