// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// binaries are the Postgres programs of one installation and the user that runs them.
type binaries struct {
	pgbin.Installation
	uid, gid       int
	dropPrivileges bool // the process is root, as which initdb refuses to run
}

// findBinaries finds the Postgres of this machine and the user that runs it, once for each
// process: it runs the programs to ask for their version.
var findBinaries = sync.OnceValues(func() (*binaries, error) { //nolint:gochecknoglobals // see above
	b := &binaries{uid: os.Getuid(), gid: os.Getgid()}
	if b.uid == 0 {
		if err := b.chooseUser(); err != nil {
			return nil, err
		}
	}
	found, err := pgbin.Find(context.Background(), nil, 0)
	if err != nil {
		return nil, fmt.Errorf("%w, or set VIGIL_TEST_DATABASE_URL", err)
	}
	b.Installation = found
	return b, nil
})

func (b *binaries) chooseUser() error {
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(account.Uid)
		gid, errGID := strconv.Atoi(account.Gid)
		if errUID == nil && errGID == nil {
			b.uid, b.gid, b.dropPrivileges = uid, gid, true
			return nil
		}
	}
	return errors.New("neither user postgres nor nobody exists to run Postgres, which refuses to run as root; set VIGIL_TEST_DATABASE_URL")
}

// command prepares a program of the installation. It runs in its own session, so that
// signals to this process do not reach it.
func (b *binaries) command(dir, name string, args ...string) *exec.Cmd {
	if !strings.HasPrefix(name, "/") {
		name = b.Path(name)
	}
	cmd := exec.Command(name, args...) //nolint:gosec,noctx // a program of Postgres, which outlives the test that starts it
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin:" + b.Dir, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.dropPrivileges {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.gid)} //nolint:gosec // ids of the user database
	}
	return cmd
}

// run runs a program and waits for its end. The error contains what the program printed.
func (b *binaries) run(dir, name string, args ...string) error {
	output, err := os.CreateTemp(dir, "output-")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = os.Remove(output.Name()) }()
	defer output.Close()
	cmd := b.command(dir, name, args...)
	// A file and not a pipe: the server inherits it, and Run would wait for the end of
	// a pipe as long as the server runs.
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(output.Name()) // only explains the error
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(text)))
	}
	return nil
}

// makeOwnedDir creates a directory that belongs to the server's user and is closed to all
// others but root.
func (b *binaries) makeOwnedDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("stat %s: %w", dir, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || ok && int(owner.Uid) != b.uid && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if b.dropPrivileges {
		if err := os.Chown(dir, b.uid, b.gid); err != nil {
			return fmt.Errorf("change the owner of %s to the server's user: %w", dir, err)
		}
	}
	return nil
}

// memoryDir is a file system in memory where one is mounted, as on most Linux machines, and
// memoryNeeded what has to be free there, in bytes.
const (
	memoryDir    = "/dev/shm"
	memoryNeeded = 4 << 30
)

// BaseDir is where tests make the data directories of servers: in memory where there is
// room, else, and where TMPDIR is set, the directory of temporary files. A database has three
// hundred files, and to create them on a disk takes up to ten times the CPU. What is in
// memory outlives a process that is killed, as what is on a disk does.
func BaseDir() string {
	if os.Getenv("TMPDIR") == "" && freeIn(memoryDir) >= memoryNeeded {
		return memoryDir
	}
	return os.TempDir()
}

// baseDir returns a directory for sockets and data that the server's user can enter,
// which excludes a private TMPDIR of root. What is not disposable is on a disk.
func (b *binaries) baseDir(disposable bool) string {
	dir := os.TempDir()
	if disposable {
		dir = BaseDir()
	}
	for at := dir; b.dropPrivileges && at != "/" && at != "."; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o001 == 0 {
			return "/tmp"
		}
	}
	return dir
}

// freeIn returns how many bytes are free in a directory that everyone may write, else 0.
func freeIn(dir string) uint64 {
	var system syscall.Statfs_t
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o777 || syscall.Statfs(dir, &system) != nil {
		return 0
	}
	return system.Bavail * uint64(system.Bsize) //nolint:gosec // a size is not negative
}
