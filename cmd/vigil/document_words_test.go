// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/platform"
)

// shellCommands splits a line of shell into the words of its commands. Variables that are
// set before a command are left out, and so is what is redirected.
func shellCommands(text string) [][]string {
	var commands [][]string
	var words []string
	word, open, quoted := "", rune(0), false
	endWord := func() {
		if (word != "" || quoted) && (len(words) > 0 || !assignment.MatchString(word)) {
			words = append(words, word)
		}
		word, quoted = "", false
	}
	for _, at := range strings.ReplaceAll(text, "\\\n", " ") + "\n" {
		switch {
		case open != 0 && at == open:
			open = 0
		case open != 0:
			word += string(at)
		case at == '\'' || at == '"':
			open, quoted = at, true
		case strings.ContainsRune(" \t", at):
			endWord()
		case strings.ContainsRune("\n|<>&;()", at):
			endWord()
			if len(words) > 0 {
				commands = append(commands, words)
			}
			words = nil
		default:
			word += string(at)
		}
	}
	return commands
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// vigilCalls are the arguments of each call of vigil in a line of shell.
func vigilCalls(text string) [][]string {
	var calls [][]string
	for _, words := range shellCommands(text) {
		if filepath.Base(words[0]) == "vigil" {
			calls = append(calls, words[1:])
		}
	}
	return calls
}

var inlineCommand = regexp.MustCompile("`vigil ([^`]+)`")

// TestDocumentsNameCommandsThatExist compares the commands and flags that the text of a
// document mentions with the program.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	mentioned := 0
	for _, path := range append(documents(t), "../../CONTRIBUTING.md", "../../ARCHITECTURE.md", "../../SECURITY.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range inlineCommand.FindAllStringSubmatch(string(text), -1) {
			words, _, _ := strings.Cut(strings.NewReplacer("<", "", ">", "").Replace(found[1]), "|") // as in `vigil health api|worker`
			if strings.Contains(words, "...") {
				continue
			}
			mentioned++
			for _, args := range vigilCalls("vigil " + words) {
				if err := accepted(args, false); err != nil {
					t.Errorf("%s: vigil %s: %v", path, found[1], err)
				}
			}
		}
	}
	if mentioned < 30 {
		t.Errorf("the documents mention %d commands", mentioned)
	}
}

var mentionedVariable = regexp.MustCompile(`\b(VIGIL_[A-Z_]+[A-Z])\b`)

// TestDocumentsNameSettingsThatExist compares the variables that documents mention with the
// settings.
func TestDocumentsNameSettingsThatExist(t *testing.T) {
	t.Parallel()
	known := []string{
		"VIGIL_URL",
		"VIGIL_API_KEY",
		"VIGIL_CONTEXT",
		"VIGIL_PING_URL",
		"VIGIL_DRILL",
		"VIGIL_DRILL_ROUNDS",
		"VIGIL_AGENT_TOKEN",
	}
	for _, s := range append(platform.AllSettings(), agentSettings()...) {
		known = append(known, s.Variable)
	}
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range mentionedVariable.FindAllString(string(text), -1) {
			region, ofRegion := strings.CutPrefix(found, "VIGIL_RESULTS_DATABASE_URL_")
			if _, exists := vigil.RegionByKey(strings.ToLower(strings.ReplaceAll(region, "_", "-"))); ofRegion && exists {
				continue
			}
			if !slices.Contains(known, found) {
				t.Errorf("%s: there is no setting %s", path, found)
			}
		}
	}
}

var (
	mentionedPath = regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/v1/[^ `?]*)")
	pathParameter = regexp.MustCompile(`\{[^}]*\}|<[^>]*>`)
)

// TestDocumentsNamePathsThatExist compares the requests that documents mention with the
// OpenAPI document.
func TestDocumentsNamePathsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	path := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if found, ok := strings.CutPrefix(line, "  /"); ok {
			path = "/" + strings.TrimSuffix(found, ":")
		} else if method := strings.TrimSpace(line); strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     ") {
			known[strings.ToUpper(strings.TrimSuffix(method, ":"))+" "+pathParameter.ReplaceAllString(path, "{}")] = true
		}
	}
	for _, document := range documents(t) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range mentionedPath.FindAllStringSubmatch(string(text), -1) {
			if request := found[1] + " " + pathParameter.ReplaceAllString(found[2], "{}"); !known[request] {
				t.Errorf("%s: the API has no %s", document, request)
			}
		}
	}
	if len(known) < 60 {
		t.Errorf("the OpenAPI document has %d operations", len(known))
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestDocumentsLinkToWhatExists follows the links between files, and to their headings.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	records, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"../../CONTRIBUTING.md", "../../ARCHITECTURE.md", "../../SECURITY.md"}
	for _, path := range slices.Concat(documents(t), records, others) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			file, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			linked, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s links to %s, which does not exist", path, found[1])
			} else if anchor != "" && !slices.Contains(anchorsOf(string(linked)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", path, found[1])
			}
		}
	}
}
