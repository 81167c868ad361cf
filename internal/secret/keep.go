// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// PlaceMember is a member of a config that says where the secrets beside and below it
// are sent.
type PlaceMember struct {
	Name string
	// URL: the scheme, host and port of the member count; otherwise all of it.
	URL bool
	// Default is what an absent member stands for.
	Default string
}

// Keep returns config with every Mask in the place of a secret replaced by the
// stored config's secret at the same path. Items of a list that have names, such as
// steps, are matched by name, the others by position.
//
// A secret is kept only while it goes where it went: when the scheme, host or port
// beside it changes, and when nothing is stored behind a mask, the error is a
// CodeInvalid one that names every member to send again: the first as details.member,
// all of them as details.members.
func (f Fields) Keep(config, stored json.RawMessage) (json.RawMessage, error) {
	given, err := DecodeTree(config)
	if err != nil {
		return nil, err
	}
	known, err := DecodeTree(stored)
	if err != nil {
		return nil, fmt.Errorf("stored config: %w", err)
	}
	k := keeper{path: "config"}
	given = k.visit(given, known, f, true)
	if err := k.problem(); err != nil {
		return nil, err
	}
	if !k.changed {
		return config, nil
	}
	return EncodeTree(given)
}

// keeper replaces the masks of one config.
type keeper struct {
	path           string
	changed        bool
	moved, missing []string // paths of masks that keep nothing
}

// problem returns the error that names the members to send again.
func (k *keeper) problem() error {
	members := slices.Concat(k.missing, k.moved)
	if len(members) == 0 {
		return nil
	}
	for i := range members {
		members[i] = vigil.MemberPath(members[i])
	}
	reason := fmt.Sprintf("%q keeps a stored secret, and there is none here", Mask)
	if len(k.missing) == 0 {
		reason = fmt.Sprintf("%q keeps a secret only while scheme, host and port stay", Mask)
	}
	again := "Send the secret itself."
	if len(members) > 1 {
		again = "Send the secrets themselves: " + strings.Join(members[:min(len(members), maxListed)], ", ") + "."
	}
	problem := vigil.Invalid(members[0], "%s. %s", reason, again)
	problem.Details["members"] = members
	return problem
}

// maxListed bounds how many members an error lists in its sentence.
const maxListed = 10

// visit returns the node with its masks replaced. same reports whether what surrounds
// the node goes to the same place as in the stored config.
func (k *keeper) visit(node, stored any, fields Fields, same bool) any {
	switch node := node.(type) {
	case string:
		return k.text(node, stored, fields, same)
	case []any:
		return k.list(node, stored, fields, same)
	case map[string]any:
		known, _ := stored.(map[string]any)
		same = same && samePlace(fields, node, known)
		for _, name := range slices.Sorted(maps.Keys(node)) {
			k.enter("."+name, func() { node[name] = k.visit(node[name], known[name], fields.MemberOf(name, node), same) })
		}
	}
	return node
}

// enter visits what is below a part of the path.
func (k *keeper) enter(part string, visit func()) {
	outer := k.path
	k.path += part
	visit()
	k.path = outer
}

// text returns the text that a mask stands for.
func (k *keeper) text(given string, stored any, fields Fields, same bool) string {
	secret, _ := stored.(string)
	switch {
	case fields.Query:
		return k.query(given, secret, same)
	case fields.If != "" && !fields.Secret && given == Mask && secret != "":
		secret = "" // it would be shown from now on
	case fields.Address && IsMaskedAddress(given):
	case !fields.Secret || given != Mask:
		return given
	}
	switch {
	case secret == "":
		k.missing = append(k.missing, k.path)
		return given
	case !same:
		k.moved = append(k.moved, k.path)
		return given
	}
	k.changed = true
	return secret
}

// query returns an address with the secrets that the masks in its query stand for: each is
// that of the stored parameter with the same name, the first for the first.
func (k *keeper) query(given, stored string, same bool) string {
	known := map[string][]string{}
	note := func(name, value string) (string, error) {
		known[name] = append(known[name], value)
		return value, nil
	}
	if _, err := RewriteParameters(stored, note); err != nil {
		return given
	}
	missing, moved := false, false
	kept, err := RewriteParameters(given, func(name, value string) (string, error) {
		secret := ""
		if of := known[name]; len(of) > 0 {
			secret, known[name] = of[0], of[1:]
		}
		switch {
		case !parameterMasked(value):
			return value, nil
		case secret == "":
			missing = true
		case !same:
			moved = true
		default:
			k.changed = true
			return secret, nil
		}
		return value, nil
	})
	switch {
	case err != nil:
	case missing:
		k.missing = append(k.missing, k.path)
	case moved:
		k.moved = append(k.moved, k.path)
	default:
		return kept
	}
	return given
}

// list visits the items of a list. An item that is sent where an earlier item says, as
// its host is a variable, keeps secrets only while all earlier items stay.
func (k *keeper) list(items []any, stored any, fields Fields, same bool) any {
	known, _ := stored.([]any)
	before := same
	for i, item := range items {
		at := matching(item, i, known)
		var match any
		if at >= 0 {
			match = known[at]
		}
		same := same && (before || !goesByVariable(item))
		k.enter("."+strconv.Itoa(i), func() { items[i] = k.visit(item, match, fields, same) })
		before = before && at == i && reflect.DeepEqual(items[i], match)
	}
	return items
}

// matching returns the position of the stored item that an item continues, -1 for none:
// the one with its name, or, for items without names, the one at its position.
func matching(item any, position int, stored []any) int {
	name := nameOf(item)
	if name != "" {
		return slices.IndexFunc(stored, func(other any) bool { return nameOf(other) == name })
	}
	if position < len(stored) && nameOf(stored[position]) == "" {
		return position
	}
	return -1
}

func nameOf(item any) string {
	object, _ := item.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// samePlace reports whether two objects send their secrets to the same place. An address that
// is kept as a whole stays.
func samePlace(fields Fields, given, stored map[string]any) bool {
	for _, member := range fields.Places {
		if fields.Members[member.Name].Address && given[member.Name] == Mask {
			continue
		}
		if member.of(given) != member.of(stored) {
			return false
		}
	}
	return true
}

// of returns what a member says about the place, in a form that can be compared.
func (m PlaceMember) of(object map[string]any) string {
	value, given := object[m.Name]
	if !given || value == nil {
		value = m.Default
	}
	text := strings.ToLower(fmt.Sprint(value))
	if !m.URL {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Sprint(value)
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	}
	return u.Scheme + "://" + u.Hostname() + ":" + port
}

// goesByVariable reports whether a step's host is, or holds, what an earlier step
// extracted.
func goesByVariable(item any) bool {
	object, _ := item.(map[string]any)
	config, _ := object["config"].(map[string]any)
	for _, name := range []string{"url", "host"} {
		text, _ := config[name].(string)
		if _, after, ok := strings.Cut(text, "://"); ok {
			text = after
		}
		if end := strings.IndexAny(text, "/?#"); end >= 0 {
			text = text[:end]
		}
		if strings.Contains(text, "{{") {
			return true
		}
	}
	return false
}
