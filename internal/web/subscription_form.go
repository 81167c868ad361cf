// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// subscriptionForm is the form of a subscription.
type subscriptionForm struct {
	*form
}

// subscriptionBody is what the page of a subscription shows.
type subscriptionBody struct {
	Form           *subscriptionForm
	Title          string
	Action, Button string
	Delete         string // address; empty for a new one
	Revision       int64
	Badge          *badge
	Events         []option
	Checks         []option
}

// newSubscriptionForm declares the form with what is stored; nil for a new subscription.
func newSubscriptionForm(r *request, one *client.Subscription) *subscriptionForm {
	f := &subscriptionForm{form: newForm(r)}
	stored := client.Subscription{Enabled: true}
	if one != nil {
		stored = *one
	} else {
		f.Heading = "Not created yet."
	}
	f.add(field{Name: "name", Label: "Name", Value: stored.Name, Required: true, Focus: one == nil, Placeholder: "Everything of the shop"})
	channel := ""
	if one != nil {
		channel = stored.ChannelId.String()
	}
	f.add(field{Name: "channel_id", Label: "Channel", Type: "select", Value: channel})
	f.add(field{Name: "events", Label: "Events"})
	labels, severity := "", ""
	if stored.Selector.Labels != nil {
		labels = strings.Join(*stored.Selector.Labels, "\n")
	}
	if stored.Selector.SeverityMin != nil {
		severity = string(*stored.Selector.SeverityMin)
	}
	f.add(field{
		Name: "selector.labels", Label: "Checks with all of these labels", Type: "textarea", Rows: 2, Value: labels, Mono: true,
		Placeholder: "team=payments", Help: "One key or key=value a line. Checks that get the labels later are selected too.",
	})
	f.add(field{Name: "selector.severity_min", Label: "Least severity", Type: "select", Value: severity, Options: []option{
		{Text: "any"}, {Value: "info", Text: "info"}, {Value: "warning", Text: "warning"}, {Value: "critical", Text: "critical"},
	}})
	f.add(field{
		Name: "named", Label: "Only the checks that are chosen below", Type: "checkbox", Checked: stored.Selector.CheckIds != nil,
	})
	f.add(field{Name: "selector", Label: "Which events"})
	f.add(field{Name: "enabled", Label: "In force", Type: "checkbox", Checked: stored.Enabled})
	return f
}

// channel is the chosen channel. What is no id is said in the form.
func (f *subscriptionForm) channel() (uuid.UUID, error) {
	id, err := uuid.Parse(f.get("channel_id"))
	if err != nil {
		f.Status = http.StatusUnprocessableEntity
		f.reject("channel_id", "must be a channel; create one first")
	}
	return id, err
}

func (f *subscriptionForm) createEvents() []client.SubscriptionCreateEvents {
	events := []client.SubscriptionCreateEvents{}
	for _, event := range f.values["event"] {
		events = append(events, client.SubscriptionCreateEvents(event))
	}
	return events
}

func (f *subscriptionForm) updateEvents() []client.SubscriptionUpdateEvents {
	events := []client.SubscriptionUpdateEvents{}
	for _, event := range f.values["event"] {
		events = append(events, client.SubscriptionUpdateEvents(event))
	}
	return events
}

// selector is what was posted about the events.
func (f *subscriptionForm) selector() client.SubscriptionSelector {
	labels := []string{}
	for line := range strings.FieldsFuncSeq(f.get("selector.labels"), func(r rune) bool { return r == '\n' || r == '\r' || r == ',' }) {
		if line = strings.TrimSpace(line); line != "" {
			labels = append(labels, line)
		}
	}
	selector := client.SubscriptionSelector{Labels: &labels}
	if f.values.Has("named") {
		selector.CheckIds = of(append([]string{}, f.values["check"]...))
	}
	if severity := f.get("selector.severity_min"); severity != "" {
		selector.SeverityMin = of(client.SubscriptionSelectorSeverityMin(severity))
	}
	return selector
}

func (s *Server) renderSubscription(r *request, one *client.Subscription, f *subscriptionForm) error {
	body := &subscriptionBody{Form: f, Title: "New subscription", Action: "/app/subscriptions", Button: "Create subscription"}
	chosen, events := []string(nil), []string{"incident.*"}
	if one != nil {
		row := subscriptionRowOf(one, nil)
		body.Title, body.Action, body.Button, body.Delete, body.Revision = one.Name, row.Href, "Save", row.Href+"/delete", one.Revision
		body.Badge, events = &badge{State: row.Mark.State, Text: row.Mark.Word}, one.Events
		if one.Selector.CheckIds != nil {
			chosen = *one.Selector.CheckIds
		}
	}
	if f.values != nil {
		chosen, events = f.values["check"], f.values["event"]
	}
	for _, pattern := range subscription.EventPatterns() {
		body.Events = append(body.Events, option{Value: pattern, Text: pattern, Chosen: slices.Contains(events, pattern)})
	}
	channels, err := r.subscribable()
	if err != nil {
		return err
	}
	field, err := f.Field("channel_id")
	if err != nil {
		return err
	}
	for k := range channels {
		id := channels[k].Id.String()
		field.Options = append(field.Options, option{Value: id, Text: channels[k].Name, Chosen: id == field.Value})
	}
	if known := func(o option) bool { return o.Value == field.Value }; field.Value != "" && !slices.ContainsFunc(field.Options, known) {
		field.Options = append(field.Options, option{Value: field.Value, Text: field.Value, Chosen: true})
	}
	if body.Checks, err = r.offerChecks(chosen); err != nil {
		return err
	}
	return r.render(f.Status, "subscription", page{Title: body.Title, Nav: navSubscriptions, Body: body})
}
