// SPDX-License-Identifier: Apache-2.0

package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
)

// Instance describes a platform that runs on this machine.
type Instance struct {
	APIURL string `json:"api_url"`
	UIURL  string `json:"ui_url,omitempty"` // of Temporal
	// TemporalAddress and MetricsURL are where the instance reaches Temporal and serves its
	// metrics; Namespace is the one that it uses.
	TemporalAddress string    `json:"temporal_address,omitempty"`
	Namespace       string    `json:"namespace,omitempty"`
	MetricsURL      string    `json:"metrics_url,omitempty"`
	PID             int       `json:"pid"`
	Version         string    `json:"version"`
	StartedAt       time.Time `json:"started_at"`
	DemoURL         string    `json:"demo_url,omitempty"` // of the shop of `vigil up --demo`
}

// File is the file of the data directory that describes the running instance. It
// has no secret, and every user may read it.
const File = "instance.json"

// SaveInstance writes the description of the running instance into its data directory.
func SaveInstance(dataDir string, instance Instance) error {
	text, err := json.Marshal(instance)
	if err != nil {
		return err
	}
	if err := writePublic(filepath.Join(dataDir, File), text); err != nil {
		return fmt.Errorf("describe the instance: %w", err)
	}
	return nil
}

// RemoveInstance removes the description, unless another instance has replaced it.
func RemoveInstance(dataDir string, pid int) {
	if found, err := Read(dataDir); err == nil && found.PID == pid {
		_ = os.Remove(filepath.Join(dataDir, File))
	}
}

// Read reads the description of a data directory, whose process may have ended.
func Read(dataDir string) (Instance, error) {
	var found Instance
	text, err := os.ReadFile(filepath.Join(dataDir, File)) //nolint:gosec // the user names the directory
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return found, err
	}
	found.APIURL, err = console.ServerURL(found.APIURL, File)
	return found, err
}

// TemporalOf returns the address of the Temporal of the instance that a data directory
// describes.
func TemporalOf(dataDir string) (string, error) {
	found, err := Read(dataDir)
	return found.TemporalAddress, err
}

// Running returns the running instance of a data directory. With an error the
// instance is the one that ended without removing its description, or the zero value.
func Running(dataDir string) (Instance, error) {
	found, err := Read(dataDir)
	if err != nil {
		return found, err
	}
	process, err := os.FindProcess(found.PID)
	if err != nil {
		return found, err
	}
	if err := process.Signal(syscall.Signal(0)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return found, fmt.Errorf("the process %d has ended", found.PID)
	}
	return found, nil
}
