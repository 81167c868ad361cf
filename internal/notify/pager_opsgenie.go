// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"net/url"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Addresses of the alert API of Opsgenie, and of the operations of Jira Service Management, which
// took it over. Opsgenie's organizations in the EU have https://api.eu.opsgenie.com.
const (
	defaultOpsgenie = "https://api.opsgenie.com"
	defaultJSM      = "https://api.atlassian.com/jsm/ops/integration"
)

// Bounds of an alert, in characters (docs.opsgenie.com/docs/alert-api, "Create Alert"). All details
// together have at most 8,000.
const (
	maxOpsgenieMessage     = 130
	maxOpsgenieDescription = 15000
	maxOpsgenieEntity      = 512
	maxOpsgenieDetail      = 500
	maxOpsgenieNote        = 25000
)

// opsgenieFormat creates and closes alerts by the alert API (docs.opsgenie.com/docs/alert-api), known
// by the incident as their alias. Requests are answered with 202 before they are done.
func opsgenieFormat() format[pagerConfig] {
	return opsgenieAt("opsgenie", "Opsgenie", defaultOpsgenie, "api.opsgenie.com", "api.eu.opsgenie.com")
}

// jsmFormat is opsgenieFormat at Jira Service Management (developer.atlassian.com, "Integration events
// API").
func jsmFormat() format[pagerConfig] {
	return opsgenieAt("jsm", "Jira Service Management", defaultJSM, "api.atlassian.com")
}

func opsgenieAt(name, title, server string, hosts ...string) format[pagerConfig] {
	return format[pagerConfig]{
		name: name, title: title, hosts: hosts, takes: []string{"api_key", "url"}, required: 1,
		build: func(env *environment, c *pagerConfig, hidden *redact.Redactor) (*poster, error) {
			if err := checkVisible("api_key", c.APIKey); err != nil {
				return nil, err
			}
			p, err := env.at("config.url", cmp.Or(c.URL, server), hidden, "v2/alerts")
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) {
				made, err := c.opsgenieCall(p.url, m)
				if err == nil {
					made.header.Set("Authorization", "GenieKey "+c.APIKey)
				}
				return made, err
			}
			return p, nil
		},
	}
}

// The members of requests of the alert API.
type (
	opsgenieAlert struct {
		Message     string            `json:"message"`
		Alias       string            `json:"alias"`
		Description string            `json:"description,omitempty"`
		Details     map[string]string `json:"details,omitempty"`
		Entity      string            `json:"entity,omitempty"`
		Source      string            `json:"source"`
		Priority    string            `json:"priority"`
	}
	opsgenieClose struct {
		Source string `json:"source"`
		Note   string `json:"note,omitempty"`
	}
)

func (c *pagerConfig) opsgenieCall(to *url.URL, m *Message) (call, error) {
	action := ""
	switch {
	case m.over():
		action = "close"
	case m.Type == vigil.EventAcknowledged:
		action = "acknowledge"
	}
	if action != "" {
		made, err := asJSON(opsgenieClose{Source: pagerSource, Note: cutCharacters(c.body(m, asIs), maxOpsgenieNote)})
		made.url = to.JoinPath(m.key(), action)
		made.url.RawQuery = "identifierType=alias"
		return made, err
	}
	title := c.title(m, asIs)
	if blank(title) {
		title = emptySummary
	}
	priority := map[vigil.Severity]string{vigil.Critical: "P1", vigil.Warning: "P3", vigil.Info: "P5"}[m.Severity]
	return asJSON(opsgenieAlert{
		Message: cutCharacters(title, maxOpsgenieMessage), Alias: m.key(),
		Description: cutCharacters(c.body(m, asIs), maxOpsgenieDescription), Details: m.details(maxOpsgenieDetail),
		Entity: cutCharacters(m.Variables["check_name"], maxOpsgenieEntity), Source: pagerSource, Priority: cmp.Or(priority, "P1"),
	})
}

// pagerSource is the sender, as pagers get it.
const pagerSource = "Vigil"

// emptySummary stands for a title that leaves nothing to read.
const emptySummary = "Vigil alert"

// details are the values of a message that people who are paged look for first.
func (m *Message) details(limit int) map[string]string {
	details := make(map[string]string)
	for _, name := range []string{
		"check_name", "check_type", "check_target", "region", "regions_down", "status_code", "failure_count", "rule_name", "severity",
		"organization_name", "incident_url",
	} {
		if value := m.Variables[name]; !blank(value) {
			details[name] = cutCharacters(value, limit)
		}
	}
	return details
}
