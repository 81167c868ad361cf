// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strings"
)

// dollarSign is a variable whose default is a dollar sign: in a file, $${NAME} is no variable.
const dollarSign = "${DOLLAR_SIGN:-$}"

// escape makes sure that no text from outside is read as a variable of the file: what another
// program stores may hold ${file:...} in any name, and `vigil plan` would read that file. Every
// member of every resource passes here; only the variables that Variable has made stay.
func (r *Result) escape() {
	for _, section := range r.sections() {
		for _, one := range section.resources {
			one.Members, _ = r.escaped(one.Members).(Object)
			for _, rule := range one.Rules {
				rule.Members, _ = r.escaped(rule.Members).(Object)
			}
		}
	}
}

// removeNUL removes what has a text with a NUL character, which the API refuses and Postgres does not
// store.
func (r *Result) removeNUL() {
	for _, one := range r.all() {
		one.Rules = slices.DeleteFunc(one.Rules, func(rule *Resource) bool {
			name := memberWithNUL(rule.Members)
			if name != "" {
				one.Lose("alert "+rule.Key, "its %s has a NUL character", name)
			}
			return name != ""
		})
		if name := memberWithNUL(one.Members); name != "" {
			r.Remove(one, "its %s has a NUL character", name)
			r.unlink(one)
		}
	}
}

// memberWithNUL returns the name of a member whose value has a text with a NUL character.
func memberWithNUL(members Object) string {
	for _, m := range members {
		if hasNUL(m.Name) || hasNUL(m.Value) {
			return strings.ReplaceAll(m.Name, "\x00", "?")
		}
	}
	return ""
}

func hasNUL(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, "\x00")
	case Object:
		return memberWithNUL(value) != ""
	case []string:
		return slices.ContainsFunc(value, func(text string) bool { return hasNUL(text) })
	case []any:
		return slices.ContainsFunc(value, hasNUL)
	}
	return false
}

func (r *Result) escaped(value any) any {
	switch value := value.(type) {
	case string:
		return r.escapedText(value)
	case Object:
		for i := range value {
			value[i].Value = r.escaped(value[i].Value)
		}
	case []string:
		for i := range value {
			value[i] = r.escapedText(value[i])
		}
	case []any:
		for i := range value {
			value[i] = r.escaped(value[i])
		}
	}
	return value
}

// escapedText reads a text as a file's reader does, and escapes each variable that the import
// has not made.
func (r *Result) escapedText(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			return out.String() + text
		}
		inside, rest, closed := strings.Cut(text[i+2:], "}")
		switch {
		case i > 0 && text[i-1] == '$': // it is escaped
			out.WriteString(text[:i+2])
			text = text[i+2:]
		case closed && (r.taken[inside] || "${"+inside+"}" == dollarSign):
			out.WriteString(text[:i] + "${" + inside + "}")
			text = rest
		default:
			out.WriteString(text[:i] + "$${")
			text = text[i+2:]
		}
	}
}
