// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const lockName = "vigil.lock"

// DataDir is a directory owned by this process: its lock is held until Close, or until
// the process ends in any way.
type DataDir struct {
	path string
	lock int // a bare descriptor: an unreferenced os.File would be closed by the garbage collector
}

// OpenDataDir creates the directory if it is missing and locks it. The error is one
// sentence: which process holds the lock, or why the directory cannot be used, and the
// remedy.
func OpenDataDir(path string) (*DataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the data directory has no absolute path: %w", err)
	}
	if path, err = makeDataDir(path); err != nil {
		return nil, err
	}
	lock, err := syscall.Open(filepath.Join(path, lockName), syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unusable(path, "written to", err)
	}
	d := &DataDir{path: path, lock: lock}
	if err := syscall.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = d.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, d.inUse()
		}
		return nil, unusable(path, "locked", err)
	}
	if err := d.writePID(); err != nil {
		_ = d.Close()
		return nil, unusable(path, "written to", err)
	}
	return d, nil
}

// makeDataDir creates the directory if it is missing and returns its path without
// symbolic links. As root it refuses one that another user could exchange.
func makeDataDir(path string) (string, error) {
	asRoot := os.Geteuid() == 0
	if asRoot {
		if err := checkPath(path, 0); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", unusable(path, "created", err)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", unusable(path, "opened", err)
	}
	if asRoot {
		if err := checkDataDir(resolved, 0); err != nil {
			return "", err
		}
	}
	return resolved, nil
}

// Path is the absolute path of the directory, without symbolic links.
func (d *DataDir) Path() string { return d.path }

// Close releases the lock. The lock file stays: if it were removed, two openers could
// lock two different files.
func (d *DataDir) Close() error { return syscall.Close(d.lock) }

// Secret returns the secret of that name, which the first call creates: size random
// bytes in hexadecimal, in a file that only this user can read.
func (d *DataDir) Secret(name string, size int) (string, error) {
	path := filepath.Join(d.path, name)
	stored, err := readPrivate(path)
	if err == nil && len(strings.TrimSpace(string(stored))) == 2*size {
		return strings.TrimSpace(string(stored)), nil
	}
	if err == nil {
		return "", fmt.Errorf("the secret in %s is damaged: restore the file from a backup", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the secret in %s cannot be read: %w", path, err)
	}
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // never fails: crypto/rand ends the program instead
	secret := hex.EncodeToString(raw)
	if err := writeAtomic(path, secret+"\n"); err != nil {
		return "", unusable(d.path, "written to", err)
	}
	return secret, nil
}

// writePID stores our process ID for the error that a second opener gets.
func (d *DataDir) writePID() error {
	if err := syscall.Ftruncate(d.lock, 0); err != nil {
		return err
	}
	_, err := syscall.Pwrite(d.lock, []byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// writeAtomic writes a file as a whole or not at all.
func writeAtomic(path, content string) error {
	draft := path + ".new"
	if err := WritePrivate(draft, content); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// inUse is the error that names the process which holds the lock.
func (d *DataDir) inUse() error {
	text := make([]byte, 20)
	n, err := syscall.Pread(d.lock, text, 0)
	pid, notNumber := strconv.Atoi(strings.TrimSpace(string(text[:max(n, 0)])))
	if err != nil || notNumber != nil {
		pid = 0
	}
	return &InUseError{Path: d.path, PID: pid}
}

// InUseError says that another process holds the lock of a data directory.
type InUseError struct {
	Path string
	PID  int // of that process; 0 when it is not known
}

// Error names the directory, the process and the remedy.
func (e *InUseError) Error() string {
	process, kill := "", ""
	if e.PID != 0 {
		process, kill = fmt.Sprintf(", process %d", e.PID), fmt.Sprintf(" (kill %d)", e.PID)
	}
	return fmt.Sprintf("the data directory %s is in use by another vigil%s: stop that one first%s, "+
		"or choose another directory with VIGIL_DATA_DIR", e.Path, process, kill)
}

func unusable(path, verb string, cause error) error {
	var broken *fs.PathError
	if errors.As(cause, &broken) {
		cause = broken.Err
	}
	return fmt.Errorf(
		"the data directory %s cannot be %s (%w): make it writable for this user, or choose another one with VIGIL_DATA_DIR", path, verb, cause,
	)
}
