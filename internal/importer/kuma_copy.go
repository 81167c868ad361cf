// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxCopies is how often a database is copied until a copy has one state.
const maxCopies = 5

// databaseSuffixes are the ends of the names of the files that a SQLite database has.
func databaseSuffixes() []string { return []string{"", "-wal", "-shm"} }

// copyDatabase copies a SQLite database with its journal to a temporary directory, which
// remove deletes. The original is only read. A copy during which the files change is made again.
func copyDatabase(path string) (copied string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "vigil-import-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	copied = filepath.Join(dir, "kuma.db")
	for range maxCopies {
		before := stateOf(path)
		for _, suffix := range databaseSuffixes() {
			if err := copyFile(path+suffix, copied+suffix); err != nil {
				remove()
				return "", nil, fmt.Errorf("copy %s: %w", path+suffix, err)
			}
		}
		if stateOf(path) == before {
			return copied, remove, nil
		}
	}
	remove()
	return "", nil, fmt.Errorf("%s changes too often to be copied; stop Uptime Kuma, or give a copy of the file", path)
}

// fileState says whether a file has changed.
type fileState struct {
	size     int64
	modified time.Time
}

// stateOf returns the states of the files with data; the -shm file has none.
func stateOf(path string) [2]fileState {
	var states [2]fileState
	for i, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			states[i] = fileState{info.Size(), info.ModTime()}
		}
	}
	return states
}

// copyFile copies a file; without it there is no copy either.
func copyFile(from, to string) error {
	source, err := os.Open(from) //nolint:gosec // the user names the file
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // in a directory of our own
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
