// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// UnobservedEnd says why a check is not unobserved any more, or why a channel is not notified any more.
type UnobservedEnd string

// Ends of a time without results.
const (
	ObservedAgain           UnobservedEnd = "result"         // a result came
	UnobservedDisabled      UnobservedEnd = "disabled"       // the check was disabled
	UnobservedDeleted       UnobservedEnd = "deleted"        // the check was deleted
	UnobservedRegionRemoved UnobservedEnd = "region_removed" // a region without results was removed from the check
	// UnobservedRuleChanged: no rule asks any more to notify these channels. It ends no time
	// without results.
	UnobservedRuleChanged UnobservedEnd = "rule_changed"
	UnobservedChanged     UnobservedEnd = "changed" // the check was changed, or is in maintenance that pauses probing
)

// UnobservedRule is an alert rule that notifies of a time without results.
type UnobservedRule struct {
	ID       uuid.UUID      `json:"id"`
	Name     string         `json:"name"`
	Severity vigil.Severity `json:"severity"`
}

// UnobservedRules are what events say of rules. The order is that of SortRules.
func UnobservedRules(rules []vigil.Rule) []UnobservedRule {
	list := make([]UnobservedRule, len(rules))
	for i := range rules {
		list[i] = UnobservedRule{ID: rules[i].ID, Name: vigil.Truncate(rules[i].Name, maxLabel), Severity: rules[i].Severity()}
	}
	return list
}

// UnobservedContent is the content of an event about a check that is not probed.
type UnobservedContent struct {
	vigil.UnobservedCheck

	Check            vigil.Check
	OrganizationName string
	Time             time.Time
	// End is empty when the time without results begins.
	End UnobservedEnd
	// Rules that notify channels of it, the leading one first; none for the stream alone.
	Rules []UnobservedRule
	// Partly: other regions of the check are probed.
	Partly bool
	// Notified are the channels that get an end of their own, before or after that of the check;
	// none for the event of the check itself.
	Notified []uuid.UUID
	// PublicURL is as in Content.
	PublicURL string
}

// checkPage is the path of the dashboard's page of a check, without its id.
const checkPage = "/app/checks/"

// unobservedData is the data of the envelope of such an event.
type unobservedData struct {
	Unobserved   unobservedTime       `json:"unobserved"`
	Check        envelopeCheck        `json:"check"`
	Regions      []string             `json:"regions"`
	Rules        []UnobservedRule     `json:"rules"`
	Organization envelopeOrganization `json:"organization"`
	Message      envelopeMessage      `json:"message"`
}

type unobservedTime struct {
	ID      uuid.UUID      `json:"id"`
	Since   time.Time      `json:"since"`
	EndedAt *time.Time     `json:"ended_at"`
	End     *UnobservedEnd `json:"end"`
}

// eventID follows from what the event is about, so there is never a second one.
func (c *UnobservedContent) eventID(kind vigil.EventType) uuid.UUID {
	if len(c.Notified) == 0 {
		return ID(c.ID, kind)
	}
	name := append(c.ID[:], kind...)
	for _, channel := range slices.SortedFunc(slices.Values(c.Notified), vigil.CompareIDs) {
		name = append(name, channel[:]...)
	}
	return vigil.DerivedID(name)
}

// NewUnobserved makes the event of a check that is not probed, or is no longer.
func NewUnobserved(c *UnobservedContent) (vigil.Event, error) {
	kind := vigil.EventUnobserved
	var ended *time.Time
	if c.End != "" {
		kind = vigil.EventObserved
	}
	if c.End != "" && c.End != UnobservedRuleChanged {
		ended = new(c.Time.UTC())
	}
	title, body := c.message()
	rules := c.Rules[:min(len(c.Rules), maxEnvelopeRules)]
	data := unobservedData{
		Unobserved:   unobservedTime{ID: c.ID, Since: c.Since.UTC(), EndedAt: ended, End: vigil.NilIfZero(c.End)},
		Check:        showCheck(c.CheckID, &c.Check),
		Regions:      append([]string{}, c.Regions...),
		Rules:        append([]UnobservedRule{}, rules...),
		Organization: envelopeOrganization{ID: c.OrgID, Name: truncate(c.OrganizationName)},
		Message:      envelopeMessage{Title: truncate(title), Body: truncate(body)},
	}
	id := c.eventID(kind)
	text, err := json.Marshal(envelope[unobservedData]{ID: id, Type: kind, Version: "1", Timestamp: c.Time.UTC(), Data: data})
	if err != nil {
		return vigil.Event{}, fmt.Errorf("encode the event: %w", err)
	}
	return vigil.Event{
		ID: id, OrgID: c.OrgID, Type: kind, IncidentID: c.ID, CheckID: c.CheckID, Time: c.Time,
		Envelope: text, Title: title, Body: body, Variables: c.variables(kind, title), TraceID: SubjectTrace(c.ID),
	}, nil
}

