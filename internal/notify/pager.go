// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

var _ = register(newPager)

// newPager makes the channel type that pages people by a service for that.
func newPager(env *environment) Notifier { return pagerType{env} }

type pagerType struct{ *environment }

// pagerConfig is the config of a pager (spec section 2). Which members there are depends on
// the format.
type pagerConfig struct {
	Format     string `json:"format,omitempty" title:"Format" place:"text" enum:"pagerduty,opsgenie,jsm,incident_io,alertmanager,splunk_oncall" doc:"Form of the alerts. Without it, the host of url says those that have one of their own; anything else is pagerduty, whose form several products take." example:"pagerduty"`
	RoutingKey string `json:"routing_key,omitempty" title:"Integration key" secret:"true" minLength:"1" maxLength:"255" doc:"Integration key of the service to page."`
	URL        string `json:"url,omitempty" title:"Address" place:"url" secret:"query" maxLength:"2048" format:"uri" default:"https://events.pagerduty.com/v2/enqueue" doc:"Address of the Events API v2, or of what the format names; those of opsgenie, jsm and splunk_oncall have a default as well."`
	APIKey     string `json:"api_key,omitempty" title:"API key" secret:"true" minLength:"1" maxLength:"1024" doc:"Key of the integration of opsgenie, jsm or splunk_oncall, token of the alert source of incident_io, or bearer token of alertmanager; with username, its password."`
	Username   string `json:"username,omitempty" title:"User name" minLength:"1" maxLength:"200" doc:"User name of an alertmanager behind HTTP basic authentication."`
	Wording
}

func (pagerType) Type() vigil.ChannelType { return vigil.ChannelPager }
func (pagerType) Documents() any          { return pagerConfig{} }

// Describe says what the type is for.
func (pagerType) Describe() TypeInfo {
	return TypeInfo{
		Position: 5,
		Title:    "Pager",
		About:    "triggers and resolves alerts of a paging service",
		Formats:  formatInfos(pagerFormats()),
	}
}

// pagerFormats are the formats of pagers, the default first.
func pagerFormats() []format[pagerConfig] {
	return []format[pagerConfig]{
		pagerDutyFormat(), opsgenieFormat(), jsmFormat(), incidentIOFormat(), alertmanagerFormat(), splunkFormat(),
	}
}

// Policy: an incident that has ended must not page anyone. An alert is resolved where it was
// triggered: receivers know it by the key.
func (pagerType) Policy() Policy {
	return Policy{MaxAttempts: 6, LateOpening: vigil.LateOpeningDrop, Address: "format routing_key url"}
}

func (t pagerType) format(given json.RawMessage) string { return nameOf(pagerFormats(), given) }

// Parse reads the config.
func (t pagerType) Parse(given json.RawMessage) (Sender, error) {
	return parseFormat(t.environment, t.Type(), given, pagerFormats())
}

func (c pagerConfig) product() (name, address string) { return c.Format, c.URL }

// key is what a pager knows an alert by: the incident, or the event of a test.
func (m *Message) key() string {
	if m.Incident == uuid.Nil {
		return m.Event.String()
	}
	return m.Incident.String()
}
