// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// firstRulePath is where the members of the first rule of a check stand in its form.
const firstRulePath = "rule."

// ruleView is the first rule of a check, as a sentence whose choices are controls.
type ruleView struct {
	Failures, Policy, Notify, Severity *field
	Field                              *field // names what is wrong with the channels
	Channels                           []ruleChannel
	Regions                            bool // it says in how many; a heartbeat has one
}

// ruleChannel is a channel to notify.
type ruleChannel struct {
	ID, Name string
	Chosen   bool
	Note     string // why it may not be notified
}

// usualFailures is how many failures in a row the first rule of a type begins with: a probe may fail by
// chance, while a job that did not run is what its heartbeat is for.
func usualFailures(kind string) string {
	if kind == kindHeartbeat {
		return "1"
	}
	return "2"
}

// beginRule fills in what a first rule begins with.
func beginRule(typed *sheet, kind string) {
	typed.Set(firstRulePath+"condition.failure_threshold", usualFailures(kind))
	typed.Set(firstRulePath+"region_policy", "majority")
	typed.Set(firstRulePath+"notify_on", "both")
	typed.Set(firstRulePath+"condition.severity", "critical")
}

// rule makes the sentence.
func (r *request) rule(f *form, typed *sheet, kind string) (*ruleView, error) {
	c := &checkForm{form: f, typed: typed}
	v := &ruleView{
		Regions:  kind != kindHeartbeat,
		Failures: c.input(field{Name: firstRulePath + "condition.failure_threshold", Label: "Failures in a row", Mode: "numeric"}),
		Policy: c.input(field{Name: firstRulePath + "region_policy", Label: "Regions", Type: "select", Options: words(
			"majority", "more than half", "any", "one", "all", "all",
		)}),
		Notify: c.input(field{Name: firstRulePath + "notify_on", Label: "When to notify", Type: "select", Options: words(
			"both", "again when it resolves", "unhealthy", "not when it resolves", "healthy", "only when it resolves",
		)}),
		Severity: c.input(field{Name: firstRulePath + "condition.severity", Label: "Severity", Type: "select", Options: words(
			"critical", "critical", "warning", "warning", "info", "info",
		)}),
		Field: &field{Name: firstRulePath + "notification_channel_ids", Label: "Channels", Type: "group"},
	}
	c.fields = append(c.fields, v.Field, &field{Name: "rule", Label: "Notify", Type: "group"})
	limit := int64(100)
	list, err := r.api.ListNotificationChannelsWithResponse(r.Context(), &client.ListNotificationChannelsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	for i := range list.JSON200.Data {
		known := &list.JSON200.Data[i]
		choice := ruleChannel{ID: known.Id.String(), Name: known.Name}
		choice.Chosen = slices.Contains(typed.Values[v.Field.Name], choice.ID)
		if !known.Enabled {
			choice.Note = "disabled"
		}
		v.Channels = append(v.Channels, choice)
	}
	return v, nil
}

// Errors lists the fields of the sentence that are wrong, to be named below it.
func (v *ruleView) Errors() []*field {
	return slices.DeleteFunc([]*field{v.Failures, v.Policy, v.Notify, v.Severity, v.Field}, func(f *field) bool { return f.Error == "" })
}

// firstRules returns the rule that the form says, as the API takes it; none when it names no channel.
func firstRules(typed *sheet) []map[string]any {
	if len(typed.Values[firstRulePath+"notification_channel_ids"]) == 0 {
		return nil
	}
	text := strings.TrimSpace(typed.Get(firstRulePath + "condition.failure_threshold"))
	failures, name := numberOf(text), "Failures in a row" // of a rule that is refused for their number
	switch {
	case text == "1":
		name = "A failure"
	case isNumber(text) && len(text) < len(name):
		name = text + " failures in a row"
	}
	return []map[string]any{{
		"name": name, "condition": map[string]any{"failure_threshold": failures, "severity": typed.Get(firstRulePath + "condition.severity")},
		"region_policy": typed.Get(firstRulePath + "region_policy"), "notify_on": typed.Get(firstRulePath + "notify_on"), ifOpenName: true,
		"notification_channel_ids": typed.Values[firstRulePath+"notification_channel_ids"],
	}}
}

// withoutForms leaves the accepted forms of the JSON, which is not written in a form, out of
// the API's message about a condition.
func withoutForms(message string) string {
	message, _, _ = strings.Cut(message, ". Accepted forms:")
	return message
}
