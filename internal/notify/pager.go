// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultPager is the public address of PagerDuty's Events API v2.
const defaultPager = "https://events.pagerduty.com/v2/enqueue"

// maxSummary bounds the summary of an alert, in bytes (PagerDuty's, in
// characters).
const maxSummary = 1024

var _ = register(newPager)

// newPager makes the channel type that speaks PagerDuty's Events API v2.
func newPager(env *environment) Notifier { return pagerType{env} }

type pagerType struct{ *environment }

// pagerConfig is the config of a pager (spec section 2).
type pagerConfig struct {
	RoutingKey string `json:"routing_key" secret:"true" minLength:"1" maxLength:"255" doc:"Integration key of the service to page."`
	URL        string `json:"url,omitempty" place:"url" secret:"query" maxLength:"2048" format:"uri" default:"https://events.pagerduty.com/v2/enqueue" doc:"Address of the Events API v2."`
	Wording
}

func (pagerType) Type() vigil.ChannelType { return vigil.ChannelPager }
func (pagerType) Documents() any          { return pagerConfig{} }

// Policy: an incident that has ended must not page anyone. An alert is resolved where it was
// triggered: receivers know it by the key.
func (pagerType) Policy() Policy {
	return Policy{MaxAttempts: 6, LateOpening: vigil.LateOpeningDrop, Address: "routing_key url"}
}

// Parse reads the config.
func (t pagerType) Parse(given json.RawMessage) (Sender, error) {
	p := &pager{environment: t.environment}
	hidden, err := t.read(t.Type(), given, &p.config)
	if err != nil {
		return nil, err
	}
	if !visible(p.config.RoutingKey) {
		return nil, vigil.Invalid("config.routing_key", "must be made of printable characters without spaces")
	}
	if p.url, err = t.parseURL("config.url", cmp.Or(p.config.URL, defaultPager)); err != nil {
		return nil, err
	}
	p.hidden = hidden
	if p.url.String() != defaultPager {
		p.hidden = hidden.With(pathTexts(p.url)...)
	}
	return p, p.config.check()
}

type pager struct {
	*environment

	config pagerConfig
	url    *url.URL
	hidden *redact.Redactor
}

func (p *pager) Target() string { return p.url.Host }

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

// Send triggers or resolves the alert of an incident. A test triggers one of
// its own, of the lowest severity.
func (p *pager) Send(ctx context.Context, m Message) Outcome {
	encoded, err := json.Marshal(p.event(&m))
	if err != nil {
		return Unusable(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return p.send(ctx, request{method: http.MethodPost, url: p.url, header: header, body: encoded, hidden: p.hidden})
}

func (p *pager) event(m *Message) pagerEvent {
	event := pagerEvent{RoutingKey: p.config.RoutingKey, EventAction: "trigger", DedupKey: m.Incident.String(), Client: "Vigil"}
	if m.Incident == uuid.Nil {
		event.DedupKey = m.Event.String()
	}
	if m.over() {
		event.EventAction = "resolve"
		return event
	}
	event.ClientURL = m.Variables["incident_url"]
	details := make(map[string]string)
	for name, value := range m.Variables {
		if value != "" {
			details[name] = value
		}
	}
	if text := p.config.body(m, asIs); text != "" {
		details["message"] = text
	}
	event.Payload = &pagerPayload{
		Summary:       cut(cmp.Or(p.config.title(m, asIs), "Vigil alert"), maxSummary),
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
