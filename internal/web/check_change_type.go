// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strings"
)

// What was typed for another type stands in hidden fields, such as other.tcp.send, so that it is there
// again when that type is chosen again. Secrets are not among them: othersKept names them.
const (
	otherTypes = "other."
	othersKept = "other_kept"
)

// changeType gives the form the fields of its type. What both types have stays; of the others, those of
// the old type are kept for it, and those that were kept for the new one come back.
func (c *checkForm) changeType(before *sheet, old string) {
	c.typed = newSheet()
	for name, values := range before.Values {
		if !strings.HasPrefix(name, "config.") {
			c.typed.Values[name] = values
		}
	}
	c.keepOthers(before, old)
	if !c.takeOthers() {
		config := map[string]any{}
		members := c.members()
		for i := range members {
			if m := &members[i]; m.begin != nil {
				config[m.name] = m.begin
			}
		}
		enterConfig(members, config, c.typed, "config")
	}
	for _, name := range c.types.shared(old, c.kind) {
		c.carry(before, "config."+name)
	}
}

// keepOthers keeps what was typed for a type.
func (c *checkForm) keepOthers(typed *sheet, kind string) {
	members := c.types.members(kind)
	if members == nil {
		return
	}
	shown := &checkForm{form: &form{}, r: c.r, types: c.types, kind: kind, typed: typed, stored: c.stored}
	shown.config(members, "config") // finds the secrets
	for name, values := range typed.Values {
		rest, ok := strings.CutPrefix(name, "config.")
		at := otherTypes + kind + "." + rest
		switch {
		case !ok:
		case slices.Contains(shown.forgot, name):
			c.typed.Add(othersKept, at)
			c.typed.Set(at, "")
		default:
			c.typed.Values[at] = values
		}
	}
	c.typed.lists = nil
}

// takeOthers enters what was kept for the type of the form, and reports whether there was any.
func (c *checkForm) takeOthers() (found bool) {
	kept, prefix := c.typed.Values[othersKept], otherTypes+c.kind+"."
	for name, values := range c.typed.Values {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		found = true
		delete(c.typed.Values, name)
		c.typed.Values["config."+rest] = values
		if slices.Contains(kept, name) {
			c.typed.Values[formSecrets] = append(slices.Clone(c.typed.Values[formSecrets]), "config."+rest)
		}
	}
	c.typed.Values[othersKept] = slices.DeleteFunc(slices.Clone(kept), func(name string) bool { return strings.HasPrefix(name, prefix) })
	c.typed.lists = nil
	return found
}

// carry takes a member over, with what is below it, when something was typed into it.
func (c *checkForm) carry(before *sheet, path string) {
	within := func(name string) bool { return covers(path, name) }
	typed := false
	for name, values := range before.Values {
		typed = typed || within(name) && strings.Join(values, "") != ""
	}
	if !typed {
		return
	}
	for name := range c.typed.Values {
		if within(name) {
			delete(c.typed.Values, name)
		}
	}
	for name, values := range before.Values {
		if within(name) {
			c.typed.Values[name] = values
		}
	}
	c.typed.lists = nil
}

// covers reports whether a field is the one of a path, or is below it.
func covers(path, name string) bool {
	rest, ok := strings.CutPrefix(name, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// otherTypes are the hidden fields of what was typed for other types.
func (c *checkForm) otherTypes() []option {
	var hidden []option
	for name, values := range c.typed.Values {
		if strings.HasPrefix(name, otherTypes) || name == othersKept {
			for _, value := range values {
				hidden = append(hidden, option{Value: value, Text: name})
			}
		}
	}
	slices.SortFunc(hidden, func(a, b option) int { return strings.Compare(a.Text+"\x00"+a.Value, b.Text+"\x00"+b.Value) })
	return hidden
}

// shared are the names of the members that the configs of two types have in common: of the same name,
// that are entered in the same way.
func (t *checkTypes) shared(one, other string) []string {
	var names []string
	for _, m := range t.members(one) {
		if slices.ContainsFunc(t.members(other), func(n member) bool { return sameInput(&m, &n) }) {
			names = append(names, m.name)
		}
	}
	return names
}

func sameInput(a, b *member) bool {
	return a.name == b.name && a.input == b.input && a.maskNames == b.maskNames &&
		slices.EqualFunc(a.choices, b.choices, func(x, y option) bool { return x.Value == y.Value }) &&
		slices.EqualFunc(a.members, b.members, func(x, y member) bool { return sameInput(&x, &y) })
}
