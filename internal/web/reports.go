// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// reportsBody is what the page of reports shows.
type reportsBody struct {
	Form      *form
	Period    string // in words
	Zone      string
	Note      string // where results are past their retention
	Cards     []reportCard
	Rows      []reportRow
	Total     reportRow
	Days      []reportRow
	Quiet     int64  // days on which nothing was due
	CSV       string // address of the file
	Earlier   string // address of the month before
	Later     string
	Empty     *empty
	Schedule  bool // the user may make schedules
	Schedules []reportScheduleRow
}

// QuietText says which days are not listed.
func (b *reportsBody) QuietText() string {
	switch b.Quiet {
	case 0:
		return ""
	case 1:
		return "A day on which nothing was due is left out."
	}
	return counted(b.Quiet, "day") + " on which nothing was due are left out."
}

// reportCard is a figure at the top.
type reportCard struct{ Name, Value, Help, State string }

// reportRow is a check, a day, or all.
type reportRow struct {
	Name, Href                          string
	Uptime, Down, Incidents, Ack, Fixed string
	Missed, Excluded, Budget            string
	State                               string // down when the budget is used up
}

func (s *Server) reportRoutes(on *routes) {
	on.page("GET /app/reports", s.reports)
	on.page("GET /app/reports.csv", s.reportFile)
}

// reportQuery is what the form asks for.
type reportQuery struct{ month, label, zone, target string }

func (r *request) reportQuery() reportQuery {
	q := r.URL.Query()
	trimmed := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	query := reportQuery{trimmed("month"), trimmed("label"), trimmed("timezone"), trimmed("target")}
	if query.zone == "" {
		query.zone = r.prefs.Zone.String()
	}
	if query.target == "" {
		query.target = "99.9"
	}
	return query
}

// params are the parameters of the API; a target that is no number goes to the API as one that it refuses.
func (q *reportQuery) params() *client.GetUptimeReportParams {
	params := &client.GetUptimeReportParams{Timezone: &q.zone, Target: new(q.number())}
	if q.month != "" {
		params.Month = &q.month
	}
	if labels := q.labels(); len(labels) > 0 {
		params.Label = &labels
	}
	return params
}

