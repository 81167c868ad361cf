// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// SystemContent is the content of a system event.
type SystemContent struct {
	Type  vigil.EventType // one of vigil.SystemEvents
	OrgID uuid.UUID
	// SubjectID is what the event is about, and stands in the place of an incident's ID in the
	// event and its deliveries. A beginning and its end have the same one: that of the time in
	// which a channel fails, not that of the channel.
	SubjectID uuid.UUID
	CheckID   uuid.UUID // uuid.Nil where it is about no check
	Time      time.Time
	// Since is when what the event is about began; zero: at Time.
	Since            time.Time
	OrganizationName string
	Title, Body      string // of the message, for people
	Severity         vigil.Severity
	// URL is the page of the dashboard to look at; empty where there is none.
	URL string
	// Data are the members of the envelope's data besides severity, organization and message.
	Data map[string]any
	// Variables are template variables with their values, besides those that follow from the rest.
	Variables map[string]string
}

// NewSystem makes a system event. Its ID follows from its type and SubjectID, so there is
// never a second one. The error is that of a value that JSON cannot hold, or of an event that is
// longer than MaxEnvelope.
func NewSystem(c *SystemContent) (vigil.Event, error) {
	data := make(map[string]any, len(c.Data)+3)
	maps.Copy(data, c.Data)
	data["severity"] = c.Severity
	data["organization"] = envelopeOrganization{ID: c.OrgID, Name: truncate(c.OrganizationName)}
	data["message"] = envelopeMessage{Title: truncate(c.Title), Body: truncate(c.Body)}
	id := ID(c.SubjectID, c.Type)
	text, err := json.Marshal(envelope[map[string]any]{ID: id, Type: c.Type, Version: "1", Timestamp: c.Time.UTC(), Data: data})
	if err == nil && len(text) > MaxEnvelope {
		err = fmt.Errorf("%d bytes are too many", len(text))
	}
	if err != nil {
		return vigil.Event{}, fmt.Errorf("encode the event: %w", err)
	}
	return vigil.Event{
		ID: id, OrgID: c.OrgID, Type: c.Type, IncidentID: c.SubjectID, CheckID: c.CheckID, Time: c.Time,
		Envelope: text, Title: c.Title, Body: c.Body, Variables: c.variables(), TraceID: SubjectTrace(c.SubjectID),
	}, nil
}

// CheckToggled is the event of a check that was enabled or disabled. Its subject is that change,
// named by the revision that it made.
func CheckToggled(c *vigil.Check, at time.Time) SystemContent {
	about := SystemContent{
		Type: vigil.EventCheckResumed, OrgID: c.OrgID, CheckID: c.ID, Time: at, Severity: vigil.Info,
		SubjectID: vigil.DerivedID([]byte(c.ID.String() + "/toggled/" + strconv.FormatInt(c.Revision, 10))),
		Title:     c.Name + " is resumed", Body: "The check was enabled and is probed again.",
		Data: map[string]any{"check": showCheck(c.ID, c), "regions": append([]string{}, c.Regions...)},
		Variables: map[string]string{
			"check_name": c.Name, "check_type": string(c.Type), "check_target": c.Target, "error_message": "",
		},
	}
	if !c.Enabled {
		about.Type = vigil.EventCheckPaused
		about.Title, about.Body = c.Name+" is paused", "The check was disabled and is not probed any more."
	}
	for key, value := range c.Labels {
		about.Variables[labelVariable+key] = value
	}
	return about
}

// SubjectTrace is the ID of the trace of the messages about what is no incident: a time without
// results, or the subject of a system event.
func SubjectTrace(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// variables are those of templates. A template that was written for incidents must read well, so
// those of an incident say the same of the event.
func (c *SystemContent) variables() map[string]string {
	since := c.Since
	if since.IsZero() {
		since = c.Time
	}
	values := map[string]string{
		"incident_id": c.SubjectID.String(), "incident_title": c.Title, "incident_status": string(vigil.IncidentActive), "error_message": c.Body,
		"severity": string(c.Severity), "worst_severity": string(c.Severity), "started_at": stamp(since),
		"duration":          max(0, c.Time.Sub(since)).Round(time.Second).String(),
		"organization_name": c.OrganizationName, "event_type": string(c.Type), "incident_url": c.URL,
	}
	if c.CheckID != uuid.Nil {
		values["check_id"] = c.CheckID.String()
	}
	if c.Type.Ends() {
		values["incident_status"], values["resolved_at"] = string(vigil.IncidentResolved), stamp(c.Time)
	}
	maps.Copy(values, c.Variables)
	return variablesOf(&vigil.Check{}, values)
}
