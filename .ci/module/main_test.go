// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMove gives a scratch copy of this repository another path, and resolves what the program
// imports.
func TestMove(t *testing.T) {
	t.Parallel()
	from, err := current("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := scratch(t)
	changed, err := move(dir, "git.example.org/tools/acme/vigil")
	if err != nil || changed < 500 {
		t.Fatalf("%d files changed, %v", changed, err)
	}
	parts := strings.Split(from, "/")
	for _, gone := range []string{from, strings.Join(parts[len(parts)-2:], "/")} {
		left, err := git(t, dir, "grep", "-lIF", gone)
		if err == nil {
			t.Errorf("files that still name %s:\n%s", gone, left)
		}
	}
	for name, want := range map[string]string{
		"go.mod":                         "module git.example.org/tools/acme/vigil\n",
		"terraform/go.mod":               "replace git.example.org/tools/acme/vigil => ../\n",
		"terraform/provider/provider.go": `"acme/vigil"`,
		"docs/terraform.md":              `source = "acme/vigil"`,
		"Makefile":                       "git.example.org/tools/acme/vigil",
		".golangci.yml":                  "module-path: git.example.org/tools/acme/vigil\n",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q, %v", name, want, err)
		}
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./client", "./cmd/vigil")
	list.Dir = dir
	// The build of this test has downloaded what the program imports, and nothing else.
	list.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOPROXY=off")
	if said, err := list.CombinedOutput(); err != nil || !strings.Contains(string(said), "git.example.org/tools/acme/vigil/storage\n") {
		t.Errorf("%v:\n%s", err, said)
	}
	if again, err := move(dir, "git.example.org/tools/acme/vigil"); again != 0 || err != nil {
		t.Errorf("the same path again: %d files, %v", again, err)
	}
}

func TestMoveRefuses(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	for _, path := range []string{"", "vigil", "acme/vigil", "github.com/vigil", "github.com/acme/watch", "github.com/Acme/vigil", "https://github.com/acme/vigil"} {
		if changed, err := move(dir, path); err == nil || changed != 0 {
			t.Errorf("%q: %d files, %v", path, changed, err)
		}
	}
}

// scratch is a git work tree with a copy of the files that are tracked here, as they are now.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	names, err := git(t, "../..", "ls-files", "-z")
	if err != nil {
		t.Skipf("not a git work tree: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(names, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}} {
		if said, err := git(t, dir, arguments...); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, said)
		}
	}
	return dir
}

func git(t *testing.T, dir string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = dir
	said, err := command.Output()
	return string(said), err
}