func (q *reportQuery) number() float64 {
	n, err := strconv.ParseFloat(strings.TrimSuffix(q.target, "%"), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
}

// labels are the selectors, which spaces separate.
func (q *reportQuery) labels() []string { return strings.Fields(q.label) }

func (q *reportQuery) address(path, month string) string {
	values := url.Values{"timezone": {q.zone}, "target": {q.target}}
	if month != "" {
		values.Set("month", month)
	}
	if q.label != "" {
		values.Set("label", q.label)
	}
	return path + "?" + values.Encode()
}

func (s *Server) reports(r *request) error {
	query := r.reportQuery()
	f := newForm(r)
	body := &reportsBody{Form: f, Zone: query.zone, Schedule: !r.readOnly()}
	f.Heading = "No report yet."
	f.add(field{Name: "month", Label: "Month", Type: "month", Value: query.month})
	f.add(field{Name: "label", Label: "Labels", Value: query.label, Placeholder: "team=shop", Mono: true, Autofill: "off"})
	f.add(field{Name: "timezone", Label: "Time zone", Value: query.zone, Autofill: "off"})
	f.add(field{Name: "target", Label: "Target, %", Value: query.target, Mode: "decimal", Autofill: "off"})
	var err error
	if body.Schedules, err = r.reportSchedules(); err != nil {
		return err
	}
	status := http.StatusOK
	found, err := r.api.GetUptimeReportWithResponse(r.Context(), query.params())
	switch {
	case err == nil:
		r.showReport(body, &query, &found.JSON200.Data)
	case f.refused(err):
		status = http.StatusUnprocessableEntity
	default:
		return err
	}
	return r.render(status, "reports", page{Title: "Reports", Nav: navReports, Body: body})
}

func (r *request) showReport(body *reportsBody, query *reportQuery, report *client.UptimeReport) {
	month := report.From.Format("2006-01")
	if field, err := body.Form.Field("month"); err == nil {
		field.Value = month
	}
	body.Period = report.From.Format("January 2006")
	if report.To.Before(report.From.AddDate(0, 1, 0)) {
		body.Period += ", up to " + report.To.Format("2 Jan, 15:04")
	}
	body.CSV = query.address("/app/reports.csv", month)
	body.Earlier = query.address("/app/reports", report.From.AddDate(0, -1, 0).Format("2006-01"))
	if next := report.From.AddDate(0, 1, 0); next.Before(r.now) {
		body.Later = query.address("/app/reports", next.Format("2006-01"))
	}
	if report.FromEdge == client.UptimeReportFromEdgeHour || report.ToEdge == client.UptimeReportToEdgeHour {
		body.Note = "Results around the edges of the month are past their retention: whole hours are counted there."
	}
	if len(report.Checks) == 0 {
		body.Empty = &empty{Icon: "search", Title: "No check matches", Text: "A report needs a check that has all of the labels."}
		return
	}
	for k := range report.Checks {
		check := &report.Checks[k]
		row := reportRowOf(check.Name, figuresOf(check))
		row.Href = "/app/checks/" + check.Id.String()
		body.Rows = append(body.Rows, row)
	}
	body.Total = reportRowOf("All checks", &report.Total)
	for k := range report.Days {
		day := &report.Days[k]
		if day.TotalChecks+day.MissedChecks+day.ExcludedChecks+day.Incidents == 0 {
			body.Quiet++
			continue
		}
		body.Days = append(body.Days, reportRowOf(day.From.Format("Mon 2 Jan"), figuresOf(day)))
	}
	total := &report.Total
	body.Cards = []reportCard{
		{Name: "Uptime", Value: percentOr(total.UptimePercentage) + " %", Help: "of " + number(total.TotalChecks) + " results"},
		{Name: "Downtime", Value: body.Total.Down, Help: counted(total.Incidents, "incident")},
		{Name: "Error budget left", Value: body.Total.Budget, Help: "of a target of " + query.target + " %", State: body.Total.State},
		{
			Name: "To acknowledge", Value: body.Total.Ack,
			Help: meanAndMedian(total.AcknowledgedIncidents, total.MedianTimeToAcknowledgeSeconds),
		},
		{
			Name: "To resolve", Value: body.Total.Fixed,
			Help: meanAndMedian(total.ResolvedIncidents, total.MedianTimeToResolveSeconds),
		},
	}
}

func meanAndMedian(incidents int64, median *float64) string {
	if incidents == 0 {
		return "no incident"
	}
	return "mean of " + counted(incidents, "incident") + "; median " + secondsOr(median)
}

// figuresOf returns the figures that a check or a day has among its other members.
func figuresOf[T client.UptimeReportCheck | client.UptimeReportDay](of *T) *client.ReportFigures {
	switch one := any(of).(type) {
	case *client.UptimeReportCheck:
		return &client.ReportFigures{
			UptimePercentage: one.UptimePercentage, TotalChecks: one.TotalChecks, DowntimeSeconds: one.DowntimeSeconds, Incidents: one.Incidents,
			MeanTimeToAcknowledgeSeconds: one.MeanTimeToAcknowledgeSeconds, MeanTimeToResolveSeconds: one.MeanTimeToResolveSeconds,
			MissedChecks: one.MissedChecks, ExcludedChecks: one.ExcludedChecks, ErrorBudget: one.ErrorBudget,
		}
	case *client.UptimeReportDay:
		return &client.ReportFigures{
			UptimePercentage: one.UptimePercentage, TotalChecks: one.TotalChecks, DowntimeSeconds: one.DowntimeSeconds, Incidents: one.Incidents,
			MeanTimeToAcknowledgeSeconds: one.MeanTimeToAcknowledgeSeconds, MeanTimeToResolveSeconds: one.MeanTimeToResolveSeconds,
			MissedChecks: one.MissedChecks, ExcludedChecks: one.ExcludedChecks, ErrorBudget: one.ErrorBudget,
		}
	}
	return nil
}

func reportRowOf(name string, f *client.ReportFigures) reportRow {
	row := reportRow{
		Name: name, Uptime: percentOr(f.UptimePercentage), Down: "–", Incidents: number(f.Incidents), Missed: number(f.MissedChecks),
		Excluded: number(f.ExcludedChecks), Ack: secondsOr(f.MeanTimeToAcknowledgeSeconds), Fixed: secondsOr(f.MeanTimeToResolveSeconds),
		Budget: "–",
	}
	if f.TotalChecks > 0 {
		row.Down = secondsOr(&f.DowntimeSeconds)
	}
	if left := f.ErrorBudget.LeftPercentage; left != nil {
		row.Budget = fmt.Sprintf("%.0f %%", *left)
		if *left < 0 {
			row.State = "down"
		}
	}
	return row
}

// secondsOr writes a number of seconds that may be unknown.
func secondsOr(seconds *float64) string {
	if seconds == nil {
		return "–"
	}
	if *seconds == 0 {
		return "0"
	}
	return distance(time.Duration(*seconds * float64(time.Second)))
}

// reportFile sends the file of the API.
func (s *Server) reportFile(r *request) error {
	query := r.reportQuery()
	params := query.params()
	answer, err := r.api.ExportUptimeReport(r.Context(), &client.ExportUptimeReportParams{
		Month: params.Month, Label: params.Label, Timezone: params.Timezone, Target: params.Target,
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	for _, name := range []string{"Content-Type", "Content-Disposition", "Cache-Control"} {
		r.w.Header().Set(name, answer.Header.Get(name))
	}
	if _, err := io.Copy(r.w, answer.Body); err != nil && !errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // a part must not look like the whole
	}
	return nil
}
