// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
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

// instanceFile is the file of the data directory that describes the running instance. It
// has no secret, and every user may read it.
const instanceFile = "instance.json"

// SaveInstance writes the description of the running instance into its data directory.
func SaveInstance(dataDir string, instance Instance) error {
	text, err := json.Marshal(instance)
	if err != nil {
		return err
	}
	if err := writePublic(filepath.Join(dataDir, instanceFile), text); err != nil {
		return fmt.Errorf("describe the instance: %w", err)
	}
	return nil
}

// RemoveInstance removes the description, unless another instance has replaced it.
func RemoveInstance(dataDir string, pid int) {
	if found, err := readInstance(dataDir); err == nil && found.PID == pid {
		_ = os.Remove(filepath.Join(dataDir, instanceFile))
	}
}

func readInstance(dataDir string) (Instance, error) {
	var found Instance
	text, err := os.ReadFile(filepath.Join(dataDir, instanceFile)) //nolint:gosec // the user names the directory
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return found, err
	}
	found.APIURL, err = serverURL(found.APIURL, instanceFile)
	return found, err
}

// TemporalOf returns the address of the Temporal of the instance that a data directory
// describes.
func TemporalOf(dataDir string) (string, error) {
	found, err := readInstance(dataDir)
	return found.TemporalAddress, err
}

// FindInstance returns the running instance of a data directory. With an error the
// instance is the one that ended without removing its description, or the zero value.
func FindInstance(dataDir string) (Instance, error) { return findInstance(dataDir) }

// findInstance returns the running instance of a data directory. A description whose
// process has ended is out of date.
func findInstance(dataDir string) (Instance, error) {
	found, err := readInstance(dataDir)
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

// healthTimeout bounds how long an instance on this machine may take to answer.
const healthTimeout = 3 * time.Second

// answers reports whether an instance serves its API.
func (i Instance) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.APIURL+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool { return console.IsTerminal(stream) }

// SaveLocal saves the first key of an instance as the context local, unless there is such
// a context. It returns the name of the context, "" when none was saved. It becomes the
// current one if there is none.
func SaveLocal(apiURL, key, dataDir string) (name string, err error) {
	err = console.ChangeContexts(configPath(), func(string, ...any) {}, func(contexts *console.Contexts) error {
		if _, exists := contexts.Contexts[localContext]; exists {
			return errExists
		}
		contexts.Contexts[localContext] = console.Context{URL: apiURL, Key: key, DataDir: dataDir, Organization: "Operator"}
		if contexts.Current == "" {
			contexts.Current = localContext
		}
		return nil
	})
	switch {
	case errors.Is(err, errExists):
		return "", nil
	case err != nil:
		return "", err
	}
	return localContext, nil
}

var errExists = errors.New("the context exists")
