// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
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

// smallMemory is what a machine of 512 MB leaves to its programs, beside the kernel and a system of Debian.
const smallMemory = 400 << 20

// memoryGroup is a control group whose processes may take some bytes of memory together, with those of files.
type memoryGroup struct {
	dir  string
	used string // the file with the most that it had
}

// newMemoryGroup makes a control group, by either version of the kernel's interface. Where the machine allows none, the
// test is skipped.
func newMemoryGroup(t *testing.T, bytes int64) memoryGroup {
	t.Helper()
	name := "vigil-small-" + strconv.Itoa(os.Getpid())
	var failed []error
	for _, one := range []struct{ root, limit, used string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		g := memoryGroup{dir: filepath.Join(one.root, name), used: one.used}
		err := os.Mkdir(g.dir, 0o755)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(g.dir) })
			err = os.WriteFile(filepath.Join(g.dir, one.limit), []byte(strconv.FormatInt(bytes, 10)), 0o600)
		}
		if err == nil {
			return g
		}
		failed = append(failed, err)
	}
	t.Skipf("a limit of memory needs control groups and root: %v", errors.Join(failed...))
	return memoryGroup{}
}

// command is a command whose process begins in the group.
func (g memoryGroup) command(name string, args ...string) *exec.Cmd {
	in := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" "$@"`, g.dir)
	return exec.Command("/bin/sh", append([]string{"-c", in, name}, args...)...) //nolint:noctx // ended by kill or interrupt
}

// most is the most memory that the group had, in bytes.
func (g memoryGroup) most(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, g.used))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// killed is how many processes the kernel has killed for want of memory.
func (g memoryGroup) killed(t *testing.T) (n int) {
	t.Helper()
	found := false
	for _, file := range []string{"memory.oom_control", "memory.events"} {
		text, err := os.ReadFile(filepath.Join(g.dir, file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n, _ = strconv.Atoi(strings.TrimSpace(count))
				found = true
			}
		}
	}
	if !found {
		t.Fatalf("%s does not say how many processes were killed", g.dir)
	}
	return n
}

// TestSmallMachine holds that a machine of 512 MB runs 1,000 checks, which are created as fast as the API answers: nothing
// is killed, and every check has its results. Beside the other tests there are fewer, in less memory: a thousand that
// start at once take all that a machine can do.
func TestSmallMachine(t *testing.T) {
	timingtest.Parallel(t)
	memory, checks := int64(smallMemory-64<<20), 100
	if full() {
		memory, checks = smallMemory, 1000
	}
	group, shop := newMemoryGroup(t, memory), newService(t)
	dir, err := os.MkdirTemp("", "vigil-small-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// On the disk: files in memory would be memory of the group.
	p := upBy(t, group.command(binary, "up", "--json"), dir, "VIGIL_REGIONS=eu-central-fra", "VIGIL_SIGNUP_TIER=enterprise")
	api := client{t, p.ready.APIURL, p.ready.APIKey}
	api.makePages(checks, shop.URL+"/page")
	eventuallyWithin(t, 5*time.Minute, "all checks pass", func() bool {
		return shop.hits("/page") >= int64(checks) &&
			api.do(http.MethodGet, "/v1/checks?limit=1&state=passing", nil).Meta.Total == strconv.Itoa(checks)
	})
	if n := group.killed(t); n != 0 {
		t.Errorf("%d processes were killed", n)
	}
	t.Logf("the most memory: %d MiB of %d", group.most(t)>>20, memory>>20)
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the platform has ended: %v", err)
	}
	p.stop()
}
