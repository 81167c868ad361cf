// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// ClusterDir is the directory of the private Postgres in a data directory.
const ClusterDir = "postgres"

const superuser = "vigil"

// cluster is the directory of a private Postgres, and what it takes to run it.
type cluster struct {
	dir      string
	account  account
	bin      pgbin.Installation
	password string
}

// openCluster finds or creates the cluster in the data directory.
func openCluster(ctx context.Context, data *DataDir, binDirs []string) (cluster, error) {
	dir := filepath.Join(data.Path(), ClusterDir)
	acc, err := clusterAccount(ctx, dir)
	if err != nil {
		return cluster{}, err
	}
	major, err := clusterMajor(dir)
	if err != nil {
		return cluster{}, err
	}
	bin, err := findPostgres(ctx, binDirs, major)
	if err != nil {
		return cluster{}, err
	}
	if bin, err = acc.reachable(bin); err != nil {
		return cluster{}, err
	}
	password, err := data.Secret("postgres.password", 24)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{dir: dir, account: acc, bin: bin, password: password}
	if major != 0 {
		return c, nil
	}
	return c, c.create(ctx)
}

// findPostgres finds the installation for a cluster of a major version; 0 is a new
// cluster, for which any will do.
func findPostgres(ctx context.Context, dirs []string, major int) (pgbin.Installation, error) {
	found, err := pgbin.Find(ctx, dirs, major)
	if wrong, ok := errors.AsType[pgbin.VersionError](err); ok && wrong.Want != 0 {
		return found, fmt.Errorf(
			"the data directory was made by Postgres %d and only Postgres %d was found: install Postgres %d, "+
				"or choose another directory with VIGIL_DATA_DIR; to move to Postgres %d, take a backup where Postgres %d is "+
				"(vigil backup) and restore it into another directory (vigil restore)",
			wrong.Want, wrong.Found, wrong.Want, wrong.Found, wrong.Want,
		)
	}
	if err != nil {
		return found, fmt.Errorf("%w, or set DATABASE_URL", err)
	}
	return found, nil
}

// clusterMajor returns the version that made the cluster, 0 when there is none.
func clusterMajor(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION")) //nolint:gosec // a fixed name inside our own directory
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf(
			"the Postgres cluster %s cannot be read by this user (%w): "+
				"run vigil as the user that made it, or choose another directory with VIGIL_DATA_DIR",
			dir,
			err,
		)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf(
			"the Postgres cluster %s is damaged: restore the data directory from a backup, or choose another one with VIGIL_DATA_DIR", dir,
		)
	}
	return major, nil
}

// create runs initdb in a draft directory and renames it, so that a start that
// is killed half-way leaves nothing that looks like a cluster.
func (c cluster) create(ctx context.Context) error {
	draft := c.dir + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return unusable(filepath.Dir(c.dir), "written to", err)
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return unusable(filepath.Dir(c.dir), "written to", err)
	}
	secret := c.dir + ".pw"
	defer func() { _ = os.Remove(secret) }()
	if err := WritePrivate(secret, c.password+"\n"); err != nil {
		return unusable(filepath.Dir(c.dir), "written to", err)
	}
	for _, path := range []string{draft, secret} {
		if err := c.account.own(path); err != nil {
			return fmt.Errorf("the Postgres cluster cannot be given to the user %s: %w", c.account.name, err)
		}
	}
	if err := c.initialize(ctx, draft, secret); err != nil {
		return err
	}
	if err := os.Rename(draft, c.dir); err != nil {
		return unusable(filepath.Dir(c.dir), "written to", err)
	}
	return nil
}

// initialize runs initdb.
func (c cluster) initialize(ctx context.Context, dir, secret string) error {
	cmd := exec.CommandContext(ctx, c.bin.Path("initdb")) //nolint:gosec // the installation that was found
	names, opened, err := c.account.prepare(cmd, syscall.SIGKILL, dir, secret)
	if err != nil {
		return unusable(filepath.Dir(dir), "opened", err)
	}
	defer closeAll(opened)
	cmd.Args = append(cmd.Args, "-D", names[0], "-U", superuser, "--pwfile", names[1],
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb of Postgres %d failed (%w): %s", c.bin.Major, err, reasonIn(string(out)))
	}
	return nil
}

// reasonIn returns the line that says what went wrong in the output of a program, which may
// go on with how it cleans up; else the last line.
func reasonIn(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		for _, mark := range []string{"PANIC:", "FATAL:", "ERROR:", "error:"} {
			if strings.Contains(line, mark) {
				return strings.TrimSpace(line)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// stopLeftover stops the postmaster of a predecessor that was killed. This process holds
// the lock of the data directory, so no other vigil uses that server.
func (c cluster) stopLeftover(ctx context.Context) error {
	file := filepath.Join(c.dir, "postmaster.pid")
	pid, rest, err := readPidFile(file)
	if err != nil || pid == 0 {
		return err
	}
	if !alive(pid) {
		return nil // Postgres handles a stale file itself
	}
	if !runsIn(pid, c.dir) {
		return c.markStale(file, rest)
	}
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		_ = syscall.Kill(pid, step.signal)
		if awaitExit(ctx, pid, c.dir, step.wait) {
			return nil
		}
	}
	return fmt.Errorf("a Postgres of an earlier run in %s, process %d, does not stop: kill it (kill -9 %d) and start again", c.dir, pid, pid)
}

// markStale overwrites the pid of a pid file that now belongs to another program, as
// happens when a container is restarted. Postgres treats the pid of its parent as
// stale, and still checks that no backend of the dead server is left.
func (c cluster) markStale(file, rest string) error {
	text := strconv.Itoa(os.Getpid()) + rest
	if err := WritePrivate(file, text); err != nil {
		return unusable(filepath.Dir(c.dir), "written to", err)
	}
	return nil
}

// readPidFile returns the process ID of the postmaster, 0 when there is no file, and the
// rest of the file.
func readPidFile(file string) (pid int, rest string, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // a fixed name inside our own directory
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("the Postgres cluster cannot be read by this user: %w", err)
	}
	end := strings.IndexByte(string(text), '\n')
	if end < 0 {
		return 0, "", nil
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text[:end])))
	if err != nil || pid <= 1 {
		return 0, "", nil //nolint:nilerr // Postgres reports a damaged file
	}
	return pid, string(text[end:]), nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func awaitExit(ctx context.Context, pid int, dir string, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) && runsIn(pid, dir) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// InspectCluster returns the Postgres programs that a start with the data directory would
// use. The error is that of such a start: none was found, or not of the version that made
// the cluster.
func InspectCluster(ctx context.Context, dataDir string) (pgbin.Installation, error) {
	major, err := clusterMajor(filepath.Join(dataDir, ClusterDir))
	if err != nil {
		return pgbin.Installation{}, err
	}
	return findPostgres(ctx, nil, major)
}
