// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// memberChannels is the member of a rule in a file that refers to channels, and
// memberChannelIDs the one of the API.
const (
	memberChannels   = "channels"
	memberChannelIDs = "notification_channel_ids"
)

// read reads the members of a definition, as a body of its endpoint, and reports whether
// they can be used.
func (d *decider) read(w *project.Wanted, into any, own ...string) bool {
	before := len(d.problems)
	path := w.Path()
	schema := d.applies.registry.SchemaFromRef(d.applies.registry.Schema(reflect.TypeOf(into).Elem(), true, "").Ref)
	known := own
	for name, property := range schema.Properties {
		if property.ReadOnly || name == "managed_by" {
			if _, given := w.Members[name]; given {
				d.problem(path+"."+name, "is set by the platform; leave it out")
				delete(w.Members, name)
			}
			continue
		}
		known = append(known, name)
	}
	slices.Sort(known)
	for _, found := range rest.ReadMembers(d.applies.registry, w.Members, into) {
		if rest.IsUnknownMember(found) {
			_, name, _ := cutLast(found.Path)
			found.Message += project.Meant(name, known)
		}
		d.problem(strings.TrimSuffix(path+"."+found.Path, "."), "%s", found.Message)
	}
	return len(d.problems) == before
}

func cutLast(path string) (before, after string, found bool) {
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		return path[:at], path[at+1:], true
	}
	return "", path, false
}

// newID returns the id of a definition to create. It is known before it is stored, since
// others refer to it.
func (d *decider) newID(kind project.Kind, key string) (uuid.UUID, error) {
	id, err := uuid.NewV7()
	d.ids[kind][key] = id
	return id, err
}

func (d *decider) wantChannel(w *project.Wanted) error {
	var in alerts.NotificationChannelCreate
	id, exists := d.stored.own[project.KindChannel][w.Key]
	fallback, usable := d.fallbackOf(w)
	usable = d.read(w, &in, memberFallback) && usable
	if exists && !usable {
		return nil
	}
	after := vigil.Channel{OrgID: d.caller().Org.ID, Type: in.Type.Value, Enabled: true}
	var before *vigil.Channel
	if exists {
		before = d.stored.channels[id]
		after = *before
	} else if after.ID = d.ids[project.KindChannel][w.Key]; !usable {
		return nil
	}
	after.Fallback = fallback
	in.Labels.Given = true
	err := in.Clean()
	if err == nil {
		err = d.applies.channels.Change(&after, &in.ChannelMembers)
	}
	if err == nil && d.hide { // whether it is parsed must not say whether a secret differs
		_, err = d.applies.channels.Types.Parse(after.Type, after.Config)
	}
	if err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	after.ManagedBy = d.managed(w.Key)
	secrets := d.applies.channels.Types.Secrets(after.Type)
	wanted := d.channelItem(&after, w.Key, secrets)
	var stored *project.Item
	note := ""
	if before != nil {
		stored = d.channelItem(before, w.Key, secrets)
		note = disabledNote(after.Enabled, in.Enabled.Given)
	} else {
		note = d.sameName(project.KindChannel, w.Key, after.Name)
	}
	d.pairUp(wanted, stored, note, func(members []string, _ project.ActionKind) {
		d.changes.Channels = append(d.changes.Channels, project.Edit[vigil.Channel]{Before: before, After: &after, Members: members})
		d.mailed = append(d.mailed, after)
	})
	return nil
}

func (d *decider) channelItem(c *vigil.Channel, key string, secrets secret.Fields) *project.Item {
	item := &project.Item{
		Kind: project.KindChannel, Key: key, ID: c.ID, Name: c.Name, Version: c.Version, Applied: c.AppliedVersion, Secrets: secrets,
		Members: project.Members{
			"name": c.Name, "type": string(c.Type), "config": configTree(c.Config), "enabled": c.Enabled, "labels": labelTree(c.Labels),
		},
	}
	if c.Fallback != uuid.Nil {
		item.Members[memberFallback] = d.label(project.KindChannel, c.Fallback)
	}
	return item
}

// configTree is a config as a changeset compares it.
func configTree(config json.RawMessage) any { return map[string]any(project.DecodeMembers(config)) }

func labelTree(labels vigil.Labels) any {
	members := make(map[string]any, len(labels))
	for name, value := range labels {
		members[name] = value
	}
	return members
}

func textTree[T ~string](texts []T) any {
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = string(text)
	}
	return items
}

// disabledNote says that a definition which was disabled by hand stays so.
func disabledNote(enabled, given bool) string {
	if enabled || given {
		return ""
	}
	return "disabled, and stays so: the files do not say enabled"
}

