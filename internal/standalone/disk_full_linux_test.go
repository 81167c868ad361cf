// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestFullDiskAtTheFirstStart holds that a start on a disk that is too small says so, at
// whichever of its steps the disk is full.
func TestFullDiskAtTheFirstStart(t *testing.T) {
	t.Parallel()
	for _, kib := range []int{16, 12 << 10, 38 << 10, 58 << 10} {
		t.Run(strconv.Itoa(kib)+"KiB", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755,size="+strconv.Itoa(kib)+"k")
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
			err = firstStart(t, filepath.Join(dir, "data"))
			if err == nil {
				t.Fatal("it starts on a disk that has no room for it")
			}
			t.Log(err)
			said := err.Error()
			if !strings.Contains(said, "is full") || !strings.Contains(said, "VIGIL_DATA_DIR") || strings.Contains(said, "removing contents") {
				t.Errorf("the start says %s", said)
			}
		})
	}
}

// firstStart starts a Postgres and fills its disk.
func firstStart(t *testing.T, dir string) error {
	t.Helper()
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		return standalone.ExplainFull(filepath.Dir(dir), err)
	}
	defer data.Close()
	pg, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: []string{"vigil", "second", "third"}})
	if err != nil {
		return err
	}
	if err := pg.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	t.Logf("%v, %v", left, err)
	return nil
}
