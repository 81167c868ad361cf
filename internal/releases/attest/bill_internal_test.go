// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestModules lists the modules of a program that has some. Their licences are in the module cache.
func TestModules(t *testing.T) {
	t.Parallel()
	executable := filepath.Join(t.TempDir(), "attest")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", executable, "../../../.ci/attest").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := buildinfo.ReadFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := Release{Version: "v1.2.0", At: time.Unix(1790000000, 0), ModCache: strings.TrimSpace(string(cache))}
	found := map[string]bool{}
	for _, c := range r.modules(program) {
		found[c.Name] = true
		if c.PackageURL == "" || c.Version == "" {
			t.Errorf("%+v", c)
		}
		if c.Name == "github.com/google/uuid" && (c.Licenses == nil || (*c.Licenses)[0].License.ID != "BSD-3-Clause" ||
			c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 || !strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/google/uuid@v1.")) {
			text, _ := json.Marshal(c)
			t.Errorf("%s", text)
		}
	}
	for _, name := range []string{"std", "github.com/google/uuid", "github.com/CycloneDX/cyclonedx-go"} {
		if !found[name] {
			t.Errorf("%s is missing: %v", name, found)
		}
	}
}

func TestRecognize(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(own): "Apache-2.0", "Permission is hereby granted,\n free of charge, to any person": "MIT",
		"Redistributions in binary form must reproduce … Neither the name of": "BSD-3-Clause",
		"Redistributions in binary form must reproduce":                       "BSD-2-Clause", "All rights reserved.": "", "": "",
	} {
		if got := recognize(text); got != want {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}
