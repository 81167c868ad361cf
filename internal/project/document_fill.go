// SPDX-License-Identifier: Apache-2.0

package project

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Wanted is a definition of a document with its defaults filled in and its durations
// converted: its members are those of the API, except references.
type Wanted struct {
	Kind    Kind
	Key     string // in managed_by
	Members Members
}

// Path of the definition in the document.
func (w *Wanted) Path() string { return PathOf(w.Kind, w.Key) }

// Wanted returns the definitions of a document in the order in which they are applied, by
// kind and key, and the mistakes that were found on the way, 1,000 at most. A document whose
// defaults multiply it beyond 64 MiB has no definitions, and that mistake.
func (d *Document) Wanted() ([]Wanted, []Problem) {
	var p problems
	if d.filledSize() > maxFilledSize {
		p.add("defaults", "make the document larger than %d MiB, since every definition gets them; write less into them", maxFilledSize>>20)
		return nil, p.all
	}
	var all []Wanted
	add := func(kind Kind, key string, members Members) {
		filled := Fill(members, d.defaultsOf(kind, members))
		if kind != KindStatusPage {
			if _, named := filled["name"]; !named {
				filled["name"] = RuleKeyOf(key)
			}
		}
		convertDurations(&p, PathOf(kind, key), kind, filled)
		all = append(all, Wanted{Kind: kind, Key: key, Members: filled})
	}
	section := func(kind Kind, objects map[string]Members) {
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			add(kind, key, objects[key])
		}
	}
	section(KindChannel, d.Channels)
	section(KindCheck, d.Checks)
	for _, check := range slices.Sorted(maps.Keys(d.Rules)) {
		for _, rule := range slices.Sorted(maps.Keys(d.Rules[check])) {
			add(KindRule, RuleKey(check, rule), d.Rules[check][rule])
		}
	}
	section(KindStatusPage, d.StatusPages)
	section(KindMaintenance, d.Maintenance)
	section(KindSubscription, d.Subscriptions)
	d.MoreProblems += p.more
	return all, p.all
}

// maxFilledSize bounds what a document is with its defaults in every definition, in bytes as
// treeSize counts them.
const maxFilledSize = 64 << 20

// filledSize returns how large the definitions are with their defaults.
func (d *Document) filledSize() int {
	size := 0
	section := func(kind Kind, objects map[string]Members) {
		each := treeSize(d.Defaults[kind])
		for _, members := range objects {
			size += each + treeSize(members)
		}
	}
	section(KindChannel, d.Channels)
	section(KindCheck, d.Checks)
	for _, rules := range d.Rules {
		section(KindRule, rules)
	}
	section(KindStatusPage, d.StatusPages)
	section(KindMaintenance, d.Maintenance)
	section(KindSubscription, d.Subscriptions)
	return size
}

// treeSize is about how long a value is as JSON, in bytes.
func treeSize(node any) int {
	size := 8
	switch node := node.(type) {
	case string:
		size += len(node)
	case json.Number:
		size += len(node)
	case map[string]any:
		for name, value := range node {
			size += len(name) + treeSize(value)
		}
	case []any:
		for _, value := range node {
			size += treeSize(value)
		}
	}
	return size
}

// defaultsOf returns the defaults of a definition: those of a check that is not probed leave out how to
// probe.
func (d *Document) defaultsOf(kind Kind, members Members) Members {
	defaults := d.Defaults[kind]
	if kind != KindCheck || members["type"] != string(vigil.TypeHeartbeat) || len(defaults) == 0 {
		return defaults
	}
	defaults = maps.Clone(defaults)
	for _, name := range []string{"regions", "interval", "interval_seconds", "retry", "simultaneous_regions"} {
		delete(defaults, name)
	}
	return defaults
}

// Fill returns members with what they lack of the defaults: objects are merged, and anything
// else replaces its default. Neither argument is changed.
func Fill(given, defaults Members) Members {
	filled, _ := secret.CloneTree(given).(map[string]any)
	if filled == nil {
		filled = make(Members)
	}
	for name, value := range defaults {
		own, has := filled[name]
		if !has {
			filled[name] = secret.CloneTree(value)
			continue
		}
		if inner, ok := own.(map[string]any); ok {
			if below, ok := value.(map[string]any); ok {
				filled[name] = Fill(inner, below)
			}
		}
	}
	return filled
}

// convertDurations replaces the durations of a definition by members in seconds.
func convertDurations(p *problems, path string, kind Kind, members Members) {
	switch kind {
	case KindCheck:
		convertDuration(p, path, members, "interval")
		retry, _ := members["retry"].(map[string]any)
		convertDuration(p, path+".retry", retry, "delay")
		config, _ := members["config"].(map[string]any)
		convertDuration(p, path+".config", config, "timeout")
		steps, _ := config["steps"].([]any)
		for i, step := range steps {
			step, _ := step.(map[string]any)
			inner, _ := step["config"].(map[string]any)
			convertDuration(p, path+".config.steps["+strconv.Itoa(i)+"].config", inner, "timeout")
		}
	case KindMaintenance:
		convertDuration(p, path, members, "duration")
	case KindRule, KindChannel, KindStatusPage, KindSubscription:
	}
}

func convertDuration(p *problems, path string, members Members, name string) {
	value, given := members[name]
	if !given {
		return
	}
	delete(members, name)
	inSeconds := name + "_seconds"
	text, ok := value.(string)
	if !ok {
		p.add(path+"."+name, "must be a duration such as 30s, 5m or 1h30m; %s takes a number", inSeconds)
		members[inSeconds] = json.Number("60") // so that it is not missed as well
		return
	}
	if _, twice := members[inSeconds]; twice {
		p.add(path+"."+name, "says the same as %s; give one of them", inSeconds)
	}
	seconds, err := ParseSeconds(text)
	if err != nil {
		p.add(path+"."+name, "%s", err.Error())
		seconds = 60
	}
	members[inSeconds] = json.Number(strconv.FormatInt(seconds, 10))
}
