// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatModelHasThePromises holds that what SECURITY.md promises is in docs/security.md, in
// the same words, with its tests.
func TestThreatModelHasThePromises(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, promises, ok := strings.Cut(read("SECURITY.md"), "breaking one is a vulnerability.\n\n")
	promises, _, ends := strings.Cut(promises, "\n\n")
	model := read("docs/security.md")
	if !ok || !ends || strings.Count(promises, "\n- ") < 3 {
		t.Fatalf("SECURITY.md has no list of promises: %q", promises)
	}
	for promise := range strings.SplitSeq(strings.TrimPrefix(promises, "- "), "\n- ") {
		if line := "| " + strings.Join(strings.Fields(promise), " ") + " | `Test"; !strings.Contains(model, line) {
			t.Errorf("docs/security.md names no test for: %s", promise)
		}
	}
}

// TestDocumentsNameTheirTests holds that each line of a table whose last column is its test names
// tests, and that these exist: in docs/security.md what an attacker may do, in
// docs/state_machine.md what follows from an event.
func TestDocumentsNameTheirTests(t *testing.T) {
	t.Parallel()
	known, sources := testsAndSources(t)
	for document, least := range map[string]int{"docs/security.md": 80, "docs/state_machine.md": 30} {
		if lines := namedTests(t, document, known, sources); lines < least {
			t.Errorf("%s: %d lines", document, lines)
		}
	}
}

// testsAndSources reads the names of all tests, and the text of the files that have them.
func testsAndSources(t *testing.T) (known map[string]bool, sources string) {
	t.Helper()
	known = make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllStringSubmatch(string(source), -1) {
			known[match[1]] = true
		}
		all.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known, all.String()
}

// namedTests checks the tables of a document whose last column is their test, and counts their lines.
// A test may have a case: its name stands in the sources as a text.
func namedTests(t *testing.T, document string, known map[string]bool, sources string) (lines int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", document))
	if err != nil {
		t.Fatal(err)
	}
	name, tested := regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`"), false
	for line := range strings.Lines(string(text)) {
		switch {
		case !strings.HasPrefix(line, "|"):
			tested = false
			continue
		case strings.HasSuffix(line, "| test |\n"): // the head of a table
			tested = true
			continue
		case !tested || strings.HasPrefix(line, "|-"):
			continue
		}
		lines++
		tests := name.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("%s: no test holds this: %s", document, line)
		}
		for _, test := range tests {
			if !known[test[1]] || test[2] != "" && !strings.Contains(sources, `"`+test[2]+`"`) {
				t.Errorf("%s: there is no %s: %s", document, test[0], line)
			}
		}
	}
	return lines
}
