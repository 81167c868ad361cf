// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDocsAreThoseOfTheSchema compares terraform/docs with what terraform-plugin-docs makes
// of the schema and the examples; -update writes them.
func TestDocsAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	w := overridden(t, shared, header("docs"))
	schema := w.run("providers", "schema", "-json")
	at := filepath.Join(w.dir, "schema.json")
	write(t, at, strings.Replace(schema[strings.IndexByte(schema, '{'):], `"`+registry+`/vigil-monitor/vigil"`, `"vigil"`, 1))
	made := filepath.Join(w.dir, "module")
	if err := os.CopyFS(filepath.Join(made, "examples"), os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "tool", "tfplugindocs", "generate",
		"--provider-dir", made, "--provider-name", "vigil", "--rendered-provider-name", "Vigil", "--providers-schema", at)
	cmd.Dir, cmd.Env = "../tools", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tfplugindocs: %v\n%s", err, out)
	}
	want := files(t, filepath.Join(made, "docs"))
	if *update {
		for name, text := range want {
			write(t, filepath.Join("../docs", name), text)
		}
	}
	got := files(t, "../docs")
	for name, text := range want {
		if got[name] != text {
			t.Errorf("docs/%s is not what the schema says: make terraform-docs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("docs/%s describes nothing any more", name)
		}
	}
}

// files returns the texts of all files below a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}
