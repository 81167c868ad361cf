// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// leastRedacted is how many bytes the value of a variable must have to be looked for in texts:
// shorter ones are no secrets, and parts of many words.
const leastRedacted = 5

// redacted returns a text in which the values of variables are the variables again.
func (d *Document) redacted(text string) string {
	values := slices.SortedFunc(maps.Keys(d.values), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, value := range values {
		if len(value) >= leastRedacted {
			text = strings.ReplaceAll(text, value, d.values[value])
		}
	}
	return text
}

// ProjectAsWritten is the name of the project as the files have it.
func (d *Document) ProjectAsWritten() string {
	if project := d.root.get("project"); project != nil {
		return project.shown()
	}
	return d.Project
}

// Redacted returns a sentence of a server with the variables in place of their values.
func (d *Document) Redacted(sentence string) string { return d.redacted(sentence) }

// AsWritten returns a member of a resource as the files have it, with its variables, for a
// plan that people read. The path is that of the API, such as config.url or interval_seconds.
// It is false where no variable stands in the member, and nil where one may, and the files
// write the member in another way than the API. The key of a rule is check/rule.
func (d *Document) AsWritten(kind, key, path string) (value json.RawMessage, found bool) {
	from := d.resource(kind, key)
	if from == nil || !from.variable() {
		return nil, false
	}
	if kind == "rule" {
		path = strings.Replace(path, "notification_channel_ids", channelsSection, 1)
	}
	for path != "" {
		m, rest, ok := from.step(path)
		if !ok {
			return nil, from.variable()
		}
		from, path = m.value, rest
	}
	if !from.variable() {
		return nil, false
	}
	return from.asWritten().json(), true
}

// resource returns a resource with its defaults; nil for what is in no file.
func (d *Document) resource(kind, key string) *node {
	defaults := d.root.get(defaultsSection).get(kind)
	of := func(section string) *node { return d.root.get(section).get(key) }
	var from *node
	switch kind {
	case "check":
		from = of(checksSection)
	case "rule":
		check, rule, _ := strings.Cut(key, "/")
		from = d.root.get(checksSection).get(check).get(rulesSection).get(rule)
	case "channel":
		from = of(channelsSection)
	case "status_page":
		from = of(pagesSection)
	case "maintenance":
		from = of(maintenanceSection)
	case "subscription":
		from = of(subscriptionsSection)
	}
	if from == nil {
		return nil
	}
	return filled(from, defaults)
}
