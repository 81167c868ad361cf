// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil/internal/project"
)

// check returns what is wrong with a document.
func (s *Schema) check(root *node) Problems {
	c := &schemaCheck{Schema: s}
	c.value(root, s.root, "")
	return c.problems
}

// schemaCheck is one comparison of a document with a schema.
type schemaCheck struct {
	*Schema

	problems Problems
}

func (c *schemaCheck) problem(at Position, path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Position: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// value compares a value. The first mistake about its type ends the comparison.
func (c *schemaCheck) value(n *node, part *schema, path string) {
	if part = c.resolve(part); part == nil {
		return
	}
	if !part.Type.accepts(n) {
		c.problem(n.at, path, "must be %s, and is %s%s", part.Type.words(), n.kind.word(), n.hint(part.Type))
		return
	}
	c.allowed(n, part, path)
	switch n.kind {
	case textKind:
		c.length(n, utf8.RuneCountInString(n.text), part.MinLength, part.MaxLength, "characters", path)
		if pattern := c.pattern(part.Pattern); part.Pattern != "" && pattern != nil && !pattern.MatchString(n.text) {
			c.problem(n.at, path, "does not have the form %s", part.Pattern)
		}
	case numberKind:
		c.bounds(n, part, path)
	case listKind:
		c.length(n, len(n.items), part.MinItems, part.MaxItems, "items", path)
		for i, item := range n.items {
			c.value(item, part.Items, fmt.Sprintf("%s[%d]", path, i))
		}
	case objectKind:
		c.object(n, part, path)
	default:
	}
	if part.If != nil && part.Then != nil && c.fits(n, part.If) {
		c.value(n, part.Then, path)
	}
	for _, all := range part.AllOf {
		c.value(n, all, path)
	}
	c.oneOf(n, append(slices.Clone(part.OneOf), part.AnyOf...), path)
}

// fits reports whether a value has no mistake.
func (c *schemaCheck) fits(n *node, part *schema) bool {
	attempt := &schemaCheck{Schema: c.Schema}
	attempt.value(n, part, "")
	return len(attempt.problems) == 0
}

func (t typeNames) accepts(n *node) bool {
	if len(t) == 0 {
		return true
	}
	names := map[kind][]string{
		nullKind: {"null"}, boolKind: {"boolean"}, numberKind: {"number"}, textKind: {"string"}, listKind: {"array"}, objectKind: {"object"},
	}[n.kind]
	if n.kind == numberKind && n.whole() {
		names = append(names, "integer")
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(t, name) })
}

// whole reports whether a number has no fraction.
func (n *node) whole() bool {
	number, err := strconv.ParseFloat(n.text, 64)
	return err == nil && number == float64(int64(number))
}

func (t typeNames) words() string {
	words := map[string]string{
		"null": "null", "boolean": "true or false", "number": "a number", "integer": "a whole number", "string": "a text",
		"array": "a list", "object": "an object",
	}
	var all []string
	for _, name := range t {
		all = append(all, words[name])
	}
	return strings.Join(all, " or ")
}

// hint helps with the mistakes that the form of YAML invites.
func (n *node) hint(wanted typeNames) string {
	switch {
	case n.kind == textKind && n.raw != "":
		return " (a variable is always a text)"
	case slices.Contains(wanted, "string") && (n.kind == numberKind || n.kind == boolKind):
		return "; put it in quotes"
	case slices.Contains(wanted, "array"):
		return "; write it as [...]"
	}
	return ""
}

// allowed compares with a list of values, or with the only one.
func (c *schemaCheck) allowed(n *node, part *schema, path string) {
	values := part.Enum
	if part.Const != nil {
		values = append(slices.Clone(values), part.Const)
	}
	if len(values) == 0 || n.kind == listKind || n.kind == objectKind {
		return
	}
	var texts []string
	for _, value := range values {
		if string(value) == string(n.json()) {
			return
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		texts = append(texts, text)
	}
	is := ""
	if n.raw == "" {
		is = fmt.Sprintf(", and is %q%s", n.text, project.Meant(n.text, texts))
	}
	c.problem(n.at, path, "must be %s%s", listed(texts), is)
}

func listed(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

func (c *schemaCheck) length(n *node, length int, least, most *int, what, path string) {
	switch {
	case least != nil && length < *least:
		c.problem(n.at, path, "must have at least %d %s", *least, what)
	case most != nil && length > *most:
		c.problem(n.at, path, "must have at most %d %s, and has %d", *most, what, length)
	}
}

func (c *schemaCheck) bounds(n *node, part *schema, path string) {
	number, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err != nil:
		c.problem(n.at, path, "is no number")
	case part.Minimum != nil && number < *part.Minimum:
		c.problem(n.at, path, "must be at least %v, and is %s", *part.Minimum, n.text)
	case part.Maximum != nil && number > *part.Maximum:
		c.problem(n.at, path, "must be at most %v, and is %s", *part.Maximum, n.text)
	}
}

func (c *schemaCheck) object(n *node, part *schema, path string) {
	for _, m := range n.members {
		inner := joinPath(path, m.name)
		if names := c.resolve(part.PropertyNames); names != nil {
			c.value(newText(m.at, m.name), names, inner)
		}
		property, ok := part.Properties[m.name]
		switch {
		case ok:
			if resolved := c.resolve(property); property.ReadOnly || resolved != nil && resolved.ReadOnly {
				c.problem(m.at, path, "%q is set by the server; leave it out", m.name)
				continue
			}
			c.value(m.value, property, inner)
		case m.name == "$schema" && path == "":
		case part.AdditionalProperties == nil:
		case part.AdditionalProperties.schema != nil:
			c.value(m.value, part.AdditionalProperties.schema, inner)
		case !part.AdditionalProperties.allowed:
			names := writable(part)
			c.problem(m.at, path, "unknown member %q%s", m.name, project.Meant(m.name, names))
		}
	}
	for _, name := range part.Required {
		if n.get(name) == nil {
			c.problem(n.at, path, "lacks the member %q", name)
		}
	}
}

// writable returns the names of the members that a file may have, sorted.
func writable(part *schema) []string {
	var names []string
	for name, property := range part.Properties {
		if !property.ReadOnly {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// oneOf compares with the branch that fits best: the one whose member type is that of the
// value, else the one with the fewest mistakes.
func (c *schemaCheck) oneOf(n *node, branches []*schema, path string) {
	if len(branches) == 0 {
		return
	}
	if kind := n.get("type"); kind != nil {
		var named, others []*schema
		for _, branch := range branches {
			switch values := c.typesOf(branch); {
			case values == nil:
				others = append(others, branch)
			case slices.Contains(values, kind.text):
				named = append(named, branch)
			}
		}
		if branches = append(named, others...); len(branches) == 0 {
			return // the enum of the member type says so
		}
	}
	var best Problems
	for i, branch := range branches {
		attempt := &schemaCheck{Schema: c.Schema}
		attempt.value(n, branch, path)
		if i == 0 || len(attempt.problems) < len(best) {
			best = attempt.problems
		}
		if len(best) == 0 {
			return
		}
	}
	c.problems = append(c.problems, best...)
}

// typesOf returns the values of the member type that a branch is for, nil for any.
func (c *schemaCheck) typesOf(branch *schema) []string {
	branch = c.resolve(branch)
	if branch == nil {
		return nil
	}
	kind := c.resolve(branch.Properties["type"])
	if kind == nil {
		return nil
	}
	values := kind.Enum
	if kind.Const != nil {
		values = append(slices.Clone(values), kind.Const)
	}
	var texts []string
	for _, value := range values {
		var text string
		if json.Unmarshal(value, &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts
}
