// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestBackupReadsThePooler tests that backup and restore open the database as
// VIGIL_DATABASE_POOLER says. The proxy refuses the settings of a session, which are sent
// only where none is expected.
func TestBackupReadsThePooler(t *testing.T) {
	t.Parallel()
	dsn := storagetest.StartPooler(t, storagetest.EmptyDSN(t))
	for pooler, want := range map[storage.Pooler]string{
		storage.PoolerAuto:        "has no schema of Vigil",
		storage.PoolerTransaction: "has no schema of Vigil",
		storage.PoolerNone:        "unsupported startup parameter",
	} {
		_, stderr, code := vigilRun(t, "backup", filepath.Join(t.TempDir(), "file"), "--data-dir", t.TempDir(),
			"--secret-key", strings.Repeat("ab", 32), "--database-url", dsn, "--database-pooler", string(pooler))
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("backup with the pooler %s ends with %d: %q, want %q", pooler, code, stderr, want)
		}
	}
	for pooler, passes := range map[storage.Pooler]bool{storage.PoolerAuto: true, storage.PoolerTransaction: true, storage.PoolerNone: false} {
		if err := prepareStore(t.Context(), dsn, pooler); (err == nil) != passes {
			t.Errorf("a restore with the pooler %s: %v, want success: %v", pooler, err, passes)
		}
	}
}
