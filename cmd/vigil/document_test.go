// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the pages whose commands are run: the README and every page in docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("docs has the pages %v, %v", pages, err)
	}
	return append(pages, "../../README.md")
}

// A command of a document, as a reader enters it.
type command struct {
	document string // such as docs/cli.md
	line     int    // at which it begins
	text     string // may have several lines
	code     string // how it ends
	until    string // what its output has at last; it is repeated until then
}

// commandsOf returns the commands in the blocks of sh of a document. Where lines begin
// with "$ " those are the commands and the others their output; elsewhere every line is
// part of a command. A comment "# exit code N", or "N|M", says how one ends, "# until TEXT" that it is
// repeated until it prints that.
func commandsOf(t *testing.T, path string) []command {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
	var found []command
	for _, block := range blocksOf(string(text), "sh") {
		session := slices.ContainsFunc(block.lines, func(line string) bool { return strings.HasPrefix(line, "$ ") })
		for i := 0; i < len(block.lines); i++ {
			words := block.lines[i]
			if session && !strings.HasPrefix(words, "$ ") || strings.HasPrefix(words, "#") || strings.TrimSpace(words) == "" {
				continue
			}
			begin := i
			words = strings.TrimPrefix(words, "$ ")
			for !complete(words) && i+1 < len(block.lines) {
				i++
				words += "\n" + block.lines[i]
			}
			found = append(found, newCommand(name, block.line+begin, words))
		}
	}
	return found
}

var comment = regexp.MustCompile(`\s+# (exit code|until) (.*)$`)

func newCommand(document string, line int, words string) command {
	c := command{document: document, line: line, text: words, code: "0"}
	if found := comment.FindStringSubmatch(words); found != nil {
		c.text = strings.TrimSuffix(words, found[0])
		if found[1] == "until" {
			c.until = found[2]
		} else {
			c.code = found[2]
		}
	}
	return c
}

var hereDocument = regexp.MustCompile(`<<'?(\w+)'?`)

// complete reports whether the lines are a whole command: no quote, here document or
// continued line is open.
func complete(words string) bool {
	if found := hereDocument.FindStringSubmatch(words); found != nil {
		return strings.HasSuffix(words, "\n"+found[1])
	}
	open := byte(0)
	for i := 0; i < len(words); i++ {
		switch at := words[i]; {
		case at == '\\' && open != '\'':
			i++
		case open == 0 && (at == '\'' || at == '"'):
			open = at
		case at == open:
			open = 0
		}
	}
	return open == 0 && !strings.HasSuffix(words, `\`)
}

type block struct {
	line  int // of the first one
	lines []string
}

// blocksOf are the fenced blocks of a language, without the indentation of their fence.
func blocksOf(text, language string) []block {
	var blocks []block
	fence := regexp.MustCompile("^( *)```(\\w*)$")
	inside, indent := false, ""
	for i, line := range strings.Split(text, "\n") {
		switch found := fence.FindStringSubmatch(line); {
		case found != nil && inside:
			inside = false
		case found != nil && found[2] != "":
			if found[2] == language {
				blocks = append(blocks, block{line: i + 2})
			}
			inside, indent = true, found[1]
			if found[2] != language {
				indent = "\x00"
			}
		case found != nil:
			inside, indent = true, "\x00"
		case inside && indent != "\x00":
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, indent))
		}
	}
	return blocks
}
