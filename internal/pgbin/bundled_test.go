// SPDX-License-Identifier: Apache-2.0

package pgbin_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgbin"
	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// TestBundled finds the programs that lie beside a program, where an archive and a package have them.
func TestBundled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ program, bundle string }{
		{"opt/vigil", "opt/vigil/lib/postgres"},
		{"usr/bin", "usr/lib/vigil/postgres"},
	} {
		root := t.TempDir()
		bin := filepath.Join(root, tt.bundle, "lib/postgresql/15/bin")
		program(t, bin, "postgres", "15.20")
		program(t, bin, "initdb", "15.20")
		dirs := pgbin.BundledBeside(filepath.Join(root, tt.program))
		if !slices.Equal(dirs, []string{bin}) {
			t.Fatalf("%s: found %q", tt.program, dirs)
		}
		found, err := pgbin.Find(t.Context(), dirs, 15)
		if err != nil || found.Dir != bin {
			t.Errorf("%s: %+v, %v", tt.program, found, err)
		}
		if _, ok := found.BundleRoot(); ok {
			t.Errorf("%s: programs without a loader of their own are no bundle", tt.program)
		}
		program(t, filepath.Join(bin, "../libexec"), "postgres", "15.20")
		if top, ok := found.BundleRoot(); !ok || top != filepath.Join(root, tt.bundle) {
			t.Errorf("%s: the bundle is %q, %v", tt.program, top, ok)
		}
	}
}

// TestInstalledIsPreferred holds that the first folder with the wanted version wins: Dirs has
// what is installed before what came along, which serves where the installed one is of another
// version.
func TestInstalledIsPreferred(t *testing.T) {
	t.Parallel()
	installed, bundled := t.TempDir(), t.TempDir()
	for dir, version := range map[string]string{installed: "17.2", bundled: "15.20"} {
		program(t, dir, "postgres", version)
		program(t, dir, "initdb", version)
	}
	for major, want := range map[int]string{0: installed, 17: installed, 15: bundled} {
		if found, err := pgbin.Find(t.Context(), []string{installed, bundled}, major); err != nil || found.Dir != want {
			t.Errorf("for version %d: %+v, %v", major, found, err)
		}
	}
}

// program writes a program that prints its version.
func program(t *testing.T, dir, name, version string) {
	t.Helper()
	text := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
	programtest.Write(t, filepath.Join(dir, name), []byte(text))
}
