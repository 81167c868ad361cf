// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// TestFilesOfVariables pins which files ${file:...} reads.
func TestFilesOfVariables(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"project/deep/secret": "s", "outside/secret": "o", "other/secret": "x"})
	links := map[string]string{"within": "deep/secret", "absolute": filepath.Join(dir, "outside/secret"), "out": "../outside/secret"}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, "project", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "project/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, wrong := range map[string]string{
		"deep/secret":                     "",
		"./deep/../deep/secret":           "",
		"within":                          "",
		dir + "/project/deep/secret":      "",
		dir + "/other/secret":             "", // allowed by an option
		"../outside/secret":               "outside of the project's directory",
		dir + "/outside/secret":           "outside of the project's directory",
		dir + "/other/../outside/secret":  "outside of the project's directory",
		dir + "/project-not/deep/secret":  "outside of the project's directory",
		"/etc/passwd":                     "outside of the project's directory",
		"/proc/self/environ":              "outside of the project's directory",
		"/run/secrets/../../etc/passwd":   "outside of the project's directory",
		"/run/secrets/no-such-secret-999": "cannot be read: no such file",
		"absolute":                        "a link that leads out",
		"out":                             "a link that leads out",
		"pipe":                            "no regular file",
		"deep":                            "no regular file",
	} {
		file := filepath.Join(dir, "project", "a.yaml")
		document := fmt.Sprintf("version: 1\nproject: shop\nchecks: {a: {name: %q, type: tcp}}\n", "${file:"+path+"}")
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, paths := range [][]string{{filepath.Join(dir, "project")}, {file}} {
			_, err := manifest.Read(paths, manifest.Options{FileDirs: []string{filepath.Join(dir, "other")}})
			switch {
			case wrong == "" && err != nil:
				t.Errorf("%s: %v", path, err)
			case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
				t.Errorf("%s: %v, want %q", path, err, wrong)
			}
		}
	}
}

// TestLinksOfAProject pins that a link in the directory of a project leads to no file elsewhere.
func TestLinksOfAProject(t *testing.T) {
	t.Parallel()
	text := "version: 1\nproject: shop\nchecks: {a: {name: x, type: tcp}}\n"
	dir := in(t, map[string]string{"project/..data/a.txt": text, "outside/a.yaml": "secret: hunter2\n"})
	project := filepath.Join(dir, "project")
	if err := os.Symlink("..data/a.txt", filepath.Join(project, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Read([]string{project}, manifest.Options{}); err != nil {
		t.Errorf("a link within the directory: %v", err)
	}
	if err := os.Symlink("../outside/a.yaml", filepath.Join(project, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := manifest.Read([]string{project}, manifest.Options{})
	if err == nil || !strings.Contains(err.Error(), "b.yaml is a link that leads out of the directory") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a link out of it: %v", err)
	}
}

// TestVariablesThatAreNotReplaced pins Vigil's own variables, and those that the setting of a
// server does not name.
func TestVariablesThatAreNotReplaced(t *testing.T) {
	t.Parallel()
	read := func(name string, allowed []string) error {
		document := "version: 1\nproject: shop\nchecks: {a: {name: \"${" + name + "}\", type: tcp}}\n"
		_, err := manifest.Read([]string{manifest.Stdin}, manifest.Options{
			Stdin: strings.NewReader(document), Variables: allowed, Env: func(string) (string, bool) { return "leaked", true },
		})
		return err
	}
	for _, name := range []string{
		"VIGIL_API_KEY", "VIGIL_SECRET_KEY", "VIGIL_ANYTHING:-x", "vigil_api_key", "DATABASE_URL", "TEMPORAL_API_KEY", "TEMPORAL_TLS_KEY_DATA",
	} {
		for _, allowed := range [][]string{nil, {name}} {
			if err := read(name, allowed); err == nil || !strings.Contains(err.Error(), "a variable of Vigil itself") ||
				strings.Contains(err.Error(), "leaked") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, allowed := range map[string][]string{"HOOK": {}, "HOOK:-x": {"OTHER"}, "AWS_SECRET_ACCESS_KEY": {"HOOK"}} {
		if err := read(name, allowed); err == nil || !strings.Contains(err.Error(), "VIGIL_APPLY_VARIABLES") {
			t.Errorf("%s with %q: %v", name, allowed, err)
		}
	}
	for name, allowed := range map[string][]string{"HOOK": {"HOOK"}, "VIGILANT": nil} {
		if err := read(name, allowed); err != nil {
			t.Errorf("%s with %q: %v", name, allowed, err)
		}
	}
}
