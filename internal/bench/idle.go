// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// IdleOptions configure MeasureIdle.
type IdleOptions struct {
	Settle  time.Duration // how long the platform runs before the measurement
	Measure time.Duration // how long its CPU time is counted
	Out     io.Writer     // where the report goes
}

// MeasureIdle starts the whole platform as `vigil up` does, without checks, and prints the
// memory and the CPU time of each kind of its processes. It needs Linux.
func MeasureIdle(ctx context.Context, o IdleOptions) error {
	return withDir(func(dir string) error { return measureIdle(ctx, o, dir) })
}

func measureIdle(ctx context.Context, o IdleOptions, dir string) error {
	at(ctx, "starting vigil up")
	var ready struct{}
	up, err := spawn(ctx, "vigil", []string{
		"DATABASE_URL=", "TEMPORAL_ADDRESS=", "VIGIL_DATA_DIR=" + dir, "VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0",
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_CANARIES=", "VIGIL_LOG_LEVEL=warn",
	}, &ready, "up", "--json")
	if err != nil {
		return err
	}
	defer up.stop()
	at(ctx, "settling for %s", o.Settle)
	if err := timing.Sleep(ctx, o.Settle); err != nil {
		return err
	}
	before, after, took, err := readTwice(ctx, o.Measure, func() (map[string]kind, error) { return kindsOf(up.pid()) })
	if err != nil {
		return err
	}
	return printIdle(o.Out, o.Settle, took, before, after)
}

// kind is a kind of processes and what they use together.
type kind struct {
	count int
	cpu   time.Duration
	mem   memory
}

func (k *kind) add(other kind) {
	k.count += other.count
	k.cpu += other.cpu
	k.mem.all += other.mem.all
	k.mem.private += other.mem.private
	k.mem.files += other.mem.files
	k.mem.shared += other.mem.shared
}

// kindsOf adds up the processes that descend from one, by their kind.
func kindsOf(pid int) (map[string]kind, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	kinds := make(map[string]kind)
	for id, p := range all {
		if id != pid && !descends(all, id, pid) {
			continue
		}
		name := "vigil"
		if id != pid {
			name = titleOf(id)
		}
		k, m := kinds[name], memoryIn(id)
		if id == pid { // this process has the same program, and would take half of its pages
			files := residentFiles(id)
			m.all, m.files = m.all+files-m.files, files
		}
		k.add(kind{count: 1, cpu: p.cpu + p.waited, mem: m}) // with that of its children that have ended
		kinds[name] = k
	}
	return kinds, nil
}

// titleOf is what a process of Postgres calls itself: its job, or the database that its
// client uses.
func titleOf(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "ended"
	}
	title, isBackend := strings.CutPrefix(strings.TrimRight(strings.ReplaceAll(string(raw), "\x00", " "), " "), "postgres: ")
	if !isBackend {
		return "postgres"
	}
	// user, database, client(port) or [local]
	if words := strings.Fields(title); len(words) > 2 && strings.ContainsAny(words[2], "([") {
		return "postgres: connections to " + words[1]
	}
	return "postgres: " + strings.TrimSpace(title)
}

// memory is the proportional set size of processes in bytes: what only they have, pages
// of files, such as those of their program, and shared memory.
type memory struct{ all, private, files, shared int64 }

func memoryIn(pid int) memory {
	sizes := sizesIn(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	return memory{all: sizes["Pss"], private: sizes["Pss_Anon"], files: sizes["Pss_File"], shared: sizes["Pss_Shmem"]}
}

// residentFiles are the pages of files of a process in bytes, shared or not.
func residentFiles(pid int) int64 { return sizesIn(fmt.Sprintf("/proc/%d/status", pid))["RssFile"] }

// sizesIn reads the sizes of a file in /proc in bytes, by name. A file that cannot be read
// has none.
func sizesIn(file string) map[string]int64 {
	raw, err := os.ReadFile(file) //nolint:gosec // names from the kernel
	if err != nil {
		return nil
	}
	sizes := make(map[string]int64)
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) == 2 && fields[1] == "kB" {
			kib, _ := strconv.ParseInt(fields[0], 10, 64)
			sizes[name] = kib << 10
		}
	}
	return sizes
}

func printIdle(w io.Writer, settled, took time.Duration, before, after map[string]kind) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"vigil up without checks, %d cores, %v after its start, measured for %v\n",
		runtime.NumCPU(),
		settled,
		took.Round(time.Second),
	)
	printKinds(&b, before, after, took)
	_, err := io.WriteString(w, b.String())
	return err
}

// printKinds prints a table of what each kind has used in a time, and returns what all have.
func printKinds(b *strings.Builder, before, after map[string]kind, took time.Duration) (total kind) {
	names := slices.SortedFunc(maps.Keys(after), func(x, y string) int {
		return cmp.Or(cmp.Compare(after[y].mem.all, after[x].mem.all), cmp.Compare(x, y))
	})
	fmt.Fprintf(b, "  %-44s %6s %7s %8s %7s %7s %7s\n", "", "count", "MiB", "private", "files", "shared", "CPU")
	for _, name := range names {
		k := after[name]
		k.cpu -= before[name].cpu
		printKind(b, name, k, took)
		total.add(k)
	}
	printKind(b, "all", total, took)
	return total
}

// printKind prints a line; its CPU is in percent of one core.
func printKind(b *strings.Builder, name string, k kind, took time.Duration) {
	mib := func(n int64) float64 { return float64(n) / (1 << 20) }
	fmt.Fprintf(b, "  %-44s %6d %7.1f %8.1f %7.1f %7.1f %5.2f %%\n", name, k.count, mib(k.mem.all), mib(k.mem.private),
		mib(k.mem.files), mib(k.mem.shared), 100*k.cpu.Seconds()/took.Seconds())
}
