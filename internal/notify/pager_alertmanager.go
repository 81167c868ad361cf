// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// alertmanagerPath is where alerts are posted to.
const alertmanagerPath = "/api/v2/alerts"

// How long an alert fires when its end is not received: an Alertmanager that is not given an end resolves
// an alert after resolve_timeout, and expects it to be sent again until then. That of a test ends by itself.
const (
	alertmanagerSpan = 365 * 24 * time.Hour
	alertmanagerTest = 5 * time.Minute
)

// alertmanagerFormat posts alerts to an Alertmanager (prometheus.io/docs/alerting/latest/alerts_api). It
// knows an alert by its labels, so those are the ones that stay the same until the end; annotations
// have the rest.
func alertmanagerFormat() format[pagerConfig] {
	return format[pagerConfig]{
		name: "alertmanager", title: "Alertmanager", takes: []string{"url", "username", "api_key"}, required: 1,
		build: func(env *environment, c *pagerConfig, hidden *redact.Redactor) (*poster, error) {
			authorization := ""
			switch {
			case !visible(c.APIKey) && c.Username == "":
				return nil, vigil.Invalid("config.api_key", "must be made of printable characters without spaces")
			case strings.Contains(c.Username, ":"):
				return nil, vigil.Invalid("config.username", "must not have a colon")
			case c.Username != "":
				signed := egress.BasicCredentials(c.Username, c.APIKey)
				authorization, hidden = "Basic "+signed, hidden.With(signed)
			case c.APIKey != "":
				authorization = "Bearer " + c.APIKey
			}
			p, err := env.at("config.url", c.URL, hidden)
			if err != nil {
				return nil, err
			}
			if !strings.HasSuffix(p.url.Path, alertmanagerPath) {
				p.url = p.url.JoinPath(alertmanagerPath)
			}
			p.call = func(m *Message) (call, error) {
				made, err := asJSON([]alertmanagerAlert{c.alertmanagerAlert(m)})
				if err == nil && authorization != "" {
					made.header.Set("Authorization", authorization)
				}
				return made, err
			}
			return p, nil
		},
	}
}

// alertmanagerAlert has the members of an alert of the API v2.
type alertmanagerAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func (c *pagerConfig) alertmanagerAlert(m *Message) alertmanagerAlert {
	alert := alertmanagerAlert{
		Labels: map[string]string{
			"alertname": "VigilIncident", "incident_id": m.key(), "severity": cmp.Or(string(m.Severity), string(vigil.Critical)),
		},
		Annotations: m.details(maxSummary),
		StartsAt:    m.Time.UTC().Format(time.RFC3339), GeneratorURL: link(m),
	}
	if id := m.Variables["check_id"]; !blank(id) {
		alert.Labels["check_id"] = singleLine(id)
	}
	for name, text := range map[string]string{"summary": c.title(m, asIs), "description": c.body(m, asIs)} {
		if !blank(text) {
			alert.Annotations[name] = text
		}
	}
	ends := m.Time.Add(alertmanagerSpan)
	switch {
	case m.over():
		ends = m.Time
		if began, err := time.Parse(time.RFC3339, m.Variables["started_at"]); err == nil && began.Before(ends) {
			alert.StartsAt = began.UTC().Format(time.RFC3339)
		}
	case m.Type == vigil.EventTest:
		ends = m.Time.Add(alertmanagerTest)
	}
	alert.EndsAt = ends.UTC().Format(time.RFC3339)
	return alert
}
