// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Host is what would be a machine: an address, and the processes there.
type Host struct {
	Kind    Kind
	Name    string
	Address string
	Region  string // of a region's worker

	octet   int
	network network
	logs    string // directory
	// works are directories in which processes of the host work that no process of ours started, such as
	// the cluster of a Postgres that outlives its Patroni.
	works []string

	mu       sync.Mutex
	programs []program
	running  []*running
	up       bool // programs that end are started again, as systemd does
	restarts int
}

// program is one command that a host runs.
type program struct {
	name string // of its log
	argv []string
	env  []string
	user *osAccount // nil: that of this process
	dir  string     // "": that of this process
}

// running is a program that was started.
type running struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// add gives the host a program, which start runs.
func (h *Host) add(p program) { h.programs = append(h.programs, p) }

// Start runs the programs of the host. Those that it had before must have ended.
func (h *Host) Start() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = true
	h.running = make([]*running, len(h.programs))
	for i, p := range h.programs {
		one, err := h.run(p)
		if err != nil {
			return err
		}
		h.running[i] = one
		go h.keep(i, one)
	}
	return nil
}

// restartPause is between the end of a program and its next start.
const restartPause = time.Second

// keep starts a program again that ends by itself.
func (h *Host) keep(i int, one *running) {
	for {
		<-one.exited
		time.Sleep(restartPause)
		h.mu.Lock()
		if !h.up || h.running[i] != one { // the host was stopped, and may have been started again
			h.mu.Unlock()
			return
		}
		next, err := h.run(h.programs[i])
		if err == nil {
			h.restarts++
			h.running[i] = next
			one = next
		}
		h.mu.Unlock()
	}
}

// down says that what ends stays so.
func (h *Host) down() []*running {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = false
	return slices.DeleteFunc(slices.Clone(h.running), func(one *running) bool { return one == nil })
}

// Restarts is how often a program of the host has ended by itself.
func (h *Host) Restarts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.restarts
}

func (h *Host) run(p program) (*running, error) {
	argv := h.network.prefix(h)
	if p.user != nil {
		argv = append(argv, p.user.prefix()...)
	}
	argv = append(argv, p.argv...)
	log, err := os.OpenFile(h.log(p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // programs of the cluster, which end by signals
	cmd.Env = append(environment(), p.env...)
	cmd.Dir = p.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s on %s: %w", p.name, h.Name, err)
	}
	one := &running{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(one.exited)
		_ = cmd.Wait()
	}()
	return one, nil
}

// environment is what every program has.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=/nonexistent", "LC_ALL=C.UTF-8"}
}

func (h *Host) log(program string) string { return filepath.Join(h.logs, h.Name+"."+program+".log") }

// Pids returns the processes of the host.
func (h *Host) Pids() []int {
	h.mu.Lock()
	var roots []int
	for _, one := range h.running {
		if one == nil {
			continue
		}
		select {
		case <-one.exited:
		default:
			roots = append(roots, one.cmd.Process.Pid)
		}
	}
	h.mu.Unlock()
	return family(roots, h.works)
}

// Signal sends a signal to every process of the host.
func (h *Host) Signal(signal syscall.Signal) {
	for _, pid := range h.Pids() {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

// Kill ends all processes of the host at once, and returns when none is left.
func (h *Host) Kill(ctx context.Context) error {
	all := h.down()
	for {
		pids := h.Pids()
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := timing.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	for _, one := range all {
		<-one.exited
	}
	return nil
}

// Stop asks the programs of the host to end, and kills what is left when ctx ends.
func (h *Host) Stop(ctx context.Context) {
	all := h.down()
	for _, one := range all {
		_ = one.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, one := range all {
		select {
		case <-one.exited:
		case <-ctx.Done():
		}
	}
	_ = h.Kill(context.WithoutCancel(ctx))
}

// family returns processes with all that descend from them, and those that work in one of the directories.
func family(roots []int, works []string) []int {
	parents := make(map[int]int)
	found := slices.Clone(roots)
	paths, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(path + "/stat") //nolint:gosec // names from the kernel
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		if at, err := os.Readlink(path + "/cwd"); err == nil && slices.Contains(works, at) {
			found = append(found, pid)
		}
	}
	for pid := range parents {
		for at := parents[pid]; at > 1; at = parents[at] {
			if slices.Contains(roots, at) {
				found = append(found, pid)
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
