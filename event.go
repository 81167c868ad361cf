// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// EventType names what happened to an incident. It is the member "type" of a
// webhook's body and the event field of the stream.
type EventType string

// The event types. Acknowledgements and updates are seen on the stream, and reach channels only
// by subscription.
const (
	EventTriggered    EventType = "incident.triggered"
	EventAcknowledged EventType = "incident.acknowledged"
	EventResolved     EventType = "incident.resolved"
	// A person published an update of the incident, open or not.
	EventUpdated EventType = "incident.updated"
	EventTest    EventType = "channel.test"
	// A check that should be probed has no recent result, and has one again.
	EventUnobserved EventType = "check.unobserved"
	EventObserved   EventType = "check.observed"
)

// Position of an event in its organization's stream. Seq grows by one with each
// event of the organization, and MS never falls.
type Position struct {
	MS, Seq int64
}

// String is the position as the stream sends it: <unix ms>-<seq>.
func (p Position) String() string {
	return strconv.FormatInt(p.MS, 10) + "-" + strconv.FormatInt(p.Seq, 10)
}

// ParsePosition reads a position as it is sent in Last-Event-ID or since. The
// error is a CodeInvalid one about the given member.
func ParsePosition(member, text string) (Position, error) {
	ms, seq, ok := strings.Cut(text, "-")
	var p Position
	var errMS, errSeq error
	p.MS, errMS = strconv.ParseInt(ms, 10, 64)
	p.Seq, errSeq = strconv.ParseInt(seq, 10, 64)
	if !ok || errMS != nil || errSeq != nil || p.MS < 0 || p.Seq < 0 || p.String() != text {
		return Position{}, Invalid(member, "must be an event id as the stream sends it, such as 1767225600000-42, or 0-0 for all that is kept")
	}
	return p, nil
}

// Event is what happened to an incident, a check or a part of the platform, sent to channels and to the alert stream.
type Event struct {
	ID         uuid.UUID
	OrgID      uuid.UUID
	Position   Position // zero until it is stored
	Type       EventType
	IncidentID uuid.UUID // or of the time without results, or of the subject of a system event; see EventType.OfIncident
	CheckID    uuid.UUID // uuid.Nil where it is about no check
	Time       time.Time
	// Envelope is the body of webhooks and the data of the stream, JSON of at
	// most MaxEnvelope bytes. It never changes.
	Envelope []byte
	// Title and Body of the message, for people.
	Title, Body string
	// Variables are the values of the template variables, by name, and those of all labels
	// of the check as label.<key>.
	Variables map[string]string
	// TraceID is that of the incident, or of the time without results. It is stored with the deliveries, not with the event.
	TraceID string
}

// MaxEnvelope bounds an event's envelope, in bytes.
const MaxEnvelope = 64*1024 - 1

// EventID is the id of the event of one turn of an incident. It follows from
// both, so there is never a second one.
func EventID(incident uuid.UUID, t EventType) uuid.UUID {
	return uuid.NewSHA1(incidentSpace, append(incident[:], t...))
}

// EventContext is the content of an event: the state at the time of the change.
type EventContext struct {
	// ID of the event; zero: that of the type of event of the incident (EventID).
	ID       uuid.UUID
	Type     EventType
	Time     time.Time
	Incident Incident
	Check    Check
	Rule     Rule // its name is empty when the rule is gone
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

// NewEvent makes the event of a story. The error is that of a value that JSON
// cannot hold.
func NewEvent(s EventContext) (Event, error) {
	title, body := s.message()
	if s.Check.DrillID != uuid.Nil {
		title = DrillMark + title
	}
	envelope, err := s.envelope(title, body)
	if err != nil {
		return Event{}, err
	}
	return Event{
		ID:    s.id(),
		OrgID: s.Incident.OrgID, Type: s.Type, IncidentID: s.Incident.ID, CheckID: s.Incident.CheckID, Time: s.Time,
		Envelope: envelope, Title: title, Body: body, Variables: s.variables(),
		TraceID: s.Incident.TraceID,
	}, nil
}

// message is what people read.
func (s *EventContext) message() (title, body string) {
	i := &s.Incident
	switch s.Type {
	case EventResolved:
		title = "Resolved: " + i.Title
		body = fmt.Sprintf("%s after %s.", s.ending(), s.duration())
	case EventAcknowledged:
		title = "Acknowledged: " + i.Title
		body = fmt.Sprintf("Acknowledged %s after it began.", s.duration())
		if i.AcknowledgedBy != "" {
			body = fmt.Sprintf("Acknowledged by %s, %s after it began.", i.AcknowledgedBy, s.duration())
		}
	case EventUpdated:
		return "Update: " + i.Title, s.Update.message()
	default: // those of no incident are made by NewUnobservedEvent and NewSystemEvent
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

func (s *EventContext) id() uuid.UUID {
	if s.ID != uuid.Nil {
		return s.ID
	}
	return EventID(s.Incident.ID, s.Type)
}

func (s *EventContext) ending() string {
	switch s.Incident.Resolution {
	case ResolvedManually:
		if s.Incident.ResolvedBy != "" {
			return "Resolved by " + s.Incident.ResolvedBy
		}
		return "Resolved by hand"
	case ResolvedCheckRemoved:
		if s.CheckDeleted {
			return "The check was deleted"
		}
		return "The check was disabled"
	case ResolvedAutomatically:
	}
	return "No rule fires any more,"
}

// duration is how long the incident has lasted.
func (s *EventContext) duration() string {
	until := s.Time
	if s.Incident.ResolvedAt != nil {
		until = *s.Incident.ResolvedAt
	}
	return max(0, until.Sub(s.Incident.StartedAt)).Round(time.Second).String()
}

// variables fills in every template variable that the story has a value for.
func (s *EventContext) variables() map[string]string {
	i, r := &s.Incident, &s.Incident.Trigger.Result
	values := variablesOf(&s.Check, map[string]string{
		"check_id": i.CheckID.String(), "check_name": s.Check.Name, "check_type": string(s.Check.Type), "check_target": s.Check.Target,
		"region": r.Region, "regions_down": strings.Join(s.Regions, ", "), "error_message": r.Error,
		"evidence":    r.Evidence.Text(maxEvidenceText),
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
func variablesOf(c *Check, given map[string]string) map[string]string {
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
