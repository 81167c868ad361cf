// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultSplunk is the public address of the REST endpoint, without key and routing key.
const defaultSplunk = "https://alert.victorops.com/integrations/generic/20131114/alert"

// Bounds of an alert, in bytes (help.splunk.com, "Incident fields glossary": 20 KB of state_message).
const (
	maxSplunkMessage = 20 << 10
	maxSplunkName    = 512
)

// splunkFormat triggers and resolves incidents by the REST endpoint of Splunk On-Call (help.splunk.com,
// "REST Endpoint integration for Splunk On-Call"). The key of the integration and the routing key are
// parts of the address.
func splunkFormat() format[pagerConfig] {
	return format[pagerConfig]{
		name:     "splunk_oncall",
		title:    "Splunk On-Call",
		hosts:    []string{"alert.victorops.com"},
		takes:    []string{"api_key", "routing_key", "url"},
		required: 2,
		build: func(env *environment, c *pagerConfig, hidden *redact.Redactor) (*poster, error) {
			for member, text := range map[string]string{"api_key": c.APIKey, "routing_key": c.RoutingKey} {
				if !visible(text) || strings.ContainsAny(text, "/?#%") || strings.Trim(text, ".") == "" {
					return nil, vigil.Invalid("config."+member, "must be a part of an address: printable characters without spaces and /?#%%")
				}
			}
			p, err := env.at("config.url", cmp.Or(c.URL, defaultSplunk), hidden, c.APIKey, c.RoutingKey)
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) { return asJSON(c.splunkAlert(m)) }
			return p, nil
		},
	}
}

// splunkAlert has the members of an alert.
type splunkAlert struct {
	MessageType       string `json:"message_type"`
	EntityID          string `json:"entity_id"`
	EntityDisplayName string `json:"entity_display_name"`
	StateMessage      string `json:"state_message,omitempty"`
	StateStartTime    int64  `json:"state_start_time"`
	MonitoringTool    string `json:"monitoring_tool"`
	AlertURL          string `json:"alert_url,omitempty"`
}

func (c *pagerConfig) splunkAlert(m *Message) splunkAlert {
	alert := splunkAlert{
		MessageType: "CRITICAL", EntityID: m.key(), EntityDisplayName: cut(c.title(m, asIs), maxSplunkName),
		StateMessage: cut(c.body(m, asIs), maxSplunkMessage), StateStartTime: m.Time.Unix(), MonitoringTool: pagerSource, AlertURL: link(m),
	}
	if blank(alert.EntityDisplayName) {
		alert.EntityDisplayName = emptySummary
	}
	switch {
	case m.over():
		alert.MessageType = "RECOVERY"
	case m.Type == vigil.EventAcknowledged:
		alert.MessageType = "ACKNOWLEDGEMENT"
	case m.Severity == vigil.Warning:
		alert.MessageType = "WARNING"
	case m.Severity == vigil.Info:
		alert.MessageType = "INFO"
	}
	return alert
}
