// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// part is one process of the platform under measurement.
type part struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// spawn runs this program again as a part. With a ready value it waits for the
// line of JSON that the part prints once it serves.
func spawn(ctx context.Context, name string, env []string, ready any, args ...string) (*part, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // this very program
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &part{name: name, cmd: cmd, done: make(chan struct{})}
	read := bufio.NewReader(out)
	if ready != nil {
		line, err := read.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s did not become ready: %w", name, err)
		}
		if err := json.Unmarshal(line, ready); err != nil {
			return nil, fmt.Errorf("%s printed something other than its ready line: %w", name, err)
		}
	}
	go func() {
		defer close(p.done)
		_, _ = io.Copy(io.Discard, read)
		_ = cmd.Wait()
	}()
	return p, nil
}

// stop asks the part to end and waits for it.
func (p *part) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

func (p *part) pid() int { return p.cmd.Process.Pid }

// clockTick is the unit of CPU time in /proc on Linux, for every architecture
// that Go runs on.
const clockTick = 10 * time.Millisecond

// usage is what processes have used so far.
type usage struct {
	cpu time.Duration
	mem int64 // bytes resident now, shared ones divided among their sharers
}

// usageOf adds up a process and, with tree, all that descend from it.
func usageOf(pid int, tree bool) (usage, error) {
	all, err := processes()
	if err != nil {
		return usage{}, err
	}
	root, ok := all[pid]
	if !ok {
		return usage{}, fmt.Errorf("process %d is gone", pid)
	}
	total := root.usage
	total.mem = memoryIn(pid).all
	if tree {
		for id, p := range all {
			if id != pid && descends(all, id, pid) {
				total.cpu += p.cpu
				total.mem += memoryIn(id).all
			}
		}
		total.cpu += root.waited // children that have ended
	}
	return total, nil
}

func descends(all map[int]process, id, ancestor int) bool {
	for id > 1 {
		id = all[id].parent
		if id == ancestor {
			return true
		}
	}
	return false
}

// process is a line of /proc.
type process struct {
	usage
	parent int
	waited time.Duration // CPU time of children that were waited for
}

func processes() (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New("there is no /proc here: the measurement needs Linux")
	}
	all := make(map[int]process, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path) //nolint:gosec // names from the kernel
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		all[pid] = parseStat(string(raw))
	}
	return all, nil
}

// parseStat reads proc(5) stat. The fields are counted behind the command, whose
// name may hold anything: 1 parent, 11 to 14 user, system and the same of waited
// children in ticks, 21 resident pages.
func parseStat(text string) process {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	number := func(i int) int64 {
		if i >= len(fields) {
			return 0
		}
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return n
	}
	return process{
		parent: int(number(1)),
		usage:  usage{cpu: time.Duration(number(11)+number(12)) * clockTick},
		waited: time.Duration(number(13)+number(14)) * clockTick,
	}
}
