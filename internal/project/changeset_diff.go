// SPDX-License-Identifier: Apache-2.0

package project

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// memberConfig is the member that has secrets.
const memberConfig = "config"

func topMember(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}

// differ finds the differences between two trees of members.
type differ struct {
	hide  bool // whether secrets are compared
	found []MemberChange
	// secrets: there is a secret on either side.
	secrets bool
}

// members compares two items; stored may be nil.
func (d *differ) members(stored, wanted *Item) {
	var from Members
	if stored != nil {
		from = stored.Members
	}
	for _, name := range unionOf(from, wanted.Members) {
		var fields secret.Fields
		if name == memberConfig {
			fields = wanted.Secrets
		}
		d.compare(name, from[name], wanted.Members[name], fields)
	}
}

func unionOf(a, b map[string]any) []string {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// compare adds the differences below a path. An absent object is an empty one.
func (d *differ) compare(path string, from, to any, fields secret.Fields) {
	if fields.Secret && (isText(from) || isText(to)) {
		d.secret(path, from, to)
		return
	}
	if fields.Query && (isText(from) || isText(to)) {
		d.query(path, from, to, fields)
		return
	}
	before, isObject := from.(map[string]any)
	after, becomesObject := to.(map[string]any)
	if isObject && becomesObject || isObject && to == nil || from == nil && becomesObject {
		d.objects(path, before, after, fields)
		return
	}
	old, isList := from.([]any)
	items, becomesList := to.([]any)
	if isList && becomesList && len(old) == len(items) && (fields.Any() || hasObject(items)) {
		for i := range items {
			d.compare(path+"["+strconv.Itoa(i)+"]", old[i], items[i], fields)
		}
		return
	}
	if sameTree(from, to) {
		return
	}
	change := MemberChange{Path: path, From: fields.MaskTree(from), To: fields.MaskTree(to)}
	if fields.Any() {
		d.secrets = true
	}
	d.found = append(d.found, change)
}

func (d *differ) objects(path string, from, to map[string]any, fields secret.Fields) {
	typed := to
	if typed == nil {
		typed = from
	}
	for _, name := range unionOf(from, to) {
		of, was := fields.MemberOf(name, typed), fields.MemberOf(name, from)
		switch inner := fields.Members[name]; {
		case inner.ByType != nil && from != nil && to != nil && from["type"] != to["type"]:
			// Each side has its own secrets, and all of it is another config.
			d.secrets = d.secrets || of.Any() || was.Any()
			d.compare(path+"."+name, was.MaskTree(from[name]), of.MaskTree(to[name]), secret.Fields{})
		default:
			of.Secret = of.Secret || was.Secret // a text that is not secret any more was so
			d.compare(path+"."+name, from[name], to[name], of)
		}
	}
}

// query adds a difference between two addresses. The secrets in them are compared where
// nothing else differs, and only for who may know whether they are equal.
func (d *differ) query(path string, from, to any, fields secret.Fields) {
	shownFrom, shownTo := fields.MaskTree(from), fields.MaskTree(to)
	hidden := shownFrom != from || shownTo != to
	d.secrets = d.secrets || hidden
	change := MemberChange{Path: path}
	switch {
	case shownFrom != shownTo:
		change.From, change.To = shownFrom, shownTo
	case !hidden:
		return
	case d.hide:
		change.Secret, change.Unknown = true, true
	case from == to:
		return
	default:
		change.Secret = true
	}
	d.found = append(d.found, change)
}

// secret adds a difference between two texts without their values.
func (d *differ) secret(path string, from, to any) {
	before, _ := from.(string)
	after, _ := to.(string)
	if before == "" && after == "" {
		return
	}
	d.secrets = true
	change := MemberChange{Path: path, Secret: true}
	switch {
	case before == "" || after == "":
	case d.hide:
		change.Unknown = true
	case before == after:
		return
	}
	d.found = append(d.found, change)
}

func isText(node any) bool {
	_, ok := node.(string)
	return ok
}

func hasObject(items []any) bool {
	return slices.ContainsFunc(items, func(item any) bool {
		_, ok := item.(map[string]any)
		return ok
	})
}

// sameTree reports whether two trees say the same. Numbers are compared as such, however
// they are written, and an absent member is null.
func sameTree(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && !slices.ContainsFunc(unionOf(a, other), func(name string) bool { return !sameTree(a[name], other[name]) })
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, sameTree)
	case json.Number:
		other, ok := b.(json.Number)
		return ok && sameNumber(a, other)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && x == y
}

// DecodeMembers decodes an object as Members; what is not an object is nil.
func DecodeMembers(object json.RawMessage) Members {
	tree, err := secret.DecodeTree(object)
	if err != nil {
		return nil
	}
	members, _ := tree.(map[string]any)
	return members
}

// EncodeMembers encodes a tree as it was written, without escapes for HTML.
func EncodeMembers(tree any) (json.RawMessage, error) { return secret.EncodeTree(tree) }
