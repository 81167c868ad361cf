// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// MaxEnvelope bounds an event's envelope, in bytes.
const MaxEnvelope = 64*1024 - 1

// ID is the id of the event of one turn of an incident. It follows from
// both, so there is never a second one.
func ID(incident uuid.UUID, t vigil.EventType) uuid.UUID {
	return vigil.DerivedID(append(incident[:], t...))
}

// TriggeredID is the ID of the event of a rule that begins to fire for the nth time in an
// incident that is open. It follows from these, so that a retry makes no second event.
func TriggeredID(incident, rule uuid.UUID, n int) uuid.UUID {
	return vigil.DerivedID([]byte(incident.String() + "/" + string(vigil.EventTriggered) + "/" + rule.String() + "/" + strconv.Itoa(n)))
}

// Content is the content of an event: the state at the time of the change.
type Content struct {
	// ID of the event; zero: that of the type of event of the incident (ID).
	ID       uuid.UUID
	Type     vigil.EventType
	Time     time.Time
	Incident vigil.Incident
	Check    vigil.Check
	Rule     vigil.Rule // its name is empty when the rule is gone
	// OrganizationName is what people call the owner of the check.
	OrganizationName string
	// Regions in which a rule fires now, sorted.
	Regions []string
	// PublicURL is the address at which the platform is reached, without a slash at
	// its end; empty when it is not known, or when nothing is left to link to.
	PublicURL string
	// CheckDeleted: the incident ends because its check is deleted.
	CheckDeleted bool
	// Update is what was published, for EventUpdated.
	Update *PublishedUpdate
}

// PublishedUpdate is what a person published about an incident.
type PublishedUpdate struct {
	ID    uuid.UUID `json:"id"`
	State string    `json:"state"` // investigating, identified, monitoring or resolved
	Text  string    `json:"text"`
}

// IncidentPage is the path of the dashboard's page of an incident, without its id.
const IncidentPage = "/app/incidents/"

// New makes the event of a story. The error is that of a value that JSON
// cannot hold.
func New(s Content) (vigil.Event, error) {
	title, body := s.message()
	if s.Check.DrillID != uuid.Nil {
		title = DrillMark + title
	}
	envelope, err := s.envelope(title, body)
	if err != nil {
		return vigil.Event{}, err
	}
	return vigil.Event{
		ID:    s.id(),
		OrgID: s.Incident.OrgID, Type: s.Type, IncidentID: s.Incident.ID, CheckID: s.Incident.CheckID, Time: s.Time,
		Envelope: envelope, Title: title, Body: body, Variables: s.variables(),
		TraceID: s.Incident.TraceID,
	}, nil
}

// message is what people read.
func (s *Content) message() (title, body string) {
	i := &s.Incident
	switch s.Type {
	case vigil.EventResolved:
		title = "Resolved: " + i.Title
		body = fmt.Sprintf("%s after %s.", s.ending(), s.duration())
	case vigil.EventAcknowledged:
		title = "Acknowledged: " + i.Title
		body = fmt.Sprintf("Acknowledged %s after it began.", s.duration())
		if i.AcknowledgedBy != "" {
			body = fmt.Sprintf("Acknowledged by %s, %s after it began.", i.AcknowledgedBy, s.duration())
		}
	case vigil.EventUpdated:
		return "Update: " + i.Title, s.Update.message()
	default: // those of no incident are made by NewUnobserved and NewSystem
		title, body = i.Title, i.Description
	}
	return title, body + s.rulesText()
}

// message is the text of the update behind how far people are.
func (u *PublishedUpdate) message() string {
	state := u.State
	if state != "" {
		state = strings.ToUpper(state[:1]) + state[1:] + ": "
	}
	return state + u.Text
}

func (s *Content) id() uuid.UUID {
	if s.ID != uuid.Nil {
		return s.ID
	}
	return ID(s.Incident.ID, s.Type)
}

func (s *Content) ending() string {
	switch s.Incident.Resolution {
	case vigil.ResolvedManually:
		if s.Incident.ResolvedBy != "" {
			return "Resolved by " + s.Incident.ResolvedBy
		}
		return "Resolved by hand"
	case vigil.ResolvedCheckRemoved:
		if s.CheckDeleted {
			return "The check was deleted"
		}
		return "The check was disabled"
	case vigil.ResolvedAutomatically:
	}
	return "No rule fires any more,"
}

// duration is how long the incident has lasted.
func (s *Content) duration() string {
	until := s.Time
	if s.Incident.ResolvedAt != nil {
		until = *s.Incident.ResolvedAt
	}
	return max(0, until.Sub(s.Incident.StartedAt)).Round(time.Second).String()
}

