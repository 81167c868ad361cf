// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"os"
	"path/filepath"
)

// syncDir makes what was made or renamed in a directory outlive a crash of the machine.
func syncDir(dir string) error {
	file, err := os.Open(dir) //nolint:gosec // the data directory
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return file.Sync()
}

// replaceFile writes a file so that it is the old or the new one after a crash.
func replaceFile(path string, data []byte) error {
	temp := path + tempSuffix
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // in the data directory
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncDir(filepath.Dir(path))
}
