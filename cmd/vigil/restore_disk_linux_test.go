// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRestoreOnAFullDisk holds that a restore into a data directory says when the disk is full.
func TestRestoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755,size=16k")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("a small disk needs the right to mount one, which root has")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 16<<10), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, []byte("no backup"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := vigilRun(t, "restore", file, "--data-dir", filepath.Join(dir, "data"))
	if code == 0 || !strings.Contains(stderr, "is full") || !strings.Contains(stderr, "VIGIL_DATA_DIR") {
		t.Errorf("a restore ends with %d: %q", code, stderr)
	}
}
