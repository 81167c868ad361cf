// SPDX-License-Identifier: Apache-2.0

package web

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
)

// shownNames adds the classes, the IDs and the elements of what templates of a page make, with all templates that they call.
func shownNames(t *testing.T, page pageTemplate, names map[string]bool, own ...string) {
	t.Helper()
	parsed, err := page()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder // without what stands in braces
	seen := make(map[string]bool)
	for len(own) > 0 {
		name := own[0]
		own = own[1:]
		found := parsed.Lookup(name)
		if found == nil || seen[name] {
			continue
		}
		seen[name] = true
		walk(found.Tree.Root, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.TextNode:
				text.Write(n.Text)
			case *parse.StringNode: // such as the state of a mark
				addNames(names, n.Text)
			case *parse.TemplateNode:
				own = append(own, n.Name)
			}
		})
	}
	for _, found := range regexp.MustCompile(`(?:class|id)="([^"]*)"|<(\w+)`).FindAllStringSubmatch(text.String(), -1) {
		addNames(names, found[1]+" "+found[2])
	}
}

// walk calls a function for each text, string and call in a template.
func walk(n parse.Node, do func(parse.Node)) {
	do(n)
	branch := func(b *parse.BranchNode) {
		walk(b.List, do)
		if b.ElseList != nil {
			walk(b.ElseList, do)
		}
	}
	pipe := func(p *parse.PipeNode) {
		if p != nil {
			for _, command := range p.Cmds {
				walk(command, do)
			}
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, each := range n.Nodes {
			walk(each, do)
		}
	case *parse.CommandNode:
		for _, each := range n.Args {
			walk(each, do)
		}
	case *parse.PipeNode:
		pipe(n)
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

func addNames(names map[string]bool, text string) {
	for _, name := range regexp.MustCompile(`[A-Za-z][\w-]*`).FindAllString(text, -1) {
		names[name] = true
	}
}

// selectors are the selectors of the rules of a style sheet: that of the rule, behind those of the rules that it is in.
func selectors(sheet string) (all [][]string) {
	sheet = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(sheet, "")
	sheet = regexp.MustCompile(`"[^"\n]*"`).ReplaceAllString(sheet, `""`)
	var outer []string // of the blocks that are open; empty for an at-rule
	begin := 0
	for i, c := range sheet {
		switch c {
		case '{':
			prelude := strings.TrimSpace(sheet[begin:i])
			if strings.HasPrefix(prelude, "@") {
				prelude = ""
			}
			outer, begin = append(outer, prelude), i+1
			if prelude != "" {
				all = append(all, slices.DeleteFunc(slices.Clone(outer), func(s string) bool { return s == "" }))
			}
		case '}':
			outer, begin = outer[:len(outer)-1], i+1
		case ';':
			begin = i + 1
		}
	}
	return all
}

var (
	negated = regexp.MustCompile(`:not\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`)
	grouped = regexp.MustCompile(`:(?:is|has)\(((?:[^()]|\([^()]*\))*)\)`)
	named   = regexp.MustCompile(`(?:^|[.#\s>+~])([A-Za-z][\w-]*)`) // classes, IDs and elements
)

// unknown reports whether a selector has a class, an ID or an element that is not among the names, so that it matches nothing
// that is made of them.
func unknown(selector string, names map[string]bool) bool {
	selector = negated.ReplaceAllString(selector, "")
	for _, group := range grouped.FindAllStringSubmatch(selector, -1) {
		none := true
		for _, each := range parts(group[1]) {
			none = none && unknown(each, names)
		}
		if none {
			return true
		}
	}
	for _, found := range named.FindAllStringSubmatch(grouped.ReplaceAllString(selector, ""), -1) {
		if !names[found[1]] {
			return true
		}
	}
	return false
}

// parts are the selectors of a list, which has commas between them.
func parts(list string) (all []string) {
	depth, begin := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			all, begin = append(all, list[begin:i]), i+1
		}
	}
	return append(all, list[begin:])
}

// TestStylesOfLeanPages has no style in pages.css that the list of checks, the page of a check, or what scripts put into them
// would need: each selector names something that is on neither.
func TestStylesOfLeanPages(t *testing.T) {
	t.Parallel()
	s, err := readAssets()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := parseTemplates(s)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for page, own := range map[string][]string{
		"checks": {"layout", "rows", "cells"}, "check": {"layout", "tested", "results", "loops"},
		"help": {"content"}, "find": {"content"}, // in dialogs
	} {
		shownNames(t, pages[page], names, own...)
	}
	delete(names, "outside") // the layout of other pages
	delete(names, "wall")
	scripts, err := fs.Glob(files, "static/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// What a script makes has a class, and what it looks for is a selector.
		literals := regexp.MustCompile("\"[^\"\n]*\"|'[^'\n]*'").FindAllString(string(text), -1)
		for _, found := range regexp.MustCompile(`[.#][\w-]+`).FindAllString(strings.Join(literals, " "), -1) {
			addNames(names, found)
		}
		for _, line := range regexp.MustCompile(`class.*`).FindAllString(string(text), -1) {
			for _, found := range regexp.MustCompile(`"[\w-]+"`).FindAllString(line, -1) {
				addNames(names, found)
			}
		}
	}
	text, err := files.ReadFile("static/pages.css")
	if err != nil {
		t.Fatal(err)
	}
	all := selectors(string(text))
	if len(all) < 300 || !names["chart"] || !names["palette"] || names["lanes"] {
		t.Fatalf("%d selectors and %d names are found", len(all), len(names))
	}
	for _, chain := range all {
		matches := !slices.ContainsFunc(chain, func(list string) bool {
			return !slices.ContainsFunc(parts(list), func(one string) bool { return !unknown(one, names) })
		})
		if matches {
			t.Errorf("pages.css: %s may match what the list or the page of a check shows; its place is app.css", strings.Join(chain, " "))
		}
	}
}
