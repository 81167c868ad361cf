// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

func TestContexts(t *testing.T) {
	t.Parallel()
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	path := filepath.Join(t.TempDir(), "vigil", "config.yaml")

	read, err := console.ReadContexts(path, warn)
	if err != nil || read.Current != "" || len(read.Contexts) != 0 {
		t.Fatalf("without a file: %+v, %v", read, err)
	}
	prod := console.Context{URL: "https://vigil.example.com", Key: "vgl_x", Organization: "Shop: #1"}
	save := func(contexts *console.Contexts) error {
		contexts.Current, contexts.Contexts["prod"] = "prod", prod
		return nil
	}
	if err := console.ChangeContexts(path, warn, save); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []struct {
		path string
		mode os.FileMode
	}{{filepath.Dir(path), 0o700}, {path, 0o600}} {
		if info, err := os.Stat(kept.path); err != nil || info.Mode().Perm() != kept.mode {
			t.Errorf("%s has the mode %v, %v", kept.path, info.Mode().Perm(), err)
		}
	}
	read, err = console.ReadContexts(path, warn)
	if err != nil || read.Current != "prod" || read.Contexts["prod"] != prod || len(warnings) > 0 {
		t.Errorf("got %+v, %v, warnings %q", read, err, warnings)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v", files, err)
	}

	// A change that fails leaves the file as it was.
	before, _ := os.ReadFile(path)
	failed := errors.New("no")
	err = console.ChangeContexts(path, warn, func(contexts *console.Contexts) error {
		contexts.Current = "other"
		return failed
	})
	after, _ := os.ReadFile(path)
	if !errors.Is(err, failed) || string(before) != string(after) {
		t.Errorf("a failed change gives %v and\n%s", err, after)
	}

	// What others could read is closed to them, with one warning each.
	if err := errors.Join(os.Chmod(path, 0o644), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := console.ReadContexts(path, warn); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || len(warnings) != 2 {
		t.Errorf("the mode is %v, %v; warnings %q", info.Mode().Perm(), err, warnings)
	}
}

func TestContextsThatAreALinkStayOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, path := filepath.Join(dir, "kept.yaml"), filepath.Join(dir, "vigil", "config.yaml")
	err := errors.Join(os.WriteFile(kept, nil, 0o600), os.Mkdir(filepath.Dir(path), 0o700), os.Symlink(kept, path))
	if err != nil {
		t.Fatal(err)
	}
	err = console.ChangeContexts(path, t.Logf, func(contexts *console.Contexts) error {
		contexts.Current = "here"
		return nil
	})
	text, readErr := os.ReadFile(kept)
	info, statErr := os.Lstat(path)
	if err := errors.Join(err, readErr, statErr); err != nil || string(text) != "current: here\n" || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the file has %q, its link the mode %v, %v", text, info.Mode(), err)
	}
}

func TestContextsThatAreNotValid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"UnknownMember": {"contexts:\n  prod: {url: x, kye: vgl_secret}\n", `line 2, column 18: unknown field "kye"`},
		"NoYAML":        {"contexts: [vgl_secret\n", "line 1, column "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "vigil", "config.yaml")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(test.text), 0o600)); err != nil {
				t.Fatal(err)
			}
			_, err := console.ReadContexts(path, t.Logf)
			if console.CodeOf(err) != console.Usage || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "vgl_secret") {
				t.Errorf("got %v", err)
			}
		})
	}
}
