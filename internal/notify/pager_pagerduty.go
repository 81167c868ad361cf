// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultPager is the public address of PagerDuty's Events API v2.
const defaultPager = "https://events.pagerduty.com/v2/enqueue"

// maxSummary bounds the summary of an alert, in bytes (PagerDuty's, in
// characters).
const maxSummary = 1024

// pagerDutyFormat triggers and resolves alerts by the Events API v2
// (developer.pagerduty.com, "Send an Alert Event").
func pagerDutyFormat() format[pagerConfig] {
	return format[pagerConfig]{
		name:     "pagerduty",
		title:    "PagerDuty",
		hosts:    []string{"events.pagerduty.com", "events.eu.pagerduty.com"},
		takes:    []string{"routing_key", "url"},
		required: 1,
		build: func(env *environment, c *pagerConfig, hidden *redact.Redactor) (*poster, error) {
			if err := checkVisible("routing_key", c.RoutingKey); err != nil {
				return nil, err
			}
			u, err := env.parseURL("config.url", cmp.Or(c.URL, defaultPager))
			if err != nil {
				return nil, err
			}
			if u.String() != defaultPager {
				hidden = hidden.With(pathTexts(u)...)
			}
			return &poster{environment: env, url: u, hidden: hidden, call: func(m *Message) (call, error) {
				encoded, err := json.Marshal(c.pagerDutyEvent(m))
				return call{header: http.Header{"Content-Type": {contentJSON}}, body: encoded}, err
			}}, nil
		},
	}
}

// The members of an event of the Events API v2.
type (
	pagerEvent struct {
		RoutingKey  string        `json:"routing_key"`
		EventAction string        `json:"event_action"`
		DedupKey    string        `json:"dedup_key"`
		Client      string        `json:"client,omitempty"`
		ClientURL   string        `json:"client_url,omitempty"`
		Payload     *pagerPayload `json:"payload,omitempty"`
	}
	pagerPayload struct {
		Summary       string            `json:"summary"`
		Source        string            `json:"source"`
		Severity      string            `json:"severity"`
		Timestamp     string            `json:"timestamp"`
		Component     string            `json:"component,omitempty"`
		Group         string            `json:"group,omitempty"`
		Class         string            `json:"class,omitempty"`
		CustomDetails map[string]string `json:"custom_details,omitempty"`
	}
)

// pagerDutyEvent triggers, acknowledges or resolves the alert of an incident. A test triggers one of its own,
// of the lowest severity.
func (c *pagerConfig) pagerDutyEvent(m *Message) pagerEvent {
	event := pagerEvent{RoutingKey: c.RoutingKey, EventAction: "trigger", DedupKey: m.key(), Client: "Vigil"}
	if m.over() {
		event.EventAction = "resolve"
		return event
	}
	if m.Type == vigil.EventAcknowledged {
		event.EventAction = "acknowledge"
		return event
	}
	event.ClientURL = m.Variables["incident_url"]
	details := make(map[string]string)
	for name, value := range m.Variables {
		if value != "" {
			details[name] = value
		}
	}
	if text := c.body(m, asIs); text != "" {
		details["message"] = text
	}
	event.Payload = &pagerPayload{
		Summary:       cut(cmp.Or(c.title(m, asIs), "Vigil alert"), maxSummary),
		Source:        cmp.Or(m.Variables["check_target"], m.Variables["check_name"], "vigil"),
		Severity:      cmp.Or(string(m.Severity), string(vigil.Critical)),
		Timestamp:     m.Time.UTC().Format(time.RFC3339),
		Component:     m.Variables["check_name"],
		Group:         m.Variables["organization_name"],
		Class:         m.Variables["check_type"],
		CustomDetails: details,
	}
	return event
}
