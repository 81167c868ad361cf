// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) checkRoutes(on *routes) {
	on.page("GET /app/checks/{id}", s.checkPage)
	on.page("GET /app/checks/{id}/regions", s.checkRegions)
	on.page("POST /app/checks/{id}/test", s.testCheck)
	on.page("POST /app/checks/{id}/enabled", s.switchCheck)
	on.page("GET /app/checks/{id}/delete", s.confirmCheckDelete)
	on.page("POST /app/checks/{id}/delete", s.deleteCheck)
}

// checkBody is what the page of a check shows.
type checkBody struct {
	ID, Name, Path string
	Labels         []labelLink
	Badge          *badge
	Facts          []string // what it is, in one line
	Target         string
	Heartbeat      bool   // it cannot be tested by hand
	PingURL        string // of a heartbeat, for those who may change it
	Enabled        bool
	Regions        []choice // to test from; none for a check of one region
	Banner         *checkBanner
	Maintenance    []maintenanceNote
	RestZone       string // of the times until which it can be paused
	Figures        []figure
	Periods        []choice
	PeriodText     string // of the chosen period: 24 h
	Chart          *chart
	Phases         *phases
	Days           dayBars
	DaysNote       incidentTotal
	Loops          loopTable
	Results        resultTable
	Rules          []ruleCard
	AddRule        string
	Receiving      []receivingLine
	Late           []lateLine
	Waiting        *empty
	Tested         *testOutcome
	ShowAll        string
	Revision       string
	Back           string
	ReadyRows      bool
}

// checkBanner is the open incident.
type checkBanner struct {
	State, Title, Text string
	Since, Age         stamp
	Incident           string
	Acknowledged       bool
	Back               string
}

// figure is a number with its label.
type figure struct {
	Label, Value, Unit string
	Red                bool
}

// checkData are the API's answers for the page.
type checkData struct {
	check   client.Check
	summary *client.CheckSummary
	loops   []client.Loop
	uptimes map[string]client.Uptime
	days    []client.UptimeDay
	series  client.Series
	// seriesError says what is wrong with the time that was asked for.
	seriesError string
	results     client.ResultList
	recent      []client.Result
	rules       []client.AlertRule
	receiving   []client.CheckRecipient
	channels    map[string]string
	incidents   []client.Incident
	windows     []client.MaintenanceWindow
	late        []client.LateIncident
	delivered   int
}

// checkID reads the id of the path. What is no id is no page.
func (r *request) checkID() (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return uuid.Nil, errNoPage()
	}
	return id, nil
}

func (s *Server) checkPage(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	view := readResultView(r.URL.Query())
	if r.partial() && r.Header.Get("Hx-Target") == "more-results" {
		return r.moreResults(id, view)
	}
	p, err := s.readCheckPage(r)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if body, ok := p.Body.(*checkBody); ok && body.Chart.Error != "" {
		status = http.StatusUnprocessableEntity
	}
	return r.render(status, "check", p)
}

// readCheckPage reads the page of the check in the path.
func (s *Server) readCheckPage(r *request) (page, error) {
	id, err := r.checkID()
	if err != nil {
		return page{}, err
	}
	view := readResultView(r.URL.Query())
	data, err := r.readCheckData(id, &view)
	if err != nil {
		return page{}, err
	}
	body := r.checkBody(data, view)
	p := page{Title: body.Name, Nav: navChecks, Live: "page=" + liveCheck + "&check=" + id.String(), Chart: true, Lean: true, Body: body}
	if body.Banner != nil {
		p.Title = body.Banner.Title
	}
	return p, nil
}

