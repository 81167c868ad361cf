// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// The memory of this process follows the machine. GOMEMLIMIT and GOGC, when they are set,
// keep their meaning for Go's runtime, and the process leaves that part alone.
const (
	// memoryShare is the part of the memory of the machine, or of the control group, up
	// to which the heap grows before the collector runs more often. It leaves room for the
	// private Postgres.
	memoryShare = 0.7

	// besideHeap is what the private Postgres and the pages of the program take, in bytes, where that is more than
	// memoryShare leaves them.
	besideHeap = 176 << 20

	// startSettled is how long after the start the memory that only starting needs is
	// given back.
	startSettled = 10 * time.Second
)

// manageMemory sets the limit of the heap, and bounds how it grows until ctx ends.
func manageMemory(ctx context.Context, self Program) {
	memory := availableMemory(os.ReadFile)
	if limit := memoryLimit(self.getenv("GOMEMLIMIT"), memory); limit > 0 {
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
		if self.getenv("GOGC") == "" {
			boundHeap(ctx, memory)
		}
	}()
}

// memoryLimit is the limit in bytes that this process sets for itself; 0: none, because the
// operator has set one or the memory of the machine is not known.
func memoryLimit(given string, memory int64) int64 {
	if given != "" {
		return 0
	}
	share := int64(memoryShare * float64(memory))
	return max(memory/2, min(share, memory-besideHeap))
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
