// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/events"
)

// Sample is the message of POST /v1/notification-channels/{id}/test: one of an
// incident that never was, in the form of a real one, of the lowest severity.
// The error is that of a value that JSON cannot hold.
func Sample(channel vigil.Channel, org account.Organization, publicURL string, now time.Time) (Message, error) {
	values := events.ExampleVariables()
	incident := vigil.Incident{
		ID: uuid.New(), OrgID: org.ID, CheckID: uuid.New(), RuleID: uuid.New(),
		Status: vigil.IncidentActive, Severity: vigil.Info, StartedAt: now, CreatedAt: now,
		Title:       "Test of the channel " + channel.Name,
		Description: fmt.Sprintf("This is a test message. Vigil can reach the channel %s; nothing is wrong.", channel.Name),
	}
	event, err := events.New(events.Content{
		Type: vigil.EventTest, Time: now, Incident: incident, OrganizationName: org.Name, PublicURL: publicURL,
		Check: vigil.Check{
			ID: incident.CheckID, Name: values["check_name"], Type: vigil.TypeHTTPS, Target: values["check_target"],
			Interval: time.Minute, Enabled: true, Labels: vigil.Labels{"team": values["label.team"]},
		},
		Rule: vigil.Rule{Name: values["rule_name"], NotifyOn: vigil.NotifyUnhealthy},
	})
	if err != nil {
		return Message{}, fmt.Errorf("make a test event: %w", err)
	}
	for name, value := range event.Variables {
		if value != "" {
			values[name] = value
		}
	}
	values[events.VariableDrill] = "" // a test is none
	// The incident does not exist, so a link to it would lead nowhere: the page of the channel does.
	values["incident_url"] = publicURL + events.ChannelPage + channel.ID.String()
	return Message{
		Event: event.ID, Type: vigil.EventTest, Delivery: uuid.New(), Organization: org.ID, Attempt: 1, Time: now, Severity: vigil.Info,
		Title: event.Title, Body: event.Body, Variables: values, Envelope: event.Envelope,
	}, nil
}