// readCheckData asks the API for everything on the page at the same time.
func (r *request) readCheckData(id uuid.UUID, view *resultView) (*checkData, error) {
	d := &checkData{uptimes: make(map[string]client.Uptime)}
	yes, many, one := true, int64(100), int64(1)
	ctx, now := r.Context(), r.now
	list, err := r.api.ListChecksWithResponse(ctx, &client.ListChecksParams{Id: &[]string{id.String()}, Summary: &yes, Limit: &one})
	if err != nil {
		return nil, err
	}
	if len(list.JSON200.Data) == 0 {
		return nil, &APIError{
			Status:  http.StatusNotFound,
			Code:    "not_found",
			Message: "There is no check at this address. It may have been deleted.",
		}
	}
	d.check = list.JSON200.Data[0]
	d.summary = d.check.Summary
	view.grow(now.Sub(d.check.CreatedAt), r.URL.Query().Get("period") != "")
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		got, err := r.api.ListCheckRegionsWithResponse(ctx, id, &client.ListCheckRegionsParams{Limit: &many, Stored: &yes})
		return keep(err, func() { d.loops = got.JSON200.Data })
	})
	periods := []client.GetUptimeParamsPeriod{"24h", "7d", "30d", "90d"}
	uptimes := make([]client.Uptime, len(periods))
	for i, period := range periods {
		work.Go(func() error {
			got, err := r.api.GetUptimeWithResponse(ctx, id, &client.GetUptimeParams{Period: &period})
			return keep(err, func() { uptimes[i] = got.JSON200.Data })
		})
	}
	work.Go(func() error {
		got, err := r.api.ListUptimeDaysWithResponse(ctx, id, &client.ListUptimeDaysParams{})
		return keep(err, func() { d.days = got.JSON200.Data })
	})
	work.Go(func() error {
		got, err := r.api.GetSeriesWithResponse(ctx, id, r.seriesParams(view))
		return d.keepSeries(got, err)
	})
	work.Go(func() error {
		got, err := r.api.ListResultsWithResponse(ctx, id, view.params())
		return keep(err, func() { d.results = *got.JSON200 })
	})
	work.Go(func() error {
		from, limit := now.Add(-time.Hour), int64(200)
		got, err := r.api.ListResultsWithResponse(ctx, id, &client.ListResultsParams{From: &from, Limit: &limit, Success: &yes})
		return keep(err, func() { d.recent = got.JSON200.Data })
	})
	work.Go(func() error {
		got, err := r.api.ListAlertRulesWithResponse(ctx, id, &client.ListAlertRulesParams{Limit: &many})
		return keep(err, func() { d.rules = got.JSON200.Data })
	})
	work.Go(func() error { return r.readReceiving(ctx, d) })
	work.Go(func() error {
		got, err := r.api.ListIncidentsWithResponse(ctx, &client.ListIncidentsParams{CheckId: &id, Limit: &many})
		return keep(err, func() { d.incidents = got.JSON200.Data })
	})
	work.Go(func() error {
		active := client.ListMaintenanceWindowsParamsStateActive
		got, err := r.api.ListMaintenanceWindowsWithResponse(
			ctx,
			&client.ListMaintenanceWindowsParams{CheckId: &id, State: &active, Limit: &many},
		)
		return keep(err, func() { d.windows = got.JSON200.Data })
	})
	work.Go(func() error { return r.readDelivered(ctx, d) })
	work.Go(func() error { return r.readLate(ctx, id, d) })
	work.Go(func() (err error) {
		d.channels, err = r.channelNames()
		return err
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, period := range periods {
		d.uptimes[string(period)] = uptimes[i]
	}
	return d, nil
}

// keep runs set when there is no error.
func keep(err error, set func()) error {
	if err == nil {
		set()
	}
	return err
}

// readDelivered counts the channels that have been notified of the open incident.
func (r *request) readDelivered(ctx context.Context, d *checkData) error {
	open := d.summary.Incident
	if open == nil || open.Id == uuid.Nil {
		return nil
	}
	limit, status := int64(100), client.ListDeliveriesParamsStatusDelivered
	got, err := r.api.ListDeliveriesWithResponse(ctx, &client.ListDeliveriesParams{IncidentId: &open.Id, Status: &status, Limit: &limit})
	return keep(err, func() {
		seen := map[string]bool{}
		for i := range got.JSON200.Data {
			seen[got.JSON200.Data[i].ChannelId.String()] = true
		}
		d.delivered = len(seen)
	})
}

func (r *request) checkBody(d *checkData, view resultView) *checkBody {
	c := &d.check
	path := "/app/checks/" + c.Id.String()
	b := &checkBody{
		ID: c.Id.String(), Name: c.Name, Path: path, Enabled: c.Enabled, Target: r.fullTarget(c), Facts: checkFacts(c, d.recent),
		AddRule: path + "/rules/new", Back: path, Labels: r.labelsOf(c), RestZone: r.prefs.Zone.String(),
	}
	b.Heartbeat = string(c.Type) == kindHeartbeat
	if c.PingUrl != nil {
		b.PingURL = *c.PingUrl
	}
	if b.Badge = checkBadge(c, d.summary); len(c.Regions) > 1 {
		for _, key := range c.Regions {
			b.Regions = append(b.Regions, choice{Text: r.city(key), Href: key})
		}
	}
	b.Banner, b.Maintenance, b.Late = r.checkBanner(d), maintenanceNotes(d.windows), r.lateLines(d)
	b.Figures = checkFigures(d)
	for _, period := range []string{"1h", "24h", "7d", "30d", "90d"} {
		number, unit := period[:len(period)-1], period[len(period)-1:]
		if period == view.Period {
			b.PeriodText = number + " " + unit
		}
		b.Periods = append(
			b.Periods,
			choice{
				Text: number + " " + unit, Href: view.with(path, func(v *resultView) { v.Period, v.From, v.To, v.Table = period, "", "", false }),
				Chosen: view.Period == period && !view.zoomed(),
			},
		)
	}
	b.Chart = r.newChart(d, &view, path)
	b.Phases = r.newPhases(d.recent)
	b.Days, b.DaysNote = newDayBars(d.days, "pass"), r.incidentTotal(d)
	b.Loops = loopTable{Path: path, Rows: r.loopRows(d.loops, d.uptimes["24h"])}
	b.Results = r.resultTable(d, view, path)
	firing := make(map[string]bool)
	for i := range d.loops {
		for _, id := range d.loops[i].FiringRules {
			firing[id.String()] = true
		}
	}
	b.Rules, b.Receiving = ruleCards(d.rules, d.channels, len(c.Regions), firing), receivingLines(c, d.receiving)
	if c.Enabled && len(d.recent) == 0 && len(d.results.Data) == 0 && view.unfiltered() {
		b.Waiting = r.waiting(d)
	}
	return b
}

// checkBadge says the state of the check; nil while it passes.
func checkBadge(c *client.Check, sum *client.CheckSummary) *badge {
	switch sum.State {
	case client.CheckSummaryStateDisabled:
		return &badge{State: "paused", Text: "Paused"}
	case client.CheckSummaryStateUnknown:
		if c.LastChecked != nil {
			return &badge{State: "unknown", Text: noRecentResult}
		}
		return &badge{State: "unknown", Text: "No result yet"}
	case client.CheckSummaryStateWarning:
		return &badge{State: "warn", Text: "Warning"}
	case client.CheckSummaryStateFailing:
		failing := 0
		for _, region := range sum.Regions {
			if region.HealthStatus == "unhealthy" {
				failing++
			}
		}
		if len(c.Regions) == 1 {
			return &badge{State: "down", Text: "Failing"}
		}
		return &badge{State: "down", Text: "Failing in " + number(int64(failing)) + " of " + counted(int64(len(c.Regions)), "region")}
	case client.CheckSummaryStatePassing:
	}
	return &badge{State: "up", Text: "Passing"}
}

func (r *request) checkBanner(d *checkData) *checkBanner {
	open := d.summary.Incident
	if open == nil || open.Id == uuid.Nil {
		return nil
	}
	state := "down"
	if severityOf(open.Rules, string(open.WorstSeverity)) != "critical" {
		state = "warn"
	}
	b := &checkBanner{State: state, Title: open.Title, Incident: open.Id.String(), Acknowledged: open.Status == "acknowledged"}
	b.Since, b.Age = r.stamp(open.StartedAt), r.ago(open.StartedAt)
	if why := r.reasonOf(d.summary); why != nil {
		b.Text += " · " + why.What
	}
	if d.delivered > 0 {
		b.Text += " · " + counted(int64(d.delivered), "channel") + " notified"
	}
	switch {
	case open.AcknowledgedBy != nil:
		b.Text += " · " + person(*open.AcknowledgedBy) + " has it"
	case !b.Acknowledged:
		b.Text += " · unacknowledged"
	}
	b.Back = "/app/checks/" + d.check.Id.String()
	return b
}

// incidentTotal is how many incidents there were, and how long they lasted together, empty without any.
type incidentTotal struct {
	Text   string
	Length stamp // the browser goes on counting while one is open
}

// incidentTotal sums the incidents of the last 90 days.
func (r *request) incidentTotal(d *checkData) incidentTotal {
	since := r.now.AddDate(0, 0, -90)
	n, length, open := int64(0), time.Duration(0), false
	for i := range d.incidents {
		incident := &d.incidents[i]
		end := r.now
		if incident.ResolvedAt != nil {
			end = *incident.ResolvedAt
		}
		if end.Before(since) {
			continue
		}
		n++
		length += end.Sub(incident.StartedAt)
		open = open || incident.ResolvedAt == nil
	}
	if n == 0 {
		return incidentTotal{Text: "no incident"}
	}
	total := incidentTotal{Text: counted(n, "incident"), Length: stamp{Text: spanExact(length)}}
	if open {
		total.Length = r.length(r.now.Add(-length))
		total.Length.Full = "one is open"
	}
	return total
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
