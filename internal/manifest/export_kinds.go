// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"maps"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// Each kind of resource as the files have it.

func (e *exporter) channel(x exported, path string) object {
	if fallback := text(x.members, "fallback_channel_id"); fallback != "" {
		x.members["fallback_channel"] = referenceOf(fallback, e.channels)
	}
	delete(x.members, "fallback_channel_id")
	return e.resource(channelsSection, x, path, "name", "type", "enabled", "labels", "fallback_channel", "config")
}

func (e *exporter) check(x exported, path string, rules []exported) object {
	e.duration(x, "interval")
	e.retry(x)
	written := e.resource(
		checksSection, x, path, "name", "type", "enabled", "interval", "regions", "simultaneous_regions", "retry", "evidence", "labels",
		"config",
	)
	var own object
	for _, rule := range rules {
		if text(rule.members, "check_id") == x.id {
			key := project.RuleKeyOf(rule.key)
			own = append(own, objectMember{key, e.rule(rule, path+"."+rulesSection+"."+key)})
		}
	}
	if own != nil {
		written = append(written, objectMember{rulesSection, own})
	}
	return written
}

func (e *exporter) rule(x exported, path string) object {
	x.members[channelsSection] = references(x.members["notification_channel_ids"], e.channels)
	delete(x.members, "notification_channel_ids")
	return e.resource(
		rulesSection,
		x,
		path,
		"name",
		"enabled",
		"condition",
		"region_policy",
		"notify_on",
		"notify_if_open",
		"unobserved",
		channelsSection,
		"labels",
	)
}

func (e *exporter) window(x exported, path string) object {
	e.duration(x, "duration")
	if scope, ok := x.members["scope"].(map[string]any); ok {
		if ids, ok := scope["check_ids"]; ok {
			scope[checksSection] = references(ids, e.checks)
			delete(scope, "check_ids")
		}
		maps.DeleteFunc(scope, func(_ string, value any) bool { return isEmpty(value) || value == false })
	}
	return e.resource(maintenanceSection, x, path, "name", "scope", "starts_at", "timezone", "duration", "rrule", "cron")
}

func (e *exporter) subscription(x exported, path string) object {
	x.members["channel"] = referenceOf(text(x.members, "channel_id"), e.channels)
	delete(x.members, "channel_id")
	if selector, ok := x.members["selector"].(map[string]any); ok {
		if ids, ok := selector["check_ids"]; ok { // also an empty list, which selects no check
			selector[checksSection] = references(ids, e.checks)
			delete(selector, "check_ids")
		}
	}
	return e.resource(subscriptionsSection, x, path, "name", "channel", "events", "selector", "enabled")
}

func (e *exporter) page(x exported, path string) object {
	groups, _ := x.members["groups"].([]any)
	var written []any
	for _, one := range groups {
		if group, ok := one.(map[string]any); ok {
			written = append(written, e.group(group))
		}
	}
	x.members["groups"] = written
	return e.resource(pagesSection, x, path, "slug", "title", "enabled", "noindex", "accent", "host", "response_times",
		"subscriptions", "groups")
}

// group names its checks by their keys. A check with a public name keeps it.
func (e *exporter) group(group map[string]any) any {
	checks, _ := group[checksSection].([]any)
	var named []any
	for _, one := range checks {
		check, _ := one.(map[string]any)
		if check == nil {
			named = append(named, one)
			continue
		}
		reference := referenceOf(text(check, "check_id"), e.checks)
		delete(check, "check_id")
		maps.DeleteFunc(check, func(_ string, value any) bool { return isEmpty(value) })
		if len(check) == 0 {
			named = append(named, reference)
			continue
		}
		check["check"] = reference
		named = append(named, check)
	}
	group[checksSection] = named
	return group
}

// references names what ids lead to.
func references(ids any, keys map[string]string) []any {
	list, _ := ids.([]any)
	named := make([]any, len(list))
	for i, id := range list {
		id, _ := id.(string)
		named[i] = referenceOf(id, keys)
	}
	return named
}

// referenceOf names an object by its key, or by its id when it is not exported.
func referenceOf(id string, keys map[string]string) string {
	if key := keys[id]; key != "" {
		return key
	}
	return "id:" + id
}

// retry leaves the members out that say what a check without them does.
func (e *exporter) retry(x exported) {
	retry, ok := x.members["retry"].(map[string]any)
	if !ok {
		return
	}
	e.duration(exported{members: retry}, "delay")
	maps.DeleteFunc(retry, func(_ string, value any) bool {
		return value == json.Number("0") || value == "0s" || value == string(vigil.RetryAny) || value == false
	})
}

// duration replaces a number of seconds by a duration.
func (e *exporter) duration(x exported, name string) {
	number, ok := x.members[name+"_seconds"].(json.Number)
	if !ok {
		return
	}
	if seconds, err := number.Int64(); err == nil {
		x.members[name] = project.FormatSeconds(seconds)
		delete(x.members, name+"_seconds")
	}
}
