package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
	name, lines := regexp.MustCompile("`(Test\\w+)`"), 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| may") {
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
	if lines < 30 {
		t.Errorf("%d lines", lines)
	}
}
