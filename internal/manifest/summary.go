// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
)

// Summary describes a resource of the document on one line: what a check probes, how
// often and from where; when a rule fires and which channels it notifies. It is empty for
// what is not in the document. The key of a rule is check/rule.
func (d *Document) Summary(kind, key string) string {
	defaults := d.root.get(defaultsSection)
	switch kind {
	case "check":
		return checkSummary(filled(d.root.get(checksSection).get(key), defaults.get("check")))
	case "rule":
		check, rule, _ := strings.Cut(key, "/")
		return ruleSummary(filled(d.root.get(checksSection).get(check).get(rulesSection).get(rule), defaults.get("rule")))
	case "channel":
		return word(filled(d.root.get(channelsSection).get(key), defaults.get("channel")), "type")
	case "status_page":
		return word(d.root.get(pagesSection).get(key), "title")
	case "subscription":
		one := d.root.get(subscriptionsSection).get(key)
		return word(one, "channel")
	case "maintenance":
		window := d.root.get(maintenanceSection).get(key)
		return strings.Join(slices.DeleteFunc([]string{
			word(window, "name"), word(window, "starts_at"), word(window, "rrule"), word(window, "cron"), word(window, "duration"),
		}, func(text string) bool { return text == "" }), ", ")
	}
	return ""
}

// word is a member that is no list or object, or "". What a variable stood for is not
// shown.
func word(n *node, name string) string {
	value := n.get(name)
	switch {
	case value == nil || value.kind == listKind || value.kind == objectKind:
		return ""
	}
	return value.shown()
}

func checkSummary(check *node) string {
	config := check.get("config")
	target := word(config, "url")
	for _, name := range []string{"host", "hostname", "domain"} {
		if target == "" {
			target = word(config, name)
			if port := word(config, "port"); target != "" && port != "" {
				target += ":" + port
			}
		}
	}
	var parts []string
	for _, part := range []struct{ before, text, after string }{
		{"", target, ""},
		{"every ", word(check, "interval"), ""},
		{"every ", word(check, "interval_seconds"), "s"},
		{"from ", texts(check.get("regions")), ""},
	} {
		if part.text != "" {
			parts = append(parts, part.before+part.text+part.after)
		}
	}
	return strings.Join(parts, " ")
}

func texts(list *node) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, item := range list.items {
		all = append(all, item.shown())
	}
	return strings.Join(all, ", ")
}

func ruleSummary(rule *node) string {
	condition := rule.get("condition")
	var parts []string
	for _, m := range condition.each() {
		text := m.name + " " + m.value.shown()
		switch m.name {
		case "failure_threshold":
			text = m.value.shown() + " failures in a row"
			if m.value.text == "1" {
				text = "1 failure"
			}
		case "recovery_threshold":
			text = "resolves after " + m.value.shown() + " good results"
			if m.value.text == "1" {
				text = "resolves after 1 good result"
			}
		case "response_time_ms":
			text = "slower than " + m.value.shown() + "ms"
		case "burn_rate":
			text = "burns the error budget of " + m.value.get("target_percentage").shown() + "% more than " +
				m.value.get("factor").shown() + " times as fast as it allows"
		case "ssl_days_remaining":
			text = "certificate ends within " + m.value.shown() + " days"
		case "severity":
			text = m.value.shown()
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if channels := texts(rule.get(channelsSection)); channels != "" {
		text += " -> " + channels
	}
	return text
}
