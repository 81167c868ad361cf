// SPDX-License-Identifier: Apache-2.0

package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Applied describes what became of the definitions that an instance applies by itself
// (`vigil up --apply`, `vigil api --apply`).
type Applied struct {
	Path  string       `json:"path"` // of the file or directory
	State AppliedState `json:"state"`
	// Project and Plan are those of the definitions that were applied last; "" before.
	Project string `json:"project,omitempty"`
	Plan    string `json:"plan,omitempty"`
	// Changes is how many objects that application created, changed or restored.
	Changes   int        `json:"changes"`
	LookedAt  time.Time  `json:"looked_at"`
	AppliedAt *time.Time `json:"applied_at,omitempty"`
	// Errors say why the present definitions are not applied; those of a file begin with
	// file:line:column.
	Errors []string `json:"errors,omitempty"`
	PID    int      `json:"pid"`
}

// AppliedState is whether the present definitions are applied.
type AppliedState string

const (
	// AppliedNow means that the platform is as the definitions say, but for later changes by others.
	AppliedNow AppliedState = "applied"
	// AppliedInvalid means that they have an error, and nothing was changed.
	AppliedInvalid AppliedState = "invalid"
	// AppliedFailed means that they could not be applied for another reason, and are tried again.
	AppliedFailed AppliedState = "failed"
)

// appliedFile is the file of the data directory that describes what was applied. It has
// no secret, and every user may read it.
const appliedFile = "apply.json"

// SaveApplied writes the description into a data directory.
func SaveApplied(dataDir string, applied Applied) error {
	text, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	return writePublic(filepath.Join(dataDir, appliedFile), text)
}

// ReadApplied reads the description of a data directory; ok is false when the instance
// applies no definitions.
func ReadApplied(dataDir string) (applied Applied, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(dataDir, appliedFile)) //nolint:gosec // the user names the directory
	if errors.Is(err, fs.ErrNotExist) {
		return applied, false, nil
	}
	if err != nil {
		return applied, false, err
	}
	if err := json.Unmarshal(text, &applied); err != nil {
		return applied, false, fmt.Errorf("%s cannot be read: %w", appliedFile, err)
	}
	return applied, true, nil
}

// RemoveApplied removes the description.
func RemoveApplied(dataDir string) { _ = os.Remove(filepath.Join(dataDir, appliedFile)) }

// writePublic writes a file that every user may read, as a whole or not at all.
func writePublic(path string, text []byte) error {
	draft := path + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o644); err != nil { //nolint:gosec // no secret, for every user
		return err
	}
	return os.Rename(draft, path)
}
