// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"
)

// Explain returns the problem that a server found at a path of the document, such as
// "checks.home.config.url" or "checks.home.regions[1]", with its position in the files.
// A path that is not in the files has the position of the nearest value around it.
func (d *Document) Explain(path, message string) Problem {
	at, rest := d.root.locate(path)
	if rest != "" {
		if other, left := d.fromDefaults(path); other != (Position{}) && len(left) < len(rest) {
			at = other
		}
	}
	if path == "" {
		at = Position{}
	}
	return Problem{Position: at, Path: path, Message: d.redacted(message)}
}

// locate follows a path, and returns the position of the last part that exists and what
// is left of the path.
func (n *node) locate(path string) (at Position, rest string) {
	at = n.at
	for path != "" {
		m, left, ok := n.step(path)
		if !ok {
			return at, path
		}
		n, at, path = m.value, m.at, left
	}
	return at, ""
}

// step follows the first part of a path. Names may hold dots, so the longest one that
// fits is taken. A duration is interval in a file and interval_seconds elsewhere.
func (n *node) step(path string) (found member, rest string, ok bool) {
	if i, left, isIndex := index(path); isIndex {
		if n.kind != listKind || i >= len(n.items) {
			return member{}, "", false
		}
		return member{at: n.items[i].at, value: n.items[i]}, left, true
	}
	longest := -1
	for _, m := range n.each() {
		for _, name := range []string{m.name, m.name + "_seconds"} {
			left, fits := strings.CutPrefix(path, name)
			if fits && len(name) > longest && (left == "" || left[0] == '.' || left[0] == '[') {
				found, rest, ok, longest = m, strings.TrimPrefix(left, "."), true, len(name)
			}
		}
	}
	return found, rest, ok
}

// index reads [3] or 3 at the beginning of a path.
func index(path string) (i int, rest string, ok bool) {
	part, rest := path, ""
	if inner, bracket := strings.CutPrefix(path, "["); bracket {
		var closed bool
		if part, rest, closed = strings.Cut(inner, "]"); !closed {
			return 0, "", false
		}
	} else if end := strings.IndexAny(path, ".["); end >= 0 {
		part, rest = path[:end], path[end:]
	}
	i, err := strconv.Atoi(part)
	return i, strings.TrimPrefix(rest, "."), err == nil && i >= 0
}

// fromDefaults follows a path of a check or a rule in the defaults.
func (d *Document) fromDefaults(path string) (Position, string) {
	inside, ok := strings.CutPrefix(path, checksSection+".")
	if !ok {
		return Position{}, path
	}
	m, rest, ok := d.root.get(checksSection).stepOf(inside)
	if !ok {
		return Position{}, path
	}
	name := "check"
	if rules, isRule := strings.CutPrefix(rest, rulesSection+"."); isRule {
		if _, rest, ok = m.value.get(rulesSection).stepOf(rules); !ok {
			return Position{}, path
		}
		name = "rule"
	}
	defaults := d.root.get(defaultsSection).get(name)
	if defaults == nil || rest == "" {
		return Position{}, path
	}
	at, left := defaults.locate(rest)
	if left == rest {
		return Position{}, path
	}
	return at, left
}

func (n *node) stepOf(path string) (member, string, bool) {
	if n == nil {
		return member{}, "", false
	}
	return n.step(path)
}
