// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// members reads the members of a map of the source by their types. A member of another type,
// and one that nothing reads, is a loss.
type members struct {
	*value

	lose func(what, format string, args ...any)
	path string // before the names of members in reports, such as "client."
	used []string
}

func newMembers(v *value, path string, lose func(what, format string, args ...any)) *members {
	m := &members{value: &value{kind: mapKind}, lose: lose, path: path}
	switch {
	case v == nil || v.kind == nullKind:
	case v.kind == mapKind:
		m.value = v
	default:
		lose(strings.TrimSuffix(path, "."), "is no map")
	}
	return m
}

// take returns a member and marks it as read; nil for an absent one and for null.
func (m *members) take(name string) *value {
	m.used = append(m.used, name)
	if v := m.get(name); v != nil && v.kind != nullKind {
		return v
	}
	return nil
}

// marked returns a member as a text with marks.
func (m *members) marked(name string) string {
	v := m.take(name)
	switch {
	case v == nil:
		return ""
	case v.kind != scalarKind:
		m.lose(m.path+name, "is no text")
		return ""
	}
	return v.text
}

// scalar returns the text of a member of a type that needs its value; false for one that is
// absent or comes from a variable.
func (m *members) scalar(name string) (string, bool) {
	text := m.marked(name)
	if marked(text) {
		m.lose(m.path+name+": "+shown(text), "the value comes from a variable, and the file needs it")
		return "", false
	}
	return strings.TrimSpace(text), text != ""
}

func (m *members) duration(name string) (time.Duration, bool) {
	text, ok := m.scalar(name)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		m.lose(m.path+name+": "+text, "is no duration such as 30s")
		return 0, false
	}
	return d, true
}

func (m *members) integer(name string) (int, bool) {
	text, ok := m.scalar(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 32)
	if err != nil {
		m.lose(m.path+name+": "+text, "is no whole number")
		return 0, false
	}
	return int(n), true
}

// truth returns a member that is true or false, nil for an absent one. The words are those
// of YAML 1.1, which Gatus accepts.
func (m *members) truth(name string) *bool {
	text, ok := m.scalar(name)
	if !ok {
		return nil
	}
	lower := strings.ToLower(text)
	yes := slices.Contains([]string{"true", "yes", "on", "y"}, lower)
	if !yes && !slices.Contains([]string{"false", "no", "off", "n"}, lower) {
		m.lose(m.path+name+": "+text, "is neither true nor false")
		return nil
	}
	return &yes
}

// on reports whether a member is true.
func (m *members) on(name string) bool {
	given := m.truth(name)
	return given != nil && *given
}

// list returns the items of a list.
func (m *members) list(name string) []*value {
	v := m.take(name)
	if v == nil {
		return nil
	}
	if v.kind != listKind {
		m.lose(m.path+name, "is no list")
		return nil
	}
	return v.items
}

// texts returns the texts of a map of texts, in its order.
func (m *members) texts(name string) []pair {
	v := m.take(name)
	if v == nil {
		return nil
	}
	if v.kind != mapKind {
		m.lose(m.path+name, "is no map")
		return nil
	}
	var all []pair
	for _, one := range v.members {
		switch {
		case marked(one.name):
			m.lose(m.path+name+"."+shown(one.name), "a variable cannot be a name")
		case one.value.kind == listKind || one.value.kind == mapKind:
			m.lose(m.path+name+"."+one.name, "is no text")
		default:
			all = append(all, one)
		}
	}
	return all
}

// inner returns a member that is a map; nil without one.
func (m *members) inner(name string) *members {
	v := m.take(name)
	if v == nil {
		return nil
	}
	return newMembers(v, m.path+name+".", m.lose)
}

// drop reports members as lost when they are there.
func (m *members) drop(reason string, names ...string) {
	for _, name := range names {
		if v := m.take(name); v != nil {
			m.lose(m.path+name+brief(name, v), "%s", reason)
		}
	}
}

// dropTogether reports the members that are there as one loss.
func (m *members) dropTogether(reason string, names ...string) {
	var there []string
	for _, name := range names {
		if m.take(name) != nil {
			there = append(there, m.path+name)
		}
	}
	if len(there) > 0 {
		m.lose(strings.Join(there, ", "), "%s", reason)
	}
}

// finish reports the members that nothing has read. One that only holds anchors, for others to
// repeat, means nothing by itself.
func (m *members) finish() {
	for _, one := range m.members {
		switch {
		case slices.Contains(m.used, one.name), strings.HasPrefix(one.name, "x-"), strings.HasPrefix(one.name, "."), one.value.hasAnchor():
		default:
			m.lose(m.path+shown(one.name), "is not known to this import")
		}
	}
}

// maxBrief is the longest value that a report repeats, in characters.
const maxBrief = 60

// brief is a scalar behind a colon, for reports; nothing for what could hold a secret.
func brief(name string, v *value) string {
	if v.kind != scalarKind || v.text == "" || len(v.text) > maxBrief || strings.Contains(v.text, "\n") ||
		secret.IsCredentialName(name) || name == "body" || strings.Contains(name, "url") || strings.Contains(name, "user") {
		return ""
	}
	return ": " + shown(v.text)
}