// variables are those of templates. A template that was written for incidents must read well, so
// those of an incident say the same of the time without results.
func (c *UnobservedContent) variables(kind vigil.EventType, title string) map[string]string {
	values := map[string]string{
		"check_id": c.CheckID.String(), "check_name": c.Check.Name, "check_type": string(c.Check.Type), "check_target": c.Check.Target,
		"regions_down": strings.Join(c.Regions, ", "), "incident_id": c.ID.String(), "incident_title": title,
		"incident_status": string(vigil.IncidentActive), "started_at": stamp(c.Since),
		"duration": c.duration(), "organization_name": c.OrganizationName, "event_type": string(kind),
	}
	if len(c.Regions) == 1 {
		values["region"] = c.Regions[0]
	}
	if len(c.Rules) > 0 {
		severity := slices.MinFunc(c.Rules, func(a, b UnobservedRule) int { return cmp.Compare(a.Severity.Rank(), b.Severity.Rank()) }).Severity
		values["severity"], values["worst_severity"] = string(severity), string(severity)
		values["rule_id"], values["rule_name"] = c.Rules[0].ID.String(), c.Rules[0].Name
	}
	if kind == vigil.EventObserved {
		values["incident_status"], values["resolved_at"] = string(vigil.IncidentResolved), stamp(c.Time)
	}
	if c.PublicURL != "" && c.End != UnobservedDeleted {
		values["incident_url"] = c.PublicURL + checkPage + c.CheckID.String()
	}
	return variablesOf(&c.Check, values)
}

func (c *UnobservedContent) duration() string {
	return max(0, c.Time.Sub(c.Since)).Round(time.Second).String()
}

// maxListedRegions is how many regions a message names.
const maxListedRegions = 10

func (c *UnobservedContent) regions() string {
	names := c.Regions[:min(len(c.Regions), maxListedRegions)]
	if more := len(c.Regions) - len(names); more > 0 {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// pinged is message of a heartbeat: nothing is probed, but its pings are judged.
func (c *UnobservedContent) pinged() (title, body string) {
	name, after := c.Check.Name, " Its pings were not judged for "+c.duration()+"."
	switch c.End {
	case ObservedAgain:
		return name + " has results again", "A result came after " + c.duration() + "."
	case UnobservedDisabled:
		return name + " need not ping any more", "The check was disabled." + after
	case UnobservedDeleted:
		return name + " need not ping any more", "The check was deleted." + after
	case UnobservedChanged:
		return name + " is due again", "The check was changed, or is in maintenance that pauses probing."
	case UnobservedRegionRemoved, UnobservedRuleChanged:
	}
	return name + " has no results", fmt.Sprintf("No worker has judged its pings since %s. Its health is not known.", stamp(c.Since))
}

func (c *UnobservedContent) message() (title, body string) {
	if c.Check.Type == vigil.TypeHeartbeat && c.End != UnobservedRuleChanged {
		return c.pinged()
	}
	name, after := c.Check.Name, " It was not probed for "+c.duration()+"."
	switch c.End {
	case ObservedAgain:
		return name + " is probed again", "A result came after " + c.duration() + "."
	case UnobservedDisabled:
		return name + " need not be probed any more", "The check was disabled." + after
	case UnobservedDeleted:
		return name + " need not be probed any more", "The check was deleted." + after
	case UnobservedRegionRemoved:
		return name + " need not be probed from there any more", "A region without results was removed from the check: " + c.regions() + "."
	case UnobservedRuleChanged:
		return name + ": no more messages about missing results",
			"The alert rule was deleted, disabled or changed, so this channel is not notified any more. The check is as it was."
	case UnobservedChanged:
		return name + " is due again", "The check was changed, or is in maintenance that pauses probing."
	}
	if c.Partly {
		return name + " is not probed from " + c.regions(),
			fmt.Sprintf("There is no result since %s, from %s. Other regions probe it.", stamp(c.Since), c.regions())
	}
	return name + " is not probed", fmt.Sprintf("There is no result since %s, from %s. Its health is not known.", stamp(c.Since), c.regions())
}
