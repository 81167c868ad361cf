// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnits holds the units of the packages: the command of each exists with its flags, each is
// confined, and systemd understands them where it is installed.
func TestUnits(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../packaging/*/*.service")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d units, %v", len(files), err)
	}
	dir := t.TempDir()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, name := string(content), filepath.Base(file)
		line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/vigil[- ](.*)$`).FindStringSubmatch(text)
		if line == nil {
			t.Fatalf("%s starts no vigil", name)
		}
		found, rest, err := newRootCommand().Find(strings.Fields(strings.ReplaceAll(line[1], "%i", "eu-central-fra")))
		if err != nil || found.ParseFlags(rest) != nil || !found.Runnable() {
			t.Errorf("%s: %q is no command of vigil: %v", name, line[1], err)
		}
		for _, want := range []string{
			"User=vigil", "NoNewPrivileges=yes", "CapabilityBoundingSet=\n",
			"ProtectSystem=strict", "StateDirectory=vigil",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, strings.TrimSpace(want))
			}
		}
		// Neither program is in its place on this machine.
		text = strings.Replace(text, line[0], "ExecStart=/bin/true", 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, file := range files {
		unit := filepath.Join(dir, strings.Replace(filepath.Base(file), "@.", "@eu.", 1))
		if strings.Contains(unit, "@") {
			if err := os.Rename(filepath.Join(dir, filepath.Base(file)), unit); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
		if err != nil || strings.Contains(string(out), filepath.Base(unit)+":") {
			t.Errorf("verify: %v\n%s", err, out)
		}
		out, err = exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=30", unit).CombinedOutput()
		if err != nil {
			t.Errorf("security: %v\n%s", err, out)
		}
	}
}
