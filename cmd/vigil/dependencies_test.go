// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are modules that double the size of the program and the time of its first build.
// The Temporal server asks for them and internal/third_party stands in for them.
//
//nolint:gochecknoglobals // a constant, in a language that has none of this type
var heavy = []string{
	"cloud.google.com/go/", "google.golang.org/api/", "github.com/aws/", "k8s.io/", "sigs.k8s.io/",
	"github.com/envoyproxy/", "github.com/cncf/xds/", "go.temporal.io/auto-scaled-workers/",
	"github.com/olivere/elastic/",
}

// TestDependencies holds that neither program has a cloud's SDK in it, and that the slim one has
// no Temporal server: it is what keeps their sizes, which .ci/release compares with their bounds.
func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		tags   string
		refuse []string
	}{
		{"", heavy},
		{"slim", append(slices.Clone(heavy), "go.temporal.io/server/", "github.com/temporalio/ui-server/")},
	} {
		list := packagesOf(t, kind.tags)
		if len(list) < 200 {
			t.Fatalf("tags %q: %d packages, which is not the whole program", kind.tags, len(list))
		}
		for path, original := range list {
			for _, prefix := range kind.refuse {
				if original && strings.HasPrefix(path, prefix) && path != "cloud.google.com/go/compute/metadata" {
					t.Errorf("tags %q: the program has %s in it, see internal/third_party/README.md", kind.tags, path)
				}
			}
		}
	}
}

// packagesOf returns the packages of the program, and whether each is of the module that its
// path names: false is one of internal/third_party.
func packagesOf(t *testing.T, tags string) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags,
		"-f", "{{.ImportPath}} {{with .Module}}{{if .Replace}}replaced{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages[path] = rest == ""
	}
	return packages
}
