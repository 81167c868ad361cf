// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// TestVulnerabilityScript holds that CI fails when vulnerabilities are found, and says
// plainly when it could not look for them.
func TestVulnerabilityScript(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	database := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(database.Close)
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	for name, tt := range map[string]struct {
		database string
		exit     string // of the tool
		code     int
		says     string
	}{
		"nothing is found":             {database.URL, "0", 0, "vulnerabilities: none found"},
		"something is found":           {database.URL, "3", 3, "vulnerabilities: FOUND"},
		"the search fails":             {database.URL, "1", 1, "vulnerabilities: the search failed with exit code 1"},
		"the database is out of reach": {away.URL, "3", 0, "vulnerabilities: NOT LOOKED FOR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := filepath.Join(t.TempDir(), "govulncheck")
			programtest.Write(t, tool, []byte("#!/bin/sh\nexit "+tt.exit+"\n"))
			script := exec.CommandContext(t.Context(), "../../.ci/vulnerabilities")
			script.Env = append(os.Environ(), "GOVULNDB="+tt.database, "GOVULNCHECK="+tool)
			out, _ := script.CombinedOutput()
			if code := script.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit code %d, want %d; it says %s", code, tt.code, out)
			}
		})
	}
}
