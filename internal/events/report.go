// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// reportReady is the type of the event that a scheduled report is.
const reportReady vigil.EventType = "report.ready"

// ReportPage is the path of the dashboard's page of reports.
const ReportPage = "/app/reports"

// WorstChecks are the checks of a report with the most downtime.
type WorstChecks []overview.ReportRow

// mostWorst is how many checks a message names.
const mostWorst = 5

// Add adds a check if it is one of the worst, and had any failure.
func (w *WorstChecks) Add(row *overview.ReportRow) {
	if row.Total == row.Successful {
		return
	}
	*w = append(*w, *row)
	slices.SortStableFunc(*w, func(a, b overview.ReportRow) int { return cmp.Compare(b.Down, a.Down) })
	*w = (*w)[:min(mostWorst, len(*w))]
}

type envelopeReport struct {
	ID         uuid.UUID             `json:"id"` // of the schedule
	Name       string                `json:"name"`
	From       time.Time             `json:"from"`
	To         time.Time             `json:"to"`
	Timezone   string                `json:"timezone"`
	Labels     []string              `json:"labels"`
	Checks     int64                 `json:"checks"`
	Target     float64               `json:"target_percentage"`
	Uptime     *float64              `json:"uptime_percentage"`
	Down       float64               `json:"downtime_seconds"`
	Incidents  int64                 `json:"incidents"`
	Missed     int64                 `json:"missed_checks"`
	Excluded   int64                 `json:"excluded_checks"`
	BudgetLeft *float64              `json:"error_budget_left_percentage"`
	Worst      []envelopeReportCheck `json:"worst_checks"`
}

type envelopeReportCheck struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Uptime float64   `json:"uptime_percentage"`
	Down   float64   `json:"downtime_seconds"`
}

// ReportReady is the event of a report of a schedule, of the time at; its subject is that report.
func ReportReady(
	s *overview.ReportSchedule, report *overview.Report, worst WorstChecks, at, now time.Time, publicURL string,
) SystemContent {
	span := report.Span
	data := envelopeReport{
		ID:       s.ID,
		Name:     truncate(s.Name),
		From:     span.From.UTC(),
		To:       span.To.UTC(),
		Timezone: span.Zone.String(),
		Labels: append(
			[]string{},
			s.Labels...),
		Checks:     report.Checks,
		Target:     s.Target,
		Down:       report.Down.Seconds(),
		Incidents:  report.Incidents,
		Missed:     report.Missed,
		Excluded:   report.Excluded,
		BudgetLeft: report.Budget(s.Target).LeftPercentage(),
		Worst:      []envelopeReportCheck{},
	}
	uptime := "no results"
	if report.Total > 0 {
		data.Uptime = new(report.Uptime().Percentage())
		uptime = floored(*data.Uptime) + " % uptime"
	}
	for i := range worst {
		data.Worst = append(data.Worst, envelopeReportCheck{
			ID: worst[i].CheckID, Name: truncate(worst[i].Name), Uptime: worst[i].Uptime().Percentage(), Down: worst[i].Down.Seconds(),
		})
	}
	about := SystemContent{
		Type: reportReady, OrgID: s.OrgID, SubjectID: overview.ReportID(s.ID, at), Time: now, Severity: vigil.Info,
		Title: fmt.Sprintf("%s: %s, %s", truncate(s.Name), periodName(s.Recurrence.Every, span), uptime),
		Body:  reportText(report, data, worst), Data: map[string]any{"report": data},
	}
	if publicURL != "" {
		about.URL = publicURL + ReportPage + "?" + reportAddress(s, span).Encode()
	}
	return about
}

func reportAddress(s *overview.ReportSchedule, span overview.Span) url.Values {
	values := url.Values{
		"timezone": {span.Zone.String()}, "target": {strconv.FormatFloat(s.Target, 'f', -1, 64)},
		"month": {span.From.In(span.Zone).Format("2006-01")},
	}
	if len(s.Labels) > 0 {
		values.Set("label", strings.Join(s.Labels, " "))
	}
	return values
}

// periodName names the time of a report for people.
func periodName(every overview.Every, span overview.Span) string {
	from := span.From.In(span.Zone)
	switch every {
	case overview.Weekly:
		year, week := from.ISOWeek()
		return fmt.Sprintf("week %d of %d", week, year)
	case overview.Quarterly:
		return fmt.Sprintf("quarter %d of %d", (int(from.Month())+2)/3, from.Year()) //nolint:mnd // months
	case overview.Monthly:
	}
	return from.Format("January 2006")
}

// reportText is the body of the message.
func reportText(report *overview.Report, data envelopeReport, worst WorstChecks) string {
	lines := []string{fmt.Sprintf("%d checks. Down %s, %d incidents, %d results missed, %d in maintenance.",
		report.Checks, took(report.Down), report.Incidents, report.Missed, report.Excluded)}
	if mean, median := overview.MeanMedian(report.ToAcknowledge); mean != nil {
		lines = append(lines, fmt.Sprintf("Acknowledged after %s on average (median %s).", took(*mean), took(*median)))
	}
	if mean, median := overview.MeanMedian(report.ToResolve); mean != nil {
		lines = append(lines, fmt.Sprintf("Resolved after %s on average (median %s).", took(*mean), took(*median)))
	}
	if data.BudgetLeft != nil {
		lines = append(lines, fmt.Sprintf("Of the error budget of %g %%, %.0f %% is left.", data.Target, *data.BudgetLeft))
	}
	for i := range worst {
		lines = append(
			lines,
			fmt.Sprintf("%s: %s %%, down %s", truncate(worst[i].Name), floored(worst[i].Uptime().Percentage()), took(worst[i].Down)),
		)
	}
	return strings.Join(lines, "\n")
}

func took(d time.Duration) string { return d.Round(time.Second).String() }

// floored writes a percentage with three decimals, never rounded up to 100.
func floored(p float64) string {
	const digits = 1000
	return strconv.FormatFloat(float64(int64(p*digits+1e-9))/digits, 'f', -1, 64)
}
