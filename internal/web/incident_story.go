// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// entry is a line of an incident's timeline: one stored row, or several that repeat.
type entry struct {
	Time     stamp
	Distance string // to the last turn of the incident, such as +30 s
	Mark     mark
	Subject  string // in bold
	Text     string // after the subject
	Code     string // what a machine said, after the text
	After    string // after the code
	Chip     string // such as 2 of 3
	ChipDown bool   // the rule's region policy is met
	Line     string // below
	Quote    string // a note of a person
	Links    []link
	Major    bool // a change of the incident itself

	Kind   string  // vote or delivery, for the filter; empty for both
	Folded []entry // what the entry stands for; shown on request

	at       time.Time
	recovery bool // the message says that the incident ended
}

// story turns the timeline of an incident into lines, oldest first.
type story struct {
	r        *request
	incident *client.Incident
	check    *client.Check // nil when it is not known any more
	rules    map[string]client.AlertRule
	firing   map[string][]string // rules that fire, by region
	anchor   time.Time           // what distances are counted from
	entries  []entry
	opened   bool
	votes    int // regions in which a rule fires, now
}

func newStory(r *request, i *client.Incident, check *client.Check, rules []client.AlertRule) *story {
	s := &story{r: r, incident: i, check: check, rules: make(map[string]client.AlertRule), firing: make(map[string][]string)}
	for _, rule := range rules {
		s.rules[rule.Id.String()] = rule
	}
	return s
}

// add appends a line at its distance from the last turn of the incident.
func (s *story) add(at time.Time, e entry) {
	e.at = at
	if e.Time.ISO == "" {
		e.Time = s.r.clock(at, !wholeSecond(at))
	}
	if e.Distance == "" && !s.anchor.IsZero() {
		e.Distance = "+" + offset(at.Sub(s.anchor))
	}
	s.entries = append(s.entries, e)
}

// first is the result with which it began; it is left out when it is not stored any more.
func (s *story) first(result *client.Result) {
	if result == nil {
		return
	}
	e := entry{
		Distance: "first failure", Mark: newMark("first", ""), Subject: s.r.city(result.Region),
		Links: s.resultLinks(result.Region, ""), Kind: "vote",
	}
	switch {
	case result.StatusCode != nil:
		e.Text, e.Code = " answers ", fmt.Sprint(*result.StatusCode)
	case result.ErrorMessage != nil:
		e.Text = ": " + sentence(*result.ErrorMessage)
	default:
		e.Text = " fails"
	}
	if wants := s.threshold(); wants > 1 {
		e.Line = fmt.Sprintf("1 failure in a row; the rule wants %d", wants)
	}
	e.Time = s.r.clock(result.Time, false)
	s.add(result.Time, e)
	s.anchor = result.Time.Truncate(time.Second)
}

// threshold is how many failures in a row the rule wants; 0 when it wants something else.
func (s *story) threshold() int64 {
	rule, ok := s.rules[s.incident.AlertRuleId.String()]
	if !ok || rule.Condition.FailureThreshold == nil {
		return 0
	}
	return *rule.Condition.FailureThreshold
}

// append adds the line of an entry of the timeline.
func (s *story) append(t *client.TimelineEntry) {
	switch t.Kind {
	case client.TimelineEntryKindEdge:
		s.edge(t)
	case client.TimelineEntryKindState:
		s.state(t)
	case client.TimelineEntryKindAttempt:
		s.attempt(t)
	}
}

// edge is a change of the rules that fire in a region.
func (s *story) edge(t *client.TimelineEntry) {
	region := *t.Region
	var firing []string
	for _, id := range *t.FiringRules {
		firing = append(firing, id.String())
	}
	before := len(s.firing[region]) > 0
	s.firing[region] = firing
	s.count()
	e := entry{
		Subject: s.r.city(region), Links: s.resultLinks(region, s.runURL("check/"+s.incident.CheckId.String()+"/"+region)),
		Kind: "vote",
	}
	if s.anchor.IsZero() {
		s.anchor = t.Time
	}
	e.Time = s.r.clock(t.Time, false)
	e.Chip = fmt.Sprintf("%d of %d", s.votes, s.regions())
	switch {
	case len(firing) == 0:
		e.Mark, e.Subject = newMark("up", ""), e.Subject+" is quiet"
	case before:
		e.Mark, e.Subject, e.Line = newMark("vote", ""), e.Subject+" votes: failing", "Now fires: "+listed(s.ruleNames(firing))
	default:
		e.Mark, e.Subject = newMark("vote", ""), e.Subject+" votes: failing"
		e.ChipDown = s.met()
		e.Line = s.reason(firing, t.FailureCount)
	}
	s.add(t.Time, e)
}

// reason says why a rule fires in a region, and what it waits for.
func (s *story) reason(firing []string, failures *int64) string {
	text := "Rule " + listed(s.ruleNames(firing)) + " fires here"
	if failures != nil && *failures > 0 {
		text += " after " + counted(*failures, "failure") + " in a row"
	}
	if !s.opened && s.regions() > 1 && !s.met() {
		rule := s.rules[firing[0]]
		switch rule.RegionPolicy {
		case client.AlertRuleRegionPolicyMajority:
			text += "; it wants more than half of the regions"
		case client.AlertRuleRegionPolicyAll:
			text += "; it wants all regions"
		case client.AlertRuleRegionPolicyAny:
		}
	}
	return text
}

func (s *story) ruleNames(ids []string) []string {
	var names []string
	for _, id := range ids {
		if rule, ok := s.rules[id]; ok {
			names = append(names, rule.Name)
		}
	}
	if len(names) == 0 {
		return []string{"(deleted since)"}
	}
	return names
}

