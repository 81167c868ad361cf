// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgbin"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

// InspectCluster finds what a start would use, and changes nothing.
func TestInspectCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if found, err := standalone.InspectCluster(t.Context(), dir); err != nil || found.Major < pgbin.OldestMajor {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "postgres"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "postgres", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := standalone.InspectCluster(t.Context(), dir); err == nil {
		t.Errorf("found %+v for a cluster of Postgres 9", found)
	}
	if _, err := os.Stat(filepath.Join(dir, "vigil.lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was changed: %v", err)
	}
}
