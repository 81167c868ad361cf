// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"slices"
)

// Trial is what is needed to run a check once without storing it.
type Trial struct {
	Key, Name, Type string
	Config          json.RawMessage
	Regions         []string
}

// Trials returns the checks of the document with the defaults filled in, in the order of
// the files.
func (d *Document) Trials() []Trial {
	defaults := d.root.get(defaultsSection).get("check")
	var trials []Trial
	for _, one := range d.root.get(checksSection).each() {
		check := filled(one.value, defaults)
		trial := Trial{Key: one.name, Name: one.name, Config: json.RawMessage("{}")}
		if name := check.get("name"); name != nil && name.kind == textKind {
			trial.Name = name.shown()
		}
		if kind := check.get("type"); kind != nil {
			trial.Type = kind.text
		}
		if config := check.get("config"); config != nil {
			trial.Config = config.json()
		}
		if regions := check.get("regions"); regions != nil {
			for _, region := range regions.items {
				trial.Regions = append(trial.Regions, region.text)
			}
		}
		trials = append(trials, trial)
	}
	return trials
}

// filled returns the whole document with the defaults filled in.
func (d *Document) filled() *node {
	defaults := d.root.get(defaultsSection)
	if defaults == nil {
		return d.root
	}
	kinds := map[string]string{
		channelsSection: "channel", checksSection: "check", maintenanceSection: "maintenance", pagesSection: "status_page", rulesSection: "rule",
		subscriptionsSection: "subscription",
	}
	root := newObject(d.root.at)
	for _, section := range d.root.members {
		if kind := kinds[section.name]; kind != "" && section.value.kind == objectKind {
			section.value = filledSection(section.value, defaults.get(kind), defaults.get("rule"))
		}
		root.add(section)
	}
	return root
}

// filledSection fills the resources of a section, and the rules of its checks.
func filledSection(section, defaults, ruleDefaults *node) *node {
	all := newObject(section.at)
	for _, one := range section.members {
		if _, ok := one.value.find(rulesSection); ok {
			check := newObject(one.value.at)
			for _, m := range one.value.members {
				if m.name == rulesSection && m.value.kind == objectKind {
					m.value = filledSection(m.value, ruleDefaults, nil)
				}
				check.add(m)
			}
			one.value = check
		}
		one.value = filled(one.value, defaults)
		all.add(one)
	}
	return all
}

// unprobed reports whether a member says how to probe, and the check is not probed.
func unprobed(check *node, name string) bool {
	kind := check.get("type")
	return kind != nil && kind.text == "heartbeat" &&
		slices.Contains([]string{"regions", "interval", "interval_seconds", "retry", "simultaneous_regions"}, name)
}

// filled returns an object with what it lacks of the defaults: objects are merged, and
// anything else replaces the default.
func filled(given, defaults *node) *node {
	if defaults == nil || given == nil || given.kind != objectKind || defaults.kind != objectKind {
		return given
	}
	merged := newObject(given.at)
	for _, m := range given.members {
		m.value = filled(m.value, defaults.get(m.name))
		merged.add(m)
	}
	for _, m := range defaults.members {
		if _, ok := given.find(m.name); !ok && !unprobed(given, m.name) {
			merged.add(m)
		}
	}
	return merged
}