// count counts the regions in which a rule fires.
func (s *story) count() {
	s.votes = 0
	for _, firing := range s.firing {
		if len(firing) > 0 {
			s.votes++
		}
	}
}

// regions is how many regions the check has.
func (s *story) regions() int {
	known := make(map[string]bool)
	if s.check != nil {
		for _, region := range s.check.Regions {
			known[region] = true
		}
	}
	for region := range s.firing {
		known[region] = true
	}
	return max(len(known), 1)
}

// met reports whether enough regions vote for the rule that names the incident.
func (s *story) met() bool {
	rule := s.rules[s.incident.AlertRuleId.String()]
	switch rule.RegionPolicy {
	case client.AlertRuleRegionPolicyMajority:
		return 2*s.votes > s.regions()
	case client.AlertRuleRegionPolicyAll:
		return s.votes == s.regions()
	case client.AlertRuleRegionPolicyAny:
	}
	return s.votes > 0
}

// state is a change of the incident.
func (s *story) state(t *client.TimelineEntry) {
	e := entry{Major: true}
	if run := s.runURL(s.incident.WorkflowId); run != "" {
		e.Links = []link{{Text: "Run", Href: run, Out: true}}
	}
	by := ""
	if t.By != nil {
		by = *t.By
	}
	since := t.Time.Sub(s.incident.StartedAt)
	switch *t.Event {
	case "incident.triggered":
		e.Mark, e.Subject, e.Chip, e.ChipDown = newMark("down", ""), "Incident triggered", string(s.incident.Severity), true
		e.Distance = "opened"
		s.opened = true
	case "incident.acknowledged":
		e.Mark, e.Subject, e.Text = newMark("person", ""), "Acknowledged", " by "+by
		if by == "" {
			e.Text = ""
		}
	case "incident.resolved":
		e.Mark, e.Distance = newMark("done", ""), "closed"
		e.Subject, e.Text = "Resolved"+s.resolvedHow(by), " after "+distance(since)
		if s.incident.Note != nil {
			e.Quote = *s.incident.Note
		}
	default:
		e.Mark, e.Subject = newMark("unknown", ""), strings.ReplaceAll(strings.TrimPrefix(*t.Event, "incident."), "_", " ")
	}
	s.add(t.Time, e)
	if e.Distance != "" { // opened and closed: what follows is counted from here
		s.anchor = t.Time
	}
}

func (s *story) resolvedHow(by string) string {
	switch {
	case s.incident.Resolution != nil && *s.incident.Resolution == "check_removed":
		return " because the check was disabled"
	case by != "":
		return " by " + by
	}
	return " by itself"
}

// attempt is one try to deliver a message.
func (s *story) attempt(t *client.TimelineEntry) {
	d, a := t.Delivery, t.Attempt
	e := entry{
		Subject: d.ChannelName, Kind: "delivery", recovery: d.EventType == client.DeliveryEventTypeIncidentResolved,
		Links: []link{{Text: "Delivery", Href: "/app/deliveries/" + d.Id.String()}},
	}
	if run := s.runURL(d.WorkflowId); run != "" && s.r.keptInTemporal(d.FinishedAt) {
		e.Links = append(e.Links, link{Text: "Run", Href: run, Out: true})
	}
	took := distance(time.Duration(a.DurationMs) * time.Millisecond)
	which := fmt.Sprintf(" attempt %d", a.Number)
	if a.Manual {
		which += " (requested)"
	}
	switch {
	case a.FinishedAt == nil:
		e.Mark, e.Text = newMark("unknown", ""), which+" is under way"
	case a.Delivered:
		e.Mark, e.Text = newMark("done", ""), " delivered"
		if a.Number > 1 {
			e.Text += fmt.Sprintf(" at attempt %d", a.Number)
			if d.ChannelType == "webhook" {
				e.Line = "Same webhook-id as the attempts before, so a receiver can drop a repeat"
			}
		}
		if a.StatusCode != nil {
			e.Text, e.Code, e.After = e.Text+": ", fmt.Sprint(*a.StatusCode), " in "+took
		} else {
			e.Text += " in " + took
		}
	default:
		e.Mark = newMark("failed", "")
		s.failure(&e, which, a, took)
	}
	s.add(t.Time, e)
}

// failure words an attempt that failed, and the wait after it.
func (s *story) failure(e *entry, which string, a *client.Attempt, took string) {
	if unknownOutcome(a) {
		e.Text = which + " may have arrived: its outcome is not known"
	} else if a.StatusCode != nil {
		e.Text, e.Code, e.After = which+" failed: ", fmt.Sprint(*a.StatusCode), " in "+took
	} else {
		e.Text = which + " failed: " + errorOf(a)
	}
	if a.NextAttemptAt != nil {
		e.Line = "Next attempt after " + distance(a.NextAttemptAt.Sub(a.StartedAt))
	}
}

// errorOf is why an attempt failed, as it stands in a sentence.
func errorOf(a *client.Attempt) string {
	if a.Error == nil {
		return "no reason is known"
	}
	return sentence(*a.Error)
}

func unknownOutcome(a *client.Attempt) bool { return a.ErrorCode != nil && *a.ErrorCode == "unknown" }

// resultLinks lead to the results of a region, and to its workflow.
func (s *story) resultLinks(region, run string) []link {
	links := []link{{Text: "Result", Href: "/app/checks/" + s.incident.CheckId.String() + "?region=" + region + "#results"}}
	if run != "" {
		links = append(links, link{Text: "Run", Href: run, Out: true})
	}
	return links
}

// runURL is the address of a workflow in the Temporal UI; empty when there is none.
func (s *story) runURL(workflow string) string {
	return runURLLike(s.incident.RunUrl, s.incident.WorkflowId, workflow)
}