// sameName notes a definition that nothing manages and that has the same name as a new one.
func (d *decider) sameName(kind project.Kind, key, name string) string {
	note := func(id uuid.UUID, command string) string {
		return "a " + string(kind) + " of this name exists (" + shortID(id) + "): vigil adopt " + command + " " + shortID(id) +
			" --as " + d.body.Project + "/" + key
	}
	for i := range d.stored.inventory.Channels {
		if one := &d.stored.inventory.Channels[i]; kind == project.KindChannel && one.Name == name && d.free(one.ID, one.ManagedBy) {
			return note(one.ID, "channel")
		}
	}
	for i := range d.stored.inventory.Checks {
		if one := &d.stored.inventory.Checks[i]; kind == project.KindCheck && one.Name == name && d.free(one.ID, one.ManagedBy) {
			return note(one.ID, "check")
		}
	}
	return ""
}

func (d *decider) free(id uuid.UUID, by *vigil.ManagedBy) bool {
	return by == nil && !d.stored.adopted[id]
}

func (d *decider) wantCheck(w *project.Wanted) error {
	var in checks.CheckCreate
	id, exists := d.stored.own[project.KindCheck][w.Key]
	d.ids[project.KindCheck][w.Key] = id
	if _, given := w.Members["rules"]; given { // those of a check are definitions of their own
		d.problem(w.Path()+".rules", "is not a member that every check can have; write the rules below a check")
		delete(w.Members, "rules")
	}
	usable := d.read(w, &in, "interval", "rules")
	after := vigil.Check{OrgID: d.caller().Org.ID, Enabled: true, Simultaneous: true}
	var before *vigil.Check
	if exists {
		before = d.stored.checks[id]
		after = *before
	} else {
		var err error
		if after.ID, err = d.newID(project.KindCheck, w.Key); err != nil {
			return err
		}
	}
	if !usable {
		return nil
	}
	err := in.Clean(d.places)
	if err == nil {
		in.Fill()
		err = d.applies.checks.Change(&after, &in.CheckMembers, d.plan)
	}
	if err == nil && d.hide { // whether it is parsed must not say whether a secret differs
		err = d.applies.checks.Permit(&after)
	}
	if err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	if err := resource.Refuse(d.overloaded, resource.AddedLoad(cmpCheck(before), &after)...); err != nil {
		return err
	}
	after.ManagedBy = d.managed(w.Key)
	if before == nil && !d.verified {
		after.ExpiresAt = new(d.applies.checks.Now().Add(resource.UnverifiedDays * 24 * time.Hour).UTC())
	}
	d.pairCheck(w, before, &after, in.Enabled.Given)
	return nil
}

// cmpCheck returns the check before a change; a new one was not there.
func cmpCheck(before *vigil.Check) *vigil.Check {
	if before == nil {
		return &vigil.Check{}
	}
	return before
}

func (d *decider) pairCheck(w *project.Wanted, before, after *vigil.Check, enabledGiven bool) {
	types := d.applies.checks.Types
	secrets := types.Secrets(after.Type)
	wanted := checkItem(after, w.Key, secrets)
	var stored *project.Item
	note := ""
	if before != nil {
		stored = checkItem(before, w.Key, secrets)
		note = disabledNote(after.Enabled, enabledGiven)
		if before.Type != after.Type { // the secrets of the one type are not those of the other
			stored.Members["config"] = configTree(types.Secrets(before.Type).Mask(before.Config))
			wanted.Members["config"] = configTree(secrets.Mask(after.Config))
			wanted.Secrets = secret.Fields{}
		}
	} else {
		note = d.sameName(project.KindCheck, w.Key, after.Name)
	}
	d.pairUp(wanted, stored, note, func(members []string, _ project.ActionKind) {
		d.changes.Checks = append(d.changes.Checks, project.Edit[vigil.Check]{Before: before, After: after, Members: members})
	})
	d.stored.checks[after.ID] = after // for the names on status pages
}

func checkItem(c *vigil.Check, key string, secrets secret.Fields) *project.Item {
	return &project.Item{
		Kind: project.KindCheck, Key: key, ID: c.ID, Name: c.Name, Version: c.Version, Applied: c.AppliedVersion, Secrets: secrets,
		Members: project.Members{
			"name":                 c.Name,
			"type":                 string(c.Type),
			"config":               configTree(c.Config),
			"interval":             project.FormatSeconds(int64(c.Interval / time.Second)),
			"regions":              textTree(c.Regions),
			"simultaneous_regions": c.Simultaneous,
			"retry":                checks.RetryTree(c.Retry),
			"enabled":              c.Enabled,
			"labels":               labelTree(c.Labels),
			"evidence":             !c.NoEvidence,
		},
	}
}

// shortID returns the end of an id, which is random: ids begin with the time (RFC 9562, section
// 5.7), which objects that are made together share.
func shortID(id uuid.UUID) string { return id.String()[28:] }
