// SPDX-License-Identifier: Apache-2.0

// Command words finds private metaphors in names, comments and texts: an engineer
// who knows the field must be able to guess what a word means. It reads the files
// that git tracks, takes names in camelCase and snake_case apart, and exits with 1
// when a banned word is found that .ci/words/allow does not list, or when a line
// of that file allows nothing any more.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

const allowFile = ".ci/words/allow"

// banned lists the words and, where there is one, what to write instead.
func banned() map[string]string {
	return map[string]string{
		"told": "reported, sent", "tells": "says, reports", "heard": "received, handled", "hears": "receives",
		"unheard": "unhandled", "whoever": "the caller", "whatever": "what, any", "nobody": "no client, none",
		"anew": "again, restarted", "errand": "pending delivery", "errands": "pending deliveries",
		"herald": "signaler", "ballot": "vote store", "orphanage": "abandoned loops", "orphan": "abandoned loop",
		"orphans": "abandoned loops", "lookout": "lease monitor", "graves": "tombstones", "messenger": "starter, sender",
	}
}

// allowance is a line of the allow-list.
type allowance struct {
	word, file, text string
	used             bool
}

func main() { os.Exit(run(os.Stdout, os.Stderr)) }

func run(stdout, stderr io.Writer) int {
	allowed, err := readAllowances()
	if err != nil {
		fmt.Fprintln(stderr, "words:", err)
		return 2
	}
	files, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		fmt.Fprintln(stderr, "words: git ls-files:", err)
		return 2
	}
	found := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		if !readable(name) {
			continue
		}
		text, err := os.ReadFile(name) //nolint:gosec // a file that git tracks
		if err != nil {                // deleted and not committed yet
			continue
		}
		found += check(stdout, name, text, allowed)
	}
	for _, a := range allowed {
		if !a.used {
			fmt.Fprintf(stdout, "%s: %q in %s allows nothing any more\n", allowFile, a.word, a.file)
			found++
		}
	}
	if found > 0 {
		fmt.Fprintf(stdout, "words: %d findings; CONTRIBUTING.md says which words the project uses\n", found)
		return 1
	}
	return 0
}

// check reports the banned words of one file and returns how many it found.
func check(out io.Writer, name string, text []byte, allowed []*allowance) int {
	found := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		for _, word := range split(lines.Text()) {
			instead, isBanned := banned()[word]
			if !isBanned || allows(allowed, word, name, lines.Text()) {
				continue
			}
			found++
			fmt.Fprintf(out, "%s:%d: %q is a private word; write, for example: %s\n", name, number, word, instead)
		}
	}
	return found
}

// readable reports whether people write the file: generated files, recorded data,
// checksums and this command's own list are left out.
func readable(name string) bool {
	switch {
	case strings.HasPrefix(name, ".ci/words/"), strings.HasSuffix(name, ".gen.go"), strings.Contains(name, "testdata/"),
		name == "go.sum":
		return false
	}
	switch path.Ext(name) {
	case ".go", ".md", ".sql", ".yaml", ".yml", ".html", ".css", ".txt", "":
		return true
	}
	return false
}

// hump is the place between two words of a name in camelCase, as in newLoop and in
// HTTPServer.
var hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`) //nolint:gochecknoglobals // compiled once

// split returns the words of a line in lower case.
func split(line string) []string {
	for range 2 { // matches do not overlap, and a word may be one letter long
		line = hump.ReplaceAllString(line, "$1$3 $2$4")
	}
	line = strings.ToLower(line)
	return strings.FieldsFunc(line, func(r rune) bool { return r < 'a' || r > 'z' })
}

// allows reports whether a line of the allow-list names the word in this file and
// line, and marks it as used.
func allows(allowed []*allowance, word, name, line string) bool {
	ok := false
	for _, a := range allowed {
		match, err := path.Match(a.file, name)
		if err == nil && match && a.word == word && strings.Contains(line, a.text) {
			a.used, ok = true, true
		}
	}
	return ok
}

// readAllowances reads lines of the form `word | file glob | text of the line | reason`.
func readAllowances() ([]*allowance, error) {
	text, err := os.ReadFile(allowFile)
	if err != nil {
		return nil, err
	}
	var out []*allowance
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 4 || strings.TrimSpace(parts[3]) == "" {
			return nil, fmt.Errorf("%s: %q: want word | file | text | reason", allowFile, line)
		}
		out = append(out, &allowance{
			word: strings.TrimSpace(parts[0]), file: strings.TrimSpace(parts[1]), text: strings.TrimSpace(parts[2]),
		})
	}
	return out, nil
}
