package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scriptOf makes a script of the commands in a document: each line that begins with
// "$ vigil" in a block of sh, with the output below it left out. A comment "# exit code N"
// says how the command ends, "# until TEXT" that it is repeated until it prints that.
func scriptOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("env VIGIL_DATA_DIR=$DATA\n")
	inside, commands := false, 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "```") {
			inside = line == "```sh"
			continue
		}
		words, ok := strings.CutPrefix(line, "$ vigil ")
		if !inside || !ok {
			continue
		}
		commands++
		words = strings.ReplaceAll(words, "https://shop.example/", "$TARGET/status/200")
		words = strings.ReplaceAll(words, "https://hooks.example/", "$TARGET/status/200")
		words, comment, _ := strings.Cut(words, "  # ")
		words = quoted(words)
		switch {
		case strings.HasPrefix(comment, "until "):
			script.WriteString("eventually '" + strings.TrimPrefix(comment, "until ") + "' " + words + "\n")
		case strings.HasPrefix(comment, "exit code "):
			script.WriteString("cli " + strings.TrimPrefix(comment, "exit code ") + " " + words + "\n")
		default:
			script.WriteString("cli 0 " + words + "\n")
		}
	}
	if commands < 10 {
		t.Fatalf("%s has %d commands", path, commands)
	}
	file := filepath.Join(t.TempDir(), "document.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// quoted writes the words of a shell line as a script reads them: with single quotes only.
func quoted(line string) string { return strings.ReplaceAll(line, `"`, `'`) }
