// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// lastBackupFile is the file of the data directory that says when `vigil backup` was last
// done, for `vigil doctor`. It has no secret.
const lastBackupFile = "last-backup.json"

// LastBackup describes a backup.
type LastBackup struct {
	At   time.Time `json:"at"`
	File string    `json:"file"` // -: standard output
}

// NoteBackup notes a backup in the data directory, where there is one.
func NoteBackup(dataDir, file string, at time.Time) error {
	if _, err := os.Stat(dataDir); err != nil {
		return nil //nolint:nilerr // the platform has its database elsewhere
	}
	if absolute, err := filepath.Abs(file); err == nil && file != "-" {
		file = absolute
	}
	text, err := json.Marshal(LastBackup{At: at.UTC().Truncate(time.Second), File: file})
	if err != nil {
		return err
	}
	path := filepath.Join(dataDir, lastBackupFile)
	if err := standalone.WritePrivate(path+".new", string(text)+"\n"); err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	return os.Rename(path+".new", path)
}

// ReadLastBackup reads what is known of the last backup.
func ReadLastBackup(dataDir string) (made LastBackup, ok bool) {
	text, err := os.ReadFile(filepath.Join(dataDir, lastBackupFile)) //nolint:gosec // a fixed name
	if err != nil {
		return made, false
	}
	return made, json.Unmarshal(text, &made) == nil && !made.At.IsZero()
}
