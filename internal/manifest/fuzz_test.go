// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// Read answers any text: with a document that is JSON, or with problems.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		shop, "", "---\n...\n", "{", "[[[[", "a: &a [*a]", "&a a: *b", "<<: 1", "<<: *x", "? - a\n: b", "!!str 1: !!binary x", "a: |\n  x\n b",
		"version: 1\nproject: shop\nchecks: {a: {name: \"${X:-${Y}}\"}}", "- - - - x", "a: .inf", "a: 0x1F", "\xff\xfe", "%YAML 1.2\n---\na: 1",
		"checks: [a]\nmoved: {}\ndefaults: 1\nchannels: null", strings.Repeat("[", 100_000), strings.Repeat("- ", 100_000), "\t", "a:\n\t- b",
		"'", "\"\\u", "x: !<tag> y", "status_pages: {a: {groups: [1, {checks: 2}]}}\nversion: 1\nproject: p",
		"maintenance: {a: {scope: 1}}\nversion: 1\nproject: p\nchecks: {c: {rules: [x]}}",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Add(`{"version": 1, "project": "shop", "checks": {"a": {"name": "\ud800", "name": 1}}} x`, true)
	f.Add(strings.Repeat(`{"a":`, 100_000), true)
	o := manifest.Options{Rules: rules(f)}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if isJSON {
			file = filepath.Join(t.TempDir(), "a.json")
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := manifest.Read([]string{file}, o)
		switch {
		case err != nil && (read != nil || err.Error() == ""):
			t.Errorf("the error %q comes with the document %v", err, read)
		case err == nil && !json.Valid(read.JSON()):
			t.Errorf("the document is no JSON: %s", read.JSON())
		}
		if err == nil {
			read.Explain("checks.a.config[3].b", "x")
			read.Sources()
			read.Trials()
		}
	})
}
