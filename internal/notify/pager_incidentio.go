// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"github.com/vigil-monitor/vigil/internal/redact"
)

// incidentIOFormat posts alert events to an HTTP source of incident.io (docs.incident.io/api-reference,
// "Alert events v2"): its address, and its token. The description is Markdown.
func incidentIOFormat() format[pagerConfig] {
	return format[pagerConfig]{
		name: "incident_io", title: "incident.io", hosts: []string{"api.incident.io"}, takes: []string{"url", "api_key"}, required: 2,
		build: func(env *environment, c *pagerConfig, hidden *redact.Redactor) (*poster, error) {
			if err := checkVisible("api_key", c.APIKey); err != nil {
				return nil, err
			}
			p, err := env.at("config.url", c.URL, hidden)
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) {
				made, err := asJSON(c.incidentIOEvent(m))
				if err == nil {
					made.header.Set("Authorization", "Bearer "+c.APIKey)
				}
				return made, err
			}
			return p, nil
		},
	}
}

// incidentIOEvent has the members of an alert event.
type incidentIOEvent struct {
	Title            string            `json:"title"`
	Description      string            `json:"description,omitempty"`
	DeduplicationKey string            `json:"deduplication_key"`
	Status           string            `json:"status"`
	SourceURL        string            `json:"source_url,omitempty"`
	Metadata         map[string]string `json:"metadata,omitempty"`
}

func (c *pagerConfig) incidentIOEvent(m *Message) incidentIOEvent {
	event := incidentIOEvent{
		Title: c.title(m, asIs), Description: c.body(m, escapeMarkdown), DeduplicationKey: m.key(), Status: "firing", SourceURL: link(m),
		Metadata: m.details(maxSummary),
	}
	if blank(event.Title) {
		event.Title = emptySummary
	}
	if m.over() {
		event.Status = "resolved"
	}
	return event
}
