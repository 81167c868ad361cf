// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Objects are the definitions of an organization as the API lists them.
type Objects struct {
	Channels, Checks, Rules, Maintenance, StatusPages, Subscriptions []json.RawMessage
}

// ExportOptions say what is exported.
type ExportOptions struct {
	// Project is the name of the project in the files. Keys are those of the objects that
	// it manages; the others get keys from their names.
	Project string
	// All exports every object; otherwise only those of the project.
	All    bool
	Schema *Schema // says which members a file may have, and their defaults; nil: all but those of the server
}

// Export is a project as files have it.
type Export struct {
	// Sections of the document in the order of a file: the name, and the JSON of its value.
	Sections []Section
	// Secrets are the variables in the place of secrets, in the order of the file.
	Secrets []Secret
	// Keys are the keys of the objects, for taking them over.
	Keys []ExportedKey
}

// Section is a part of an exported document.
type Section struct {
	Name string
	JSON json.RawMessage
}

// Secret is a variable that stands for a secret.
type Secret struct {
	Variable string `json:"variable"`
	Path     string `json:"path"` // such as "checks.home.config.basic_auth.password"
}

// ExportedKey is the key of an object.
type ExportedKey struct {
	Kind string // channel, check, rule, maintenance, status_page or subscription
	ID   string
	Name string
	// Key in managed_by; of a rule that is "home/down".
	Key string
	// Managed: it has this key in the project already.
	Managed bool
}

// exported is an object of the API.
type exported struct {
	members map[string]any
	id, key string
}

// exporter turns objects into a document.
type exporter struct {
	options   ExportOptions
	channels  map[string]string // key by id
	checks    map[string]string
	variables map[string]string // path by variable
	out       Export
}

// NewExport writes objects in the format of the files. Sections, keys and members have a
// stable order. A secret, which the API shows as ***, becomes a variable.
func NewExport(objects Objects, o ExportOptions) (*Export, error) {
	e := &exporter{options: o, variables: map[string]string{}}
	channels, err := e.keyed("channel", objects.Channels, nil)
	if err != nil {
		return nil, err
	}
	checks, err := e.keyed("check", objects.Checks, nil)
	if err != nil {
		return nil, err
	}
	e.channels, e.checks = keysOf(channels), keysOf(checks)
	rules, err := e.keyed("rule", objects.Rules, e.checks)
	if err != nil {
		return nil, err
	}
	windows, err := e.keyed("maintenance", objects.Maintenance, nil)
	if err != nil {
		return nil, err
	}
	pages, err := e.keyed("status_page", objects.StatusPages, nil)
	if err != nil {
		return nil, err
	}
	subscriptions, err := e.keyed("subscription", objects.Subscriptions, nil)
	if err != nil {
		return nil, err
	}
	e.section(channelsSection, channels, e.channel)
	e.section(checksSection, checks, func(x exported, path string) object { return e.check(x, path, rules) })
	e.section(maintenanceSection, windows, e.window)
	e.section(pagesSection, pages, e.page)
	e.section(subscriptionsSection, subscriptions, e.subscription)
	return &e.out, nil
}

func keysOf(objects []exported) map[string]string {
	keys := make(map[string]string, len(objects))
	for _, x := range objects {
		keys[x.id] = x.key
	}
	return keys
}

// keyed decodes objects and gives each its key, sorted by it. Rules have the keys of
// their checks before their own; those of other checks are left out.
func (e *exporter) keyed(kind string, raw []json.RawMessage, checks map[string]string) ([]exported, error) {
	var all []exported
	var taken Keys
	var unmanaged []exported
	for _, one := range raw {
		decoder := json.NewDecoder(bytes.NewReader(one))
		decoder.UseNumber()
		var x exported
		if err := decoder.Decode(&x.members); err != nil {
			return nil, fmt.Errorf("read a %s: %w", kind, err)
		}
		x.id = text(x.members, "id")
		if kind == "rule" && checks[text(x.members, "check_id")] == "" {
			continue
		}
		managed, _ := x.members["managed_by"].(map[string]any)
		switch own := text(managed, "tool") == vigil.ToolApply && text(managed, "project") == e.options.Project; {
		case own:
			x.key = text(managed, "key")
			taken.Take(x.key)
			all = append(all, x)
		case e.options.All || kind == "rule":
			unmanaged = append(unmanaged, x)
		}
	}
	slices.SortStableFunc(unmanaged, func(a, b exported) int {
		return strings.Compare(label(a.members)+a.id, label(b.members)+b.id)
	})
	for _, x := range unmanaged {
		if kind == "rule" && !e.options.All {
			continue // made by hand on a check of the project, and stays so
		}
		prefix := ""
		if kind == "rule" {
			prefix = checks[text(x.members, "check_id")] + "/"
		}
		x.key = taken.Free(prefix, label(x.members), kind)
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b exported) int { return strings.Compare(a.key, b.key) })
	for _, x := range all {
		managed, _ := x.members["managed_by"].(map[string]any)
		e.out.Keys = append(e.out.Keys, ExportedKey{
			Kind: kind, ID: x.id, Name: label(x.members), Key: x.key,
			Managed: text(managed, "project") == e.options.Project && text(managed, "key") == x.key,
		})
	}
	return all, nil
}

func text(members map[string]any, name string) string {
	value, _ := members[name].(string)
	return value
}

// label is the name of an object; of a status page its slug.
func label(members map[string]any) string {
	if name := text(members, "name"); name != "" {
		return name
	}
	return text(members, "slug")
}

func (e *exporter) section(name string, objects []exported, convert func(exported, string) object) {
	if len(objects) == 0 {
		return
	}
	var all object
	for _, x := range objects {
		all = append(all, objectMember{x.key, convert(x, name+"."+x.key)})
	}
	written, _ := all.MarshalJSON() // of values that were JSON
	e.out.Sections = append(e.out.Sections, Section{Name: name, JSON: written})
}

// resource returns the members of an object that a file has: first the given ones, then
// the others by name.
func (e *exporter) resource(section string, x exported, path string, first ...string) object {
	allowed := e.options.Schema.members(section)
	var written object
	names := slices.Concat(first, slices.Sorted(maps.Keys(x.members)))
	seen := map[string]bool{}
	for _, name := range names {
		value := x.members[name]
		standard, inFile := allowed[name]
		if seen[name] || isEmpty(value) || serverMember(name) || allowed != nil && !inFile || same(value, standard) {
			continue
		}
		seen[name] = true
		if name == "enabled" && value == true {
			continue // a file without it leaves what an operator paused as it is
		}
		written = append(written, objectMember{name, e.value(value, path+"."+name)})
	}
	return written
}

// serverMember reports whether a member is the server's, or says what another one says.
func serverMember(name string) bool {
	return slices.Contains([]string{
		"id", "org_id", "check_id", "created_at", "updated_at", "revision", "health_status", "last_checked", "expires_at", "summary",
		"condition_type", "threshold", "disabled_reason", "secret_overlap_ends_at", "recipients", "url", "managed_by",
		"protected", "logo_url", "host_verified_at", "subscribers",
	}, name)
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

func same(value any, standard json.RawMessage) bool {
	if standard == nil {
		return false
	}
	text, err := json.Marshal(value)
	return err == nil && string(text) == string(standard)
}
