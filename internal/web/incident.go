// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// incidentBody is what the page of an incident shows.
type incidentBody struct {
	ID, Title, Summary string
	Badge              badge
	Severity           badge
	Open               bool // not resolved
	Acknowledge        bool // it can be acknowledged
	CheckHref          string
	Labels             []labelLink // of the check
	Run                string      // the workflow in the Temporal UI
	Lanes              *lanes
	Tabs               []choice
	Entries            []entry
	More               int64 // entries that are not read
	Figures            []fact
	Facts              []fact
	Fired              *firedResult
	Before             []link
	BeforeTimes        []stamp
	Updates            *publicUpdates
}

// firedResult is the result that made the rule fire.
type firedResult struct {
	Where, Error, Code string
	Facts              []fact
	Evidence           *evidenceView // nil: none is kept
}

// incidentData is what the API knows of an incident.
type incidentData struct {
	incident   client.Incident
	check      *client.Check
	rules      []client.AlertRule
	timeline   []client.TimelineEntry
	entries    int64 // in all
	deliveries []client.Delivery
	before     []client.Incident
	failures   map[string]time.Time // first failure in a row before the first vote, by region
	first      *client.Result
}

func (s *Server) incidentRoutes(on *routes) {
	on.page("GET /app/incidents/{id}", s.incidentPage)
	on.page("POST /app/incidents/{id}/acknowledge", s.acknowledgeIncident)
	on.page("GET /app/incidents/{id}/resolve", s.resolvePage)
	on.page("POST /app/incidents/{id}/resolve", s.resolveIncident)
}

// pathID reads the id of a path; a malformed one is the page of what does not exist.
func (r *request) pathID(name string) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue(name))
	if err != nil {
		return uuid.Nil, errNoPage()
	}
	return id, nil
}

func (s *Server) incidentPage(r *request) error {
	p, err := s.readIncidentPage(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "incident", p)
}

// readIncidentPage reads the page of the incident in the path. It stays live when the incident
// is resolved: its last messages are still on their way.
func (s *Server) readIncidentPage(r *request) (page, error) {
	id, err := r.pathID("id")
	if err != nil {
		return page{}, err
	}
	data, err := readIncident(r, id)
	if err != nil {
		return page{}, err
	}
	body := incidentBodyOf(r, data)
	if body.Updates, err = r.readUpdates(id); err != nil {
		return page{}, err
	}
	live := "page=" + liveIncident + "&check=" + data.incident.CheckId.String()
	return page{Title: body.Title, Nav: navIncidents, Live: live, Body: body}, nil
}

// timelinePages bounds how much of a timeline a page reads, in pages of 100.
const timelinePages = 10

