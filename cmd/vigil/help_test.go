// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "renew the golden files of the help") //nolint:gochecknoglobals // a flag

// The help of the program is in testdata/help.golden; renew it with
// go test ./cmd/vigil -run TestHelp -update.
func TestHelp(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := vigilRun(t, "--help")
	if code != 0 || stderr != "" {
		t.Fatalf("ends with %d: %s", code, stderr)
	}
	got := strings.ReplaceAll(stdout, `"`+defaultDataDir()+`"`, `"<data directory>"`)
	const path = "testdata/help.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("the help differs from %s (%v):\n%s", path, err, got)
	}
}

// A mistake in the command line of any command ends with the same exit code.
func TestUsageExitCode(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"--no-such-flag", "nothing", "up --no-such-flag", "up extra", "keys drop", "check drop", "check list --limit x", "deployment promote",
	} {
		if _, stderr, code := vigilRun(t, strings.Fields(line)...); code != 2 || stderr == "" {
			t.Errorf("vigil %s ends with %d: %s", line, code, stderr)
		}
	}
}
