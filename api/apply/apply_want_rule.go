// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/internal/project"
)

func (d *decider) wantRule(w *project.Wanted) error {
	checkKey, _, _ := strings.Cut(w.Key, "/")
	check := d.ids[project.KindCheck][checkKey]
	id, exists := d.stored.own[project.KindRule][w.Key]
	after := vigil.Rule{OrgID: d.caller().Org.ID, CheckID: check, NotifyOn: vigil.NotifyUnhealthy, Policy: vigil.AnyRegion, Enabled: true}
	var before *vigil.Rule
	if exists {
		before = d.stored.rules[id]
		enabled := before.Enabled
		after = *before
		after.NotifyOn, after.Policy, after.Enabled, after.Labels = vigil.NotifyUnhealthy, vigil.AnyRegion, enabled, nil
		after.NotifyIfOpen, after.Unobserved = false, vigil.UnobservedIgnore
		if before.CheckID != check {
			d.problem(w.Path(), "is a rule of another check already; release or delete it first")
			return nil
		}
	} else {
		var err error
		if after.ID, err = d.newID(project.KindRule, w.Key); err != nil {
			return err
		}
	}
	channels, found := d.channelsOf(w)
	var in checks.AlertRuleCreate
	given := maps.Clone(w.Members)
	delete(w.Members, memberChannels)
	if !found {
		channels = []uuid.UUID{after.ID} // what is wrong with them is known; the other members are still read
	}
	w.Members[memberChannelIDs] = textTree(idTexts(channels))
	usable := d.read(w, &in, memberChannels)
	w.Members = given
	if !usable || !found {
		return nil
	}
	err := in.Clean()
	if err == nil {
		after.Condition, err = in.ConditionInput().Resolve(nil)
	}
	if err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	in.Apply(&after)
	after.ManagedBy = d.managed(w.Key)
	item := func(r *vigil.Rule) *project.Item { return d.ruleItem(r, w.Key) }
	pairChange(d, &d.changes.Rules, before, &after, item, disabledNote(after.Enabled, in.Enabled.Given))
	return nil
}

func idTexts(ids []uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}

func (d *decider) ruleItem(r *vigil.Rule, key string) *project.Item {
	condition, err := json.Marshal(r.Condition)
	if err != nil {
		condition = nil // a condition can be written
	}
	channels := make([]string, len(r.Channels))
	for i, id := range r.Channels {
		channels[i] = d.label(project.KindChannel, id)
	}
	return &project.Item{
		Kind: project.KindRule, Key: key, ID: r.ID, Name: r.Name, Version: r.Version, Applied: r.AppliedVersion,
		Members: project.Members{
			"name": r.Name, "condition": configTree(condition), "channels": textTree(channels), "notify_on": string(r.NotifyOn),
			"notify_if_open": r.NotifyIfOpen, "unobserved": string(cmp.Or(r.Unobserved, vigil.UnobservedIgnore)),
			"region_policy": string(r.Policy), "enabled": r.Enabled, "labels": labelTree(r.Labels),
		},
	}
}

// label names a definition as a file refers to it: by its key in the project, or by its id.
func (d *decider) label(kind project.Kind, id uuid.UUID) string {
	if d.labels == nil {
		d.labels = make(map[uuid.UUID]string)
	}
	if known := d.labels[id]; known != "" {
		return known
	}
	label := "id:" + id.String()
	for key, other := range d.ids[kind] {
		if other == id {
			label = key
		}
	}
	d.labels[id] = label
	return label
}

// channelsOf resolves the channels of a rule, and reports whether all of them were found.
// A rule may also have the ids of the API instead.
func (d *decider) channelsOf(w *project.Wanted) (ids []uuid.UUID, found bool) {
	path := w.Path() + "." + memberChannels
	value, given := w.Members[memberChannels]
	list, isList := value.([]any)
	_, both := w.Members[memberChannelIDs]
	switch {
	case both && given:
		d.problem(path, "says the same as %s; give one of them", memberChannelIDs)
		return nil, false
	case both:
		return d.channelsByID(w)
	case !given:
		d.problem(path, "is required: the channels that the rule notifies")
		return nil, false
	case !isList || len(list) == 0:
		d.problem(path, "must be a list of channels, with at least one")
		return nil, false
	}
	found = true
	for i, item := range list {
		id, ok := d.refer(project.KindChannel, item, path+"["+strconv.Itoa(i)+"]")
		found = found && ok
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, found
}

func (d *decider) channelsByID(w *project.Wanted) (ids []uuid.UUID, found bool) {
	for i, text := range texts(w.Members[memberChannelIDs]) {
		id, ok := d.refer(project.KindChannel, "id:"+text, w.Path()+"."+memberChannelIDs+"["+strconv.Itoa(i)+"]")
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// refer resolves a reference, or adds what is wrong with it.
func (d *decider) refer(kind project.Kind, item any, path string) (uuid.UUID, bool) {
	text, ok := item.(string)
	if !ok {
		d.problem(path, "must be a string")
		return uuid.Nil, false
	}
	ref, err := project.ParseReference(text)
	if err != nil {
		d.problem(path, "%s", err.Error())
		return uuid.Nil, false
	}
	switch {
	case ref.Key != "":
		id, inDocument := d.ids[kind][ref.Key]
		if !inDocument {
			d.problem(path, "no %s has the key %q in the document%s", kind, ref.Key, project.Meant(ref.Key, slices.Collect(maps.Keys(d.ids[kind]))))
		}
		return id, inDocument
	case ref.ID != uuid.Nil:
		if _, known := d.stored.manager(kind, ref.ID); !known {
			d.problem(path, "is not a %s of this organization", kind)
			return uuid.Nil, false
		}
		return ref.ID, true
	}
	return d.byName(kind, ref.Name, path)
}

// names returns the names of the channels or checks that can be referred to, as they will
// be afterwards.
func (d *decider) names(kind project.Kind) map[uuid.UUID]string {
	if known := d.known[kind]; known != nil {
		return known
	}
	names := make(map[uuid.UUID]string)
	if kind == project.KindChannel {
		for i := range d.stored.inventory.Channels {
			names[d.stored.inventory.Channels[i].ID] = d.stored.inventory.Channels[i].Name
		}
	} else {
		for i := range d.stored.inventory.Checks {
			names[d.stored.inventory.Checks[i].ID] = d.stored.inventory.Checks[i].Name
		}
	}
	for i := range d.wanted {
		if one := &d.wanted[i]; one.Kind == kind {
			text, _ := one.Members["name"].(string)
			names[d.ids[kind][one.Key]] = strings.TrimSpace(text)
		}
	}
	if d.known == nil {
		d.known = make(map[project.Kind]map[uuid.UUID]string)
	}
	d.known[kind] = names
	return names
}

func (d *decider) byName(kind project.Kind, name, path string) (uuid.UUID, bool) {
	var matches []uuid.UUID
	for id, other := range d.names(kind) {
		if other == name {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 0:
		d.problem(path, "no %s of this organization has the name %q", kind, name)
		return uuid.Nil, false
	case 1:
		return matches[0], true
	}
	d.problem(path, "%d %ss have the name %q; refer to one by \"id:\" and its id", len(matches), kind, name)
	return uuid.Nil, false
}