// readIncident reads what the page shows. The check may have been deleted since.
func readIncident(r *request, id uuid.UUID) (*incidentData, error) {
	found, err := r.api.GetIncidentWithResponse(r.Context(), id)
	if err != nil {
		return nil, err
	}
	data := &incidentData{incident: found.JSON200.Data}
	work, ctx := errgroup.WithContext(r.Context())
	most := int64(100)
	work.Go(func() error {
		check, err := r.api.GetCheckWithResponse(ctx, data.incident.CheckId, nil)
		if err == nil {
			data.check = &check.JSON200.Data
		}
		return unlessMissing(err)
	})
	work.Go(func() error {
		rules, err := r.api.ListAlertRulesWithResponse(ctx, data.incident.CheckId, &client.ListAlertRulesParams{Limit: &most})
		if err == nil {
			data.rules = rules.JSON200.Data
		}
		return unlessMissing(err)
	})
	work.Go(func() error {
		for len(data.timeline) < timelinePages*int(most) {
			from := int64(len(data.timeline))
			part, err := r.api.ListIncidentTimelineWithResponse(ctx, id, &client.ListIncidentTimelineParams{Limit: &most, Offset: &from})
			if err != nil {
				return err
			}
			data.timeline = append(data.timeline, part.JSON200.Data...)
			data.entries = totalOf(part.JSON200.Meta)
			if int64(len(data.timeline)) >= data.entries || len(part.JSON200.Data) == 0 {
				break
			}
		}
		return nil
	})
	work.Go(func() error {
		list, err := r.api.ListDeliveriesWithResponse(ctx, &client.ListDeliveriesParams{Limit: &most, IncidentId: &id})
		if err == nil {
			data.deliveries = list.JSON200.Data
		}
		return err
	})
	work.Go(func() error {
		list, err := r.api.ListIncidentsWithResponse(ctx, &client.ListIncidentsParams{Limit: &most, CheckId: &data.incident.CheckId})
		if err == nil {
			data.before = list.JSON200.Data
		}
		return err
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return data, data.readFailures(r)
}

// unlessMissing passes over the error of what was deleted meanwhile.
func unlessMissing(err error) error {
	if hasCode(err, "not_found") {
		return nil
	}
	return err
}

// mostFailures bounds how many results before a vote are read, and how many regions.
const mostFailures, mostFailureRegions = 100, 6

// readFailures reads the failures in a row before the first vote of each region. They are
// left out when their results are not kept any more.
func (d *incidentData) readFailures(r *request) error {
	d.failures = make(map[string]time.Time)
	seen := make(map[string]bool)
	for i := range d.timeline {
		t := &d.timeline[i]
		if t.Kind != client.TimelineEntryKindEdge || seen[*t.Region] || len(seen) == mostFailureRegions {
			continue
		}
		seen[*t.Region] = true
		if len(*t.FiringRules) == 0 || t.FailureCount == nil || *t.FailureCount < 1 {
			continue
		}
		until, limit := t.Time.Add(time.Millisecond), min(*t.FailureCount, mostFailures)
		list, err := r.api.ListResultsWithResponse(r.Context(), d.incident.CheckId,
			&client.ListResultsParams{Region: t.Region, To: &until, Limit: &limit})
		if err != nil {
			return unlessMissing(err)
		}
		rows := list.JSON200.Data
		if n := slices.IndexFunc(rows, func(result client.Result) bool { return result.Success }); n >= 0 {
			rows = rows[:n]
		}
		if len(rows) == 0 {
			continue
		}
		oldest := rows[len(rows)-1]
		d.failures[*t.Region] = oldest.Time
		if oldest.Time.Before(t.Time) && (d.first == nil || oldest.Time.Before(d.first.Time)) {
			d.first = &oldest
		}
	}
	return nil
}

func incidentBodyOf(r *request, d *incidentData) *incidentBody {
	i := &d.incident
	s := newStory(r, i, d.check, d.rules)
	s.first(d.first)
	for k := range d.timeline {
		s.append(&d.timeline[k])
	}
	body := &incidentBody{
		ID: i.Id.String(), Title: i.Title, Summary: summaryOf(i), Open: i.Status != client.IncidentStatusResolved,
		Acknowledge: i.Status == client.IncidentStatusActive, CheckHref: "/app/checks/" + i.CheckId.String(),
		Severity: severityBadge(severityNow(i)), Badge: incidentBadge(r, i),
		Lanes: newLanes(r, s, d.timeline, d.failures), Tabs: timelineTabs(r), More: d.entries - int64(len(d.timeline)),
		Entries: chosenEntries(r, fold(s.entries)), Facts: incidentFacts(r, d), Fired: fired(r, i), Labels: r.labelsOf(d.check),
	}
	if i.RunUrl != nil {
		body.Run = *i.RunUrl
	}
	body.Figures = incidentFigures(r, d, s)
	for k := range d.before {
		if other := &d.before[k]; other.StartedAt.Before(i.StartedAt) && len(body.Before) < 3 {
			length := "open"
			if other.ResolvedAt != nil {
				length = span(other.ResolvedAt.Sub(other.StartedAt))
			}
			body.Before = append(body.Before, link{Text: length, Href: "/app/incidents/" + other.Id.String()})
			body.BeforeTimes = append(body.BeforeTimes, r.dayTime(other.StartedAt))
		}
	}
	return body
}

// incidentBadge is the state of an incident, with its length once it ended.
func incidentBadge(r *request, i *client.Incident) badge {
	switch {
	case i.ResolvedAt != nil:
		return badge{State: "done", Text: "Resolved after " + spanExact(i.ResolvedAt.Sub(i.StartedAt))}
	case i.AcknowledgedAt != nil:
		return badge{State: "warn", Text: "Acknowledged, open ", Age: r.ago(i.StartedAt)}
	}
	return badge{State: "down", Text: "Open ", Age: r.ago(i.StartedAt)}
}

func severityBadge(severity string) badge {
	state := map[string]string{"critical": "down", "warning": "warn"}[severity]
	if state == "" {
		state = "unknown"
	}
	return badge{State: state, Text: capital(severity)}
}

// timelineTabs are the filters of the timeline.
func timelineTabs(r *request) []choice {
	chosen := r.URL.Query().Get("show")
	tab := func(text, value string) choice {
		href := r.URL.Path
		if value != "" {
			href += "?show=" + value
		}
		return choice{Text: text, Href: href + "#timeline", Chosen: chosen == value}
	}
	return []choice{tab("All", ""), tab("Votes", "vote"), tab("Deliveries", "delivery")}
}

// chosenEntries keeps what the filter selects; changes of the incident always stay.
func chosenEntries(r *request, entries []entry) []entry {
	chosen := r.URL.Query().Get("show")
	if chosen != "vote" && chosen != "delivery" {
		return entries
	}
	return slices.DeleteFunc(entries, func(e entry) bool { return e.Kind != "" && e.Kind != chosen })
}

func incidentFacts(r *request, d *incidentData) []fact {
	i := &d.incident
	facts := []fact{{Name: "Check", Value: strings.TrimSuffix(i.Title, " is failing"), Link: "/app/checks/" + i.CheckId.String()}}
	if d.check != nil {
		facts[0].Value = d.check.Name
	}
	facts = append(facts, fact{Name: "Rule", Value: "deleted since"})
	for _, rule := range d.rules {
		if rule.Id == i.AlertRuleId {
			facts[1] = fact{Name: "Rule", Value: rule.Name, Link: rulePath(i.CheckId, rule.Id)}
		}
	}
	opened := r.date(i.StartedAt)
	facts = append(facts, ruleFacts(r, i)...)
	facts = append(facts, fact{Name: "Severity", Value: capital(severityNow(i))}, fact{Name: "Opened", Time: &opened})
	if i.AcknowledgedAt != nil {
		facts = append(facts, fact{Name: "Acknowledged", Value: byAfter(i.AcknowledgedBy, i.AcknowledgedAt.Sub(i.StartedAt))})
	}
	if i.ResolvedAt != nil {
		how := byAfter(i.ResolvedBy, i.ResolvedAt.Sub(i.StartedAt))
		if i.ResolvedBy == nil {
			how = "by itself, after " + spanExact(i.ResolvedAt.Sub(i.StartedAt))
		}
		facts = append(facts, fact{Name: "Resolved", Value: how})
	}
	if i.Note != nil {
		facts = append(facts, fact{Name: "Note", Value: *i.Note})
	}
	facts = append(facts, fact{Name: "Regions", Value: r.cityList(i.Regions)}, fact{Name: "Notified", Value: notified(d)})
	workflow := fact{Name: "Workflow", Value: short(i.WorkflowId), Mono: true}
	if i.RunUrl != nil && r.keptInTemporal(i.ResolvedAt) {
		workflow.Link = *i.RunUrl
	}
	return append(facts, workflow)
}

func byAfter(by *string, after time.Duration) string {
	who := "by a key"
	if by != nil {
		who = "by " + *by
	}
	return who + ", after " + spanExact(after)
}

// notified says how many channels got the first message, and how soon the first one did.
func notified(d *incidentData) string {
	reached, all, first := reach(d)
	if all == 0 {
		return "no channel"
	}
	if reached == 0 {
		return fmt.Sprintf("none of %s yet", counted(int64(all), "channel"))
	}
	text := counted(int64(all), "channel")
	if reached < all {
		text = fmt.Sprintf("%d of %s", reached, text)
	}
	return text + ", first after " + offset(first.Sub(d.incident.CreatedAt))
}

// reach counts the channels that the opening reached, and those that it goes to. first is
// when the first one had it.
func reach(d *incidentData) (reached, all int, first time.Time) {
	for k := range d.deliveries {
		delivery := &d.deliveries[k]
		if delivery.EventType != client.DeliveryEventTypeIncidentTriggered {
			continue
		}
		all++
		if delivery.Status == client.DeliveryStatusDelivered && delivery.FinishedAt != nil {
			reached++
			if first.IsZero() || delivery.FinishedAt.Before(first) {
				first = *delivery.FinishedAt
			}
		}
	}
	return reached, all, first
}

// incidentFigures are the figures on top of a phone.
func incidentFigures(r *request, d *incidentData, s *story) []fact {
	reached, all, _ := reach(d)
	figures := []fact{
		{Name: "Votes", Value: fmt.Sprintf("%d of %d", s.votes, s.regions())},
		{Name: "Notified", Value: fmt.Sprintf("%d of %d", reached, all)},
	}
	var next time.Time
	for k := range d.deliveries {
		if at := d.deliveries[k].NextAttemptAt; at != nil && (next.IsZero() || at.Before(next)) {
			next = *at
		}
	}
	figure := fact{Name: "Next try", Value: "none"}
	if !next.IsZero() {
		due := r.due(next)
		figure.Time = &due
	}
	return append(figures, figure)
}
