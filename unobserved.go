package vigil

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// UnobservedCheck is a check that is not probed although it should be: in each of its regions
// the newest result is older than three intervals and the deadline of a probe.
type UnobservedCheck struct {
	ID      uuid.UUID // of this time without results
	OrgID   uuid.UUID
	CheckID uuid.UUID
	// Since is the time of the newest result, or when the first one was due.
	Since   time.Time
	Regions []string // keys
}

// UnobservedEnd says why a check is not unobserved any more.
type UnobservedEnd string

// Ends of a time without results.
const (
	ObservedAgain      UnobservedEnd = "result"   // a result came
	UnobservedDisabled UnobservedEnd = "disabled" // the check was disabled
	UnobservedDeleted  UnobservedEnd = "deleted"  // the check was deleted
	UnobservedChanged  UnobservedEnd = "changed"  // the check was changed, or is in maintenance that pauses probing
)

// UnobservedContext is the content of an event about a check that is not probed.
type UnobservedContext struct {
	UnobservedCheck

	Check        Check
	Organization Organization
	Time         time.Time
	// End is empty when the time without results begins.
	End UnobservedEnd
}

// unobservedData is the data of the envelope of such an event.
type unobservedData struct {
	Unobserved   unobservedTime       `json:"unobserved"`
	Check        envelopeCheck        `json:"check"`
	Regions      []string             `json:"regions"`
	Organization envelopeOrganization `json:"organization"`
	Message      envelopeMessage      `json:"message"`
}

type unobservedTime struct {
	ID      uuid.UUID      `json:"id"`
	Since   time.Time      `json:"since"`
	EndedAt *time.Time     `json:"ended_at"`
	End     *UnobservedEnd `json:"end"`
}

// NewUnobservedEvent makes the event of a check that is not probed, or is no longer.
func NewUnobservedEvent(c *UnobservedContext) (Event, error) {
	kind := EventUnobserved
	var ended *time.Time
	if c.End != "" {
		kind, ended = EventObserved, new(c.Time.UTC())
	}
	title, body := c.message()
	text, err := json.Marshal(envelope[unobservedData]{
		ID: EventID(c.ID, kind), Type: kind, Version: "1", Timestamp: c.Time.UTC(),
		Data: unobservedData{
			Unobserved:   unobservedTime{ID: c.ID, Since: c.Since.UTC(), EndedAt: ended, End: NilIfZero(c.End)},
			Check:        showCheck(c.CheckID, &c.Check),
			Regions:      orEmpty(c.Regions),
			Organization: envelopeOrganization{ID: c.OrgID, Name: truncate(c.Organization.Name)},
			Message:      envelopeMessage{Title: truncate(title), Body: truncate(body)},
		},
	})
	if err != nil {
		return Event{}, fmt.Errorf("encode the event: %w", err)
	}
	variables := variablesOf(&c.Check, map[string]string{
		"check_id": c.CheckID.String(), "check_name": c.Check.Name, "check_type": string(c.Check.Type), "check_target": c.Check.Target,
		"regions_down": strings.Join(c.Regions, ", "), "incident_title": title, "started_at": stamp(c.Since),
		"duration": c.duration(), "organization_name": c.Organization.Name, "event_type": string(kind),
	})
	return Event{
		ID: EventID(c.ID, kind), OrgID: c.OrgID, Type: kind, IncidentID: c.ID, CheckID: c.CheckID, Time: c.Time,
		Envelope: text, Title: title, Body: body, Variables: variables,
	}, nil
}

func (c *UnobservedContext) duration() string {
	return max(0, c.Time.Sub(c.Since)).Round(time.Second).String()
}

func (c *UnobservedContext) message() (title, body string) {
	switch c.End {
	case ObservedAgain:
		return c.Check.Name + " is probed again", "A result came after " + c.duration() + "."
	case UnobservedDisabled:
		return c.Check.Name + " need not be probed any more", "The check was disabled."
	case UnobservedDeleted:
		return c.Check.Name + " need not be probed any more", "The check was deleted."
	case UnobservedChanged:
		return c.Check.Name + " is due again", "The check was changed, or is in maintenance that pauses probing."
	}
	return c.Check.Name + " is not probed",
		fmt.Sprintf("There is no result since %s, from %s. Its health is not known.", stamp(c.Since), strings.Join(c.Regions, ", "))
}