// variables fills in every template variable that the story has a value for.
func (s *Content) variables() map[string]string {
	i, r := &s.Incident, &s.Incident.Trigger.Result
	values := variablesOf(&s.Check, map[string]string{
		"check_id": i.CheckID.String(), "check_name": s.Check.Name, "check_type": string(s.Check.Type), "check_target": s.Check.Target,
		"region": r.Region, "regions_down": strings.Join(s.Regions, ", "), "error_message": r.Error,
		"evidence":    r.Evidence.Text(maxEvidence),
		"incident_id": i.ID.String(), "incident_title": i.Title, "incident_status": string(i.Status), "severity": string(i.Severity),
		"started_at": stamp(i.StartedAt), "duration": s.duration(),
		"rules_firing": s.firingText(uuid.Nil), "worst_severity": string(i.WorstSeverity()),
		"rule_id": i.RuleID.String(), "rule_name": s.Rule.Name,
		"dns_previous": i.Trigger.DNSPrevious, "dns_current": i.Trigger.DNSCurrent,
		"organization_name": s.OrganizationName, "event_type": string(s.Type),
	})
	values["failure_count"] = strconv.Itoa(i.Trigger.FailureCount)
	if !r.Slot.IsZero() {
		values["response_time_ms"] = strconv.FormatInt(r.ResponseTime.Milliseconds(), 10)
	}
	if r.StatusCode != 0 {
		values["status_code"] = strconv.Itoa(r.StatusCode)
	}
	if i.Trigger.Days != nil {
		values["ssl_days_remaining"] = strconv.Itoa(*i.Trigger.Days)
	}
	if i.ResolvedAt != nil {
		values["resolved_at"] = stamp(*i.ResolvedAt)
	}
	if s.Check.DrillID != uuid.Nil { // its incident is shown by its receipt alone
		values[VariableDrill] = s.Check.DrillID.String()
	} else if s.PublicURL != "" {
		values["incident_url"] = s.PublicURL + IncidentPage + i.ID.String()
	}
	return values
}

// variablesOf returns the template variables with the values that are given, those of the labels
// of a check, and empty ones.
func variablesOf(c *vigil.Check, given map[string]string) map[string]string {
	values := make(map[string]string)
	for _, name := range VariableNames() {
		values[name] = ""
	}
	maps.Copy(values, given)
	for key, value := range c.Labels {
		values[labelVariable+key] = value
	}
	return values
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// firingText names the rules that fire when the event happens, for people, without the one
// that is left out.
func (s *Content) firingText(without uuid.UUID) string {
	var names []string
	for _, rule := range s.Incident.Rules {
		fires := rule.Fires() || s.Incident.Resolution == vigil.ResolvedManually && endedWith(&rule, &s.Incident)
		if fires && rule.ID != without {
			names = append(names, label(&rule))
		}
	}
	return listed(names)
}

// maxListedRules is how many rules a message names.
const maxListedRules = 10

func listed(names []string) string {
	if more := len(names) - maxListedRules; more > 0 {
		return strings.Join(names[:maxListedRules], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}

// endedWith reports whether the rule fired until the incident was resolved.
func endedWith(r *vigil.IncidentRule, i *vigil.Incident) bool {
	return r.Until != nil && i.ResolvedAt != nil && !r.Until.Before(*i.ResolvedAt)
}

// label is the name of a rule with its severity.
func label(r *vigil.IncidentRule) string {
	return vigil.Truncate(r.Name, maxLabel) + " (" + string(r.Severity) + ")"
}

// maxLabel bounds a name among others, in bytes.
const maxLabel = 100

// rulesText is what is wrong beside what the message says first. Empty: nothing.
func (s *Content) rulesText() string {
	switch {
	case s.Type == vigil.EventTest:
		return ""
	case s.Type == vigil.EventResolved && s.Incident.Resolution == vigil.ResolvedManually:
		if firing := s.firingText(uuid.Nil); firing != "" {
			return " Still firing: " + firing + "."
		}
	case s.Type == vigil.EventResolved:
		if len(s.Incident.Rules) < 2 {
			return ""
		}
		labels := make([]string, len(s.Incident.Rules))
		for i := range s.Incident.Rules {
			labels[i] = label(&s.Incident.Rules[i])
		}
		return " Rules that fired: " + listed(labels) + "."
	default:
		if firing := s.firingText(s.Incident.RuleID); firing != "" {
			return " Also firing: " + firing + "."
		}
	}
	return ""
}

// maxEvidence is the maximum length of evidence in a message, in bytes.
const maxEvidence = 1024
