// SPDX-License-Identifier: Apache-2.0

// Package packaging_test installs what a release gives to users, in root directories of its own:
// the archive where there is nothing else, and the packages in a Debian. It is the short form
// of make test-install, which takes the files of a release: the program is the one of this tree, and
// the rest is made by the scripts of a release.
package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in short mode: it installs packages")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" || os.Geteuid() != 0 {
		t.Skip("only root may make a root directory, and the scripts take linux/amd64")
	}
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	must(t, "go", "build", "-ldflags", "-s -w -X main.version=v0.1.0", "-o", filepath.Join(tree, "vigil"), "./cmd/vigil")
	if out, err := run(t, "go", "run", "./.ci/postgres-archive", "-arch", "amd64", "-o", filepath.Join(tree, "lib/postgres")); err != nil {
		t.Skipf("Postgres's packages cannot be had: %v\n%s", err, out)
	}
	must(t, "cp", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md", tree)

	t.Run("Archive", func(t *testing.T) {
		t.Parallel()
		archive := filepath.Join(dir, "vigil.tar.gz")
		must(t, "tar", "-C", tree, "--owner=0", "--group=0", "-I", "gzip -1", "-cf", archive, ".")
		passes(t, ".ci/install-archive", archive)
	})
	must(t, ".ci/packages", tree, "amd64", "v0.1.0", "1790000000", dir)
	for _, kind := range []string{"deb", "rpm"} {
		packages, err := filepath.Glob(filepath.Join(dir, "*."+kind))
		if err != nil || len(packages) != 1 {
			t.Fatal(packages, err)
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			passes(t, ".ci/install-packages", packages[0])
		})
	}
}

// passes runs a script that installs something, and skips the test when it says that it cannot.
func passes(t *testing.T, script, file string) {
	t.Helper()
	said := must(t, script, file)
	if strings.Contains(said, "SKIPPED") {
		t.Skip(said)
	}
	if !strings.Contains(said, "passed") {
		t.Error(said)
	}
	t.Log(said)
}

// must runs a command that has to work.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, err := run(t, name, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
	return said
}

// run runs a command in the root directory of the repository.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
