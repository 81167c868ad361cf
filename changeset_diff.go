package vigil

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
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
		var fields SecretFields
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
func (d *differ) compare(path string, from, to any, fields SecretFields) {
	if fields.Secret && (isText(from) || isText(to)) {
		d.secret(path, from, to)
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
	if isList && becomesList && len(old) == len(items) && (fields.any() || hasObject(items)) {
		for i := range items {
			d.compare(path+"["+strconv.Itoa(i)+"]", old[i], items[i], fields)
		}
		return
	}
	if sameTree(from, to) {
		return
	}
	change := MemberChange{Path: path, From: masked(from, fields), To: masked(to, fields)}
	if fields.any() {
		d.secrets = true
	}
	d.found = append(d.found, change)
}

func (d *differ) objects(path string, from, to map[string]any, fields SecretFields) {
	typed := to
	if typed == nil {
		typed = from
	}
	for _, name := range unionOf(from, to) {
		d.compare(path+"."+name, from[name], to[name], fields.member(name, typed))
	}
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

// any reports whether there can be a secret.
func (f SecretFields) any() bool {
	return f.Secret || f.ByName || f.ByType != nil || len(f.Members) > 0
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

// masked returns a copy of a tree with SecretMask in the place of every secret.
func masked(node any, fields SecretFields) any {
	if !fields.any() {
		return node
	}
	walk := secretWalk{change: func(string, string) (string, error) { return SecretMask, nil }}
	shown, err := walk.visit(cloneTree(node), fields, "")
	if err != nil {
		return nil
	}
	return shown
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
	tree, err := decodeTree(object)
	if err != nil {
		return nil
	}
	members, _ := tree.(map[string]any)
	return members
}

// EncodeMembers encodes a tree as it was written, without escapes for HTML.
func EncodeMembers(tree any) (json.RawMessage, error) { return encodeTree(tree) }
