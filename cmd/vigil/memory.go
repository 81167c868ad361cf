package main

import (
	"context"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The memory of this process follows the machine. GOMEMLIMIT and GOGC, when they are set,
// keep their meaning for Go's runtime, and the process leaves that part alone.
const (
	// memoryShare is the part of the memory of the machine, or of the control group, up
	// to which the heap grows before the collector runs more often. It leaves room for the
	// private Postgres.
	memoryShare = 0.7

	// The collector runs when the heap has grown by gcPercent: by little while that is
	// cheap, since less memory is used then.
	minGCPercent, maxGCPercent = 25, 100
	// gcBudget is the part of the machine's CPU time that the collector may take before it
	// runs less often, and gcCheap that below which it runs more often. Twice as often
	// costs twice as much, so that gcCheap is less than half of gcBudget.
	gcBudget, gcCheap = 0.012, 0.005
	// While the heap grows by less than smallGrowth between two runs, memory saves little,
	// and the budget is a third.
	smallGrowth = 24 << 20
	gcInterval  = 10 * time.Second

	// startSettled is how long after the start the memory that only starting needs is
	// given back.
	startSettled = 10 * time.Second
)

// manageMemory sets the limit of the heap, and adapts the collector until ctx ends.
func manageMemory(ctx context.Context) {
	if limit := memoryLimit(os.Getenv("GOMEMLIMIT"), os.ReadFile); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	go func() {
		settled := time.NewTimer(startSettled)
		defer settled.Stop()
		select {
		case <-ctx.Done():
			return
		case <-settled.C:
			debug.FreeOSMemory()
			releaseProgram()
		}
		if os.Getenv("GOGC") == "" {
			adaptCollector(ctx)
		}
	}()
}

// memoryLimit is the limit in bytes that this process sets for itself; 0: none, because the
// operator has set one or the memory of the machine is not known.
func memoryLimit(given string, read func(name string) ([]byte, error)) int64 {
	if given != "" {
		return 0
	}
	return int64(memoryShare * float64(availableMemory(read)))
}

// adaptCollector adapts the collector until ctx ends.
func adaptCollector(ctx context.Context) {
	tick := time.NewTicker(gcInterval)
	defer tick.Stop()
	percent, last := maxGCPercent, readEffort()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := readEffort()
			if next := nextGCPercent(percent, now.share(last), now.live); next != percent {
				percent = next
				debug.SetGCPercent(percent)
			}
			last = now
		}
	}
}

// effort is what the collector and the program have done so far.
type effort struct {
	at time.Time
	// collector and busy are the runtime's own estimates in seconds, which include the time
	// that other processes had the processors. Only their relation counts.
	collector, busy float64
	cpu             time.Duration // of the process, as the system counted it
	live            uint64        // bytes of the heap that the last run of the collector found in use
}

func readEffort() effort {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, // most of it, on a machine that has time
		{Name: "/cpu/classes/gc/pause:cpu-seconds"},
		{Name: "/cpu/classes/user:cpu-seconds"},
	}
	metrics.Read(samples)
	e := effort{at: time.Now(), cpu: processTime()}
	for i, sample := range samples {
		if sample.Value.Kind() != metrics.KindFloat64 {
			continue
		}
		if e.busy += sample.Value.Float64(); i < len(samples)-1 {
			e.collector += sample.Value.Float64()
		}
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 {
		e.live = live[0].Value.Uint64()
	}
	return e
}

// share is the part of the machine's CPU time that the collector has taken since another
// reading.
func (e effort) share(since effort) float64 {
	busy, wall := e.busy-since.busy, e.at.Sub(since.at).Seconds()
	if busy <= 0 || wall <= 0 {
		return 0
	}
	used := (e.cpu - since.cpu).Seconds() * (e.collector - since.collector) / busy
	return used / (wall * float64(runtime.GOMAXPROCS(0)))
}

// processTime is the CPU time of this process, 0 where the system does not say.
func processTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// nextGCPercent returns the percentage that follows one with which the collector took a
// share of the machine's CPU time. live is the heap in use in bytes.
func nextGCPercent(percent int, share float64, live uint64) int {
	part := func(percent int) float64 {
		if float64(live)*float64(percent)/100 < smallGrowth {
			return 1. / 3
		}
		return 1
	}
	switch {
	case share > gcBudget*part(percent):
		return min(2*percent, maxGCPercent)
	case share < gcCheap*part(percent/2):
		return max(percent/2, minGCPercent)
	default:
		return percent
	}
}

// availableMemory is the memory in bytes that the processes of this machine, or of this
// control group, may use together; 0 when it is not known.
func availableMemory(read func(name string) ([]byte, error)) int64 {
	least := int64(0)
	consider := func(limit int64) {
		if limit > 0 && (least == 0 || limit < least) {
			least = limit
		}
	}
	if raw, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				consider(firstNumber(rest) << 10)
			}
		}
	}
	if raw, err := read("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(raw)) {
			for _, file := range groupLimits(strings.TrimSpace(line)) {
				if raw, err := read(file); err == nil {
					consider(firstNumber(string(raw)))
				}
			}
		}
	}
	return least
}

// groupLimits are the files with the memory limits of a control group, and of those that
// it belongs to, by a line of /proc/self/cgroup. In a container the group's own directory
// may be mounted as the root.
func groupLimits(line string) []string {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return nil
	}
	root, file := "", ""
	switch {
	case parts[0] == "0" && parts[1] == "":
		root, file = "/sys/fs/cgroup", "memory.max"
	case parts[1] == "memory":
		root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	default:
		return nil
	}
	var files []string
	for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
		files = append(files, path.Join(root, group, file))
		if group == "/" {
			return files
		}
	}
}

// firstNumber reads the number at the start of a text, 0 when there is none, such as max.
func firstNumber(text string) int64 {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
