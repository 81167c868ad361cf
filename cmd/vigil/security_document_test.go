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

// TestThreatModelNamesItsTests holds that each line of docs/security.md about what an
// attacker may do names tests, and that these exist.
func TestThreatModelNamesItsTests(t *testing.T) {
	t.Parallel()
	const root = "../.."
	known := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllStringSubmatch(string(source), -1) {
			known[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	name, lines, tested := regexp.MustCompile("`(Test\\w+)`"), 0, false
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
			t.Errorf("no test holds this: %s", line)
		}
		for _, test := range tests {
			if !known[test[1]] {
				t.Errorf("there is no %s: %s", test[1], line)
			}
		}
	}
	if lines < 80 {
		t.Errorf("%d lines", lines)
	}
}
