// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
)

// kind is the type of a value, as JSON has it.
type kind int

const (
	nullKind kind = iota
	boolKind
	numberKind
	textKind
	listKind
	objectKind
)

// node is a value with its position.
type node struct {
	at   Position
	kind kind
	// text of a text, digits of a number, "true" or "false".
	text string
	// raw is the text with its variables when it had any: messages show that, since a
	// variable may be a secret.
	raw     string
	items   []*node
	members []member
	index   map[string]int // of the members by name, when there are many
	// size is the number of values inside, itself included; a long text counts for several,
	// since aliases can repeat it.
	size int
}

// member is a named value of an object.
type member struct {
	name  string
	at    Position // of the name
	value *node
}

// get returns a member of an object, nil without one.
func (n *node) get(name string) *node {
	m, _ := n.find(name)
	return m.value
}

// find returns a member of an object with the position of its name.
func (n *node) find(name string) (member, bool) {
	if n == nil || n.kind != objectKind {
		return member{}, false
	}
	if n.index != nil {
		i, ok := n.index[name]
		if !ok {
			return member{}, false
		}
		return n.members[i], true
	}
	for _, m := range n.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// shown is a text as the file has it, with its variables.
func (n *node) shown() string {
	if n.raw != "" {
		return n.raw
	}
	return n.text
}

// variable reports whether a variable stands in the value, or somewhere in it.
func (n *node) variable() bool {
	return n.raw != "" || slices.ContainsFunc(n.items, (*node).variable) ||
		slices.ContainsFunc(n.members, func(m member) bool { return m.value.variable() })
}

// asWritten returns the value with the variables as the file has them.
func (n *node) asWritten() *node {
	copied := *n
	copied.text, copied.items, copied.members = n.shown(), nil, nil
	for _, item := range n.items {
		copied.items = append(copied.items, item.asWritten())
	}
	for _, m := range n.members {
		m.value = m.value.asWritten()
		copied.members = append(copied.members, m)
	}
	return &copied
}

// names returns the names of the members.
func (n *node) names() []string {
	if n == nil {
		return nil
	}
	names := make([]string, len(n.members))
	for i, m := range n.members {
		names[i] = m.name
	}
	return names
}

// word is the name of a kind in messages.
func (k kind) word() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// appendJSON writes the value as JSON.
func (n *node) appendJSON(out *bytes.Buffer) {
	switch n.kind {
	case nullKind:
		out.WriteString("null")
	case boolKind, numberKind:
		out.WriteString(n.text)
	case textKind:
		quote(out, n.text)
	case listKind:
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.appendJSON(out)
		}
		out.WriteByte(']')
	case objectKind:
		out.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				out.WriteByte(',')
			}
			quote(out, m.name)
			out.WriteByte(':')
			m.value.appendJSON(out)
		}
		out.WriteByte('}')
	}
}

// quote writes a text as JSON.
func quote(out *bytes.Buffer, text string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text always has a form in JSON
	out.Truncate(out.Len() - 1)
}

// json returns the value as JSON.
func (n *node) json() json.RawMessage {
	var out bytes.Buffer
	n.appendJSON(&out)
	return out.Bytes()
}

func newText(at Position, text string) *node {
	return &node{at: at, kind: textKind, text: text, size: textSize(text)}
}

// textSize is the size of a text.
func textSize(text string) int { return 1 + len(text)/32 }

func newObject(at Position) *node { return &node{at: at, kind: objectKind, size: 1} }

// add adds a member to an object.
func (n *node) add(m member) {
	n.members = append(n.members, m)
	n.size += m.value.size
	switch {
	case n.index != nil:
		n.index[m.name] = len(n.members) - 1
	case len(n.members) == manyMembers:
		n.index = make(map[string]int, 4*manyMembers)
		for i, known := range n.members {
			n.index[known.name] = i
		}
	}
}

// manyMembers is the number from which members are found by an index.
const manyMembers = 24
