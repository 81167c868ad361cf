// SPDX-License-Identifier: Apache-2.0

package vigil

import (
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
	// most 64 KiB (events.MaxEnvelope). It never changes.
	Envelope []byte
	// Title and Body of the message, for people.
	Title, Body string
	// Variables are the values of the template variables, by name, and those of all labels
	// of the check as label.<key>.
	Variables map[string]string
	// TraceID is that of the incident, or of the time without results. It is stored with the deliveries, not with the event.
	TraceID string
}

// The types of system events: what happens to channels, deliveries, regions, locations, drills, reports and
// checks themselves, and to no incident. Rules do not send them to channels.
const (
	EventChannelFailing    EventType = "channel.failing"
	EventChannelRecovered  EventType = "channel.recovered"
	EventDeliveryExhausted EventType = "delivery.exhausted"
	EventRegionBlind       EventType = "region.blind"
	EventRegionSighted     EventType = "region.sighted"
	EventLocationSilent    EventType = "location.silent"
	EventLocationBack      EventType = "location.back"
	EventDrillPassed       EventType = "drill.passed"
	EventDrillFailed       EventType = "drill.failed"
	EventCheckPaused       EventType = "check.paused"
	EventCheckResumed      EventType = "check.resumed"
	eventReportReady       EventType = "report.ready" // a scheduled report of uptime
)

// SystemEvents returns the types of system events.
func SystemEvents() []EventType {
	return []EventType{
		EventChannelFailing, EventChannelRecovered, EventDeliveryExhausted, EventRegionBlind, EventRegionSighted,
		EventLocationSilent, EventLocationBack, EventDrillPassed, EventDrillFailed, EventCheckPaused, EventCheckResumed,
		eventReportReady,
	}
}

// System reports whether the event is a system event.
func (t EventType) System() bool {
	switch t {
	case EventChannelFailing, EventChannelRecovered, EventDeliveryExhausted, EventRegionBlind, EventRegionSighted,
		EventLocationSilent, EventLocationBack, EventDrillPassed, EventDrillFailed, EventCheckPaused, EventCheckResumed,
		eventReportReady:
		return true
	case EventTriggered, EventAcknowledged, EventUpdated, EventResolved, EventTest, EventUnobserved, EventObserved:
	}
	return false
}

// OfIncident reports whether the event is about an incident, whose ID it then has.
func (t EventType) OfIncident() bool { return !t.System() && !t.Unobserved() }

// Opens reports whether the event is the beginning of what it is about. A system event
// that has no end is a beginning as well.
func (t EventType) Opens() bool {
	return t == EventTriggered || t == EventUnobserved || t.System() && !t.Ends()
}

// Ends reports whether the event is the end of what it is about.
func (t EventType) Ends() bool {
	return t == EventResolved || t == EventObserved || t == EventChannelRecovered || t == EventRegionSighted || t == EventLocationBack
}

// Unobserved reports whether the event is about a time without results, and no incident.
func (t EventType) Unobserved() bool { return t == EventUnobserved || t == EventObserved }
