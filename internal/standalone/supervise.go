// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	fastStop      = syscall.SIGINT
	immediateStop = syscall.SIGQUIT

	logLimit = 8 << 20 // bytes of postgres.log, after which it is rotated
)

// supervise runs the server until Stop and restarts it when it ends by itself. It keeps
// its thread, because the kernel sends the parent death signal when the thread that
// started the process ends. first receives the error of the first exit.
func (p *Postgres) supervise(ctx context.Context, first chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.halted)
	pause := 200 * time.Millisecond
	for {
		err := p.run()
		p.pid.Store(0)
		select {
		case first <- err:
		default:
		}
		select {
		case <-p.stop:
			return
		case <-time.After(pause):
		}
		p.log.WarnContext(ctx, "postgres ended unexpectedly and is restarted", "error", err)
		if err := p.cluster.stopLeftover(ctx); err != nil {
			p.log.ErrorContext(ctx, "postgres cannot be restarted", "error", err)
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// run starts one server process and returns when it has ended.
func (p *Postgres) run() error {
	out, err := p.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	p.removeSocket()
	cmd := exec.Command(p.cluster.bin.Path("postgres")) //nolint:gosec,noctx // ended by signals in Postgres's own way, not by a context
	names, opened, err := p.cluster.account.prepare(cmd, fastStop, p.cluster.dir)
	if err != nil {
		return fmt.Errorf("opening the cluster: %w", err)
	}
	cmd.Args = append(cmd.Args, p.arguments(names[0])...)
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Start()
	closeAll(opened)
	if err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	p.pid.Store(int64(cmd.Process.Pid))
	if p.stopped.Load() { // Stop may have looked for a process before there was one
		_ = cmd.Process.Signal(fastStop)
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("it was stopped by another program")
}

// removeSocket removes the socket of a server that was killed, of which none is left. Postgres
// does so only when no process has the id of that server.
func (p *Postgres) removeSocket() {
	for _, path := range []string{p.socket(), p.socket() + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.log.Warn("the socket of an earlier postgres cannot be removed", "error", err)
		}
	}
}

// signalAndWait signals the server and reports whether it ended before ctx did.
func (p *Postgres) signalAndWait(ctx context.Context, signal syscall.Signal) bool {
	if pid := p.PID(); pid != 0 {
		_ = syscall.Kill(pid, signal)
	}
	select {
	case <-p.halted:
		return true
	case <-ctx.Done():
		return false
	}
}

// killAll ends the server's whole process group.
func (p *Postgres) killAll() {
	if pid := p.PID(); pid != 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func (p *Postgres) openLog() (*os.File, error) {
	path := p.logFile()
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if size > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotating the log of postgres: %w", err)
		}
		size = 0
	}
	p.logFrom.Store(size)
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // a fixed name inside our own directory
}

// arguments are the server's settings, passed at every start so that a newer Vigil
// applies its own. Durability is untouched (fsync, full_page_writes and
// synchronous_commit stay on): a stored result must survive a crash.
func (p *Postgres) arguments(dir string) []string {
	args := []string{"-D", dir}
	for _, setting := range append(p.memory(),
		"port="+strconv.Itoa(p.port),
		"listen_addresses="+loopback,
		"unix_socket_directories=.", // that of the cluster, which only its owner may enter

		"huge_pages=off", // they are taken whole, however little of them is used

		// Many small commits, no replicas, no analytics beside the probing.
		"wal_level=minimal",
		"max_wal_senders=0",
		"max_logical_replication_workers=0",
		"max_wal_size=2GB",
		"checkpoint_timeout=15min",
		"max_parallel_workers_per_gather=0",
		"jit=off",
		"random_page_cost=1.1",

		// Temporal's rows live for seconds: dead ones must not pile up.
		"autovacuum_naptime=30s",
		"autovacuum_vacuum_scale_factor=0.05",
		"autovacuum_analyze_scale_factor=0.1",

		"log_min_messages=warning",
		"log_checkpoints=off",
		"log_line_prefix=%m [%p] %d ",
		"timezone=GMT", // UTC, on a machine without time zones too
	) {
		args = append(args, "-c", setting)
	}
	return args
}

// memory are the settings of the server that take memory.
func (p *Postgres) memory() []string {
	if p.small {
		return []string{
			"max_connections=60", "shared_buffers=32MB", "work_mem=2MB", "maintenance_work_mem=16MB", "wal_buffers=1MB",
			"autovacuum_max_workers=1",
		}
	}
	// Each of the four Temporal services has a pool for its store and one for visibility, and Vigil has its own.
	return []string{"max_connections=200", "shared_buffers=128MB", "work_mem=8MB", "wal_buffers=4MB"}
}
