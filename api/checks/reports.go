// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// reportStore makes reports.
type reportStore interface {
	Report(
		ctx context.Context, orgID uuid.UUID, q overview.ReportQuery, visit func(*overview.ReportRow) error,
	) (overview.Report, error)
}

type reports struct {
	store reportStore
	now   func() time.Time
	files *resource.AtOnce
}

// reportDeadline is how long a report may be made.
const reportDeadline = 30 * time.Second

// ReportFigures are what a report says of a check, a day, or in all.
type ReportFigures struct {
	UptimePercentage *float64 `json:"uptime_percentage" minimum:"0" maximum:"100" doc:"Share of the results that succeeded; null without a result."`
	TotalChecks      int64    `json:"total_checks" doc:"Results outside of maintenance."`
	SuccessfulChecks int64    `json:"successful_checks"`
	FailedChecks     int64    `json:"failed_checks"`
	MissedChecks     int64    `json:"missed_checks" doc:"Results that were due and are missing."`
	ExcludedChecks   int64    `json:"excluded_checks" doc:"Results in maintenance; no other number includes them."`
	MeasuredSeconds  float64  `json:"measured_seconds" minimum:"0" doc:"The time that the results stand for. An hour without results adds nothing."`
	DowntimeSeconds  float64  `json:"downtime_seconds" minimum:"0" doc:"The part of it in which the target failed: of each hour, the share of its results that failed."`

	Incidents             int64    `json:"incidents" doc:"Incidents that began in the time."`
	AcknowledgedIncidents int64    `json:"acknowledged_incidents" doc:"How many of them are acknowledged by now."`
	ResolvedIncidents     int64    `json:"resolved_incidents" doc:"How many of them are resolved by now."`
	MeanAcknowledge       *float64 `json:"mean_time_to_acknowledge_seconds" doc:"Mean time from the beginning of an incident to its acknowledgment; null without one."`
	MedianAcknowledge     *float64 `json:"median_time_to_acknowledge_seconds" doc:"Median of the same."`
	MeanResolve           *float64 `json:"mean_time_to_resolve_seconds" doc:"Mean time from the beginning of an incident to its end; null without one."`
	MedianResolve         *float64 `json:"median_time_to_resolve_seconds" doc:"Median of the same."`

	Budget BudgetView `json:"error_budget"`
}

// BudgetView is the error budget that a target leaves.
type BudgetView struct {
	AllowedFailures float64  `json:"allowed_failures" minimum:"0" doc:"How many of the results may fail: their number, times 100 % less the target."`
	UsedFailures    int64    `json:"used_failures" minimum:"0" doc:"How many failed."`
	LeftPercentage  *float64 `json:"left_percentage" maximum:"100" doc:"Share of the budget that is left, negative when more failed than may; null without a result. Missed results and results in maintenance do not count."`
	AllowedDowntime float64  `json:"allowed_downtime_seconds" minimum:"0" doc:"The part of measured_seconds that may be down."`
}

// uptimeReportDayView is a day of a report.
type uptimeReportDayView struct {
	Day  string    `json:"day" format:"date" doc:"The day in the time zone." example:"2026-10-25"`
	From time.Time `json:"from" doc:"Where it begins."`
	To   time.Time `json:"to" doc:"Where it ends; a day has 23, 24 or 25 hours."`
	ReportFigures
}

// uptimeReportCheckView is a check of a report.
type uptimeReportCheckView struct {
	ID   uuid.UUID             `json:"id" format:"uuid"`
	Name string                `json:"name"`
	Days []uptimeReportDayView `json:"days,omitempty" doc:"Where days=true was sent."`
	ReportFigures
}

// uptimeReportView is a report of uptime.
type uptimeReportView struct {
	From     time.Time               `json:"from"`
	To       time.Time               `json:"to" doc:"The present where the time is not over yet."`
	Timezone string                  `json:"timezone" example:"Europe/Berlin"`
	FromEdge overview.Precision      `json:"from_edge" enum:"exact,hour" doc:"exact: from is met to the slot. hour: the results of a check around it are past their retention, and an hour (UTC) that from divides belongs to the time before."`
	ToEdge   overview.Precision      `json:"to_edge" enum:"exact,hour" doc:"As from_edge; the hour belongs to this time."`
	Target   float64                 `json:"target_percentage"`
	Total    ReportFigures           `json:"total" doc:"The sum of the checks, and of the days. A check with more results has more weight."`
	Days     []uptimeReportDayView   `json:"days" doc:"All checks by day, oldest first."`
	Checks   []uptimeReportCheckView `json:"checks" doc:"By name."`
}

func showFigures(f *overview.Figures, target float64) ReportFigures {
	view := ReportFigures{
		TotalChecks: f.Total, SuccessfulChecks: f.Successful, FailedChecks: f.Total - f.Successful, MissedChecks: f.Missed,
		ExcludedChecks: f.Excluded, MeasuredSeconds: f.Measured.Seconds(), DowntimeSeconds: f.Down.Seconds(),
		Incidents: f.Incidents, AcknowledgedIncidents: f.Acknowledged, ResolvedIncidents: f.Resolved,
	}
	if f.Total > 0 {
		view.UptimePercentage = new(f.Uptime().Percentage())
	}
	view.MeanAcknowledge, view.MedianAcknowledge = inSeconds(overview.MeanMedian(f.ToAcknowledge))
	view.MeanResolve, view.MedianResolve = inSeconds(overview.MeanMedian(f.ToResolve))
	budget := f.Budget(target)
	view.Budget = BudgetView{
		AllowedFailures: budget.Allowed, UsedFailures: budget.Used, LeftPercentage: budget.LeftPercentage(),
		AllowedDowntime: budget.Time.Seconds(),
	}
	return view
}

func inSeconds(a, b *time.Duration) (first, second *float64) {
	if a == nil || b == nil {
		return nil, nil
	}
	return new(a.Seconds()), new(b.Seconds())
}

func showDays(days []overview.Figures, edges []time.Time, zone *time.Location, target float64) []uptimeReportDayView {
	views := make([]uptimeReportDayView, len(days))
	for n := range days {
		from := edges[n].In(zone)
		views[n] = uptimeReportDayView{
			Day: from.Format(time.DateOnly), From: from, To: edges[n+1].In(zone), ReportFigures: showFigures(&days[n], target),
		}
	}
	return views
}

// ReportInput selects a report.
type ReportInput struct {
	Label    []string `query:"label,explode" doc:"Checks with a label: key=value, or key for any value. Given several times, all must match. Default: every check."`
	Month    string   `query:"month" maxLength:"7" doc:"A calendar month in the time zone. Default: the present one, unless from is sent." example:"2026-10"`
	From     string   `query:"from" maxLength:"64" doc:"Where the time begins, in the place of month: an instant, or a day, which begins in timezone." example:"2026-07-01"`
	To       string   `query:"to" maxLength:"64" doc:"Where it ends, at most 366 days later. Default: the present." example:"2026-10-01"`
	Timezone string   `query:"timezone" default:"UTC" maxLength:"64" doc:"IANA name of the time zone of the days." example:"Europe/Berlin"`
	Target   float64  `query:"target" default:"99.9" minimum:"50" maximum:"99.9999" doc:"Target of uptime in percent, for the error budget."`
	Days     bool     `query:"days" doc:"Show the days of each check, too; of at most 300 checks."`
}

// Query returns what the input asks for.
func (in *ReportInput) query(now time.Time) (q overview.ReportQuery, err error) {
	q.Days = in.Days
	if q.Labels, err = vigil.ParseLabelSelectors("label", in.Label); err != nil {
		return q, err
	}
	switch {
	case in.From == "" && in.To == "":
		q.Span, err = monthOf(in.Month, in.Timezone, now)
	case in.Month != "":
		err = vigil.Invalid("month", "must not be sent together with from and to")
	default:
		q.Span, err = spanOf(in.From, in.To, in.Timezone, now)
	}
	return q, err
}

func (rep *reports) Register(r *rest.Registrar) {
	const path, file = "/v1/reports/uptime", "/v1/reports/uptime.csv"
	rest.Register(r, rest.Operation{
		Method:  http.MethodGet,
		Path:    path,
		ID:      "get-uptime-report",
		Tag:     resource.TagReports,
		Summary: "Get a report of the uptime of checks",
		Description: "By check, by day and in all, for a month or another time. The days add up to the time and the checks to the total. " +
			"Checks that were deleted since are not in it.",
		Errors: []int{http.StatusTooManyRequests},
	}, rep.get)
	rest.Register(r, rest.Operation{
		Method:  http.MethodGet,
		Path:    file,
		ID:      "export-uptime-report",
		Tag:     resource.TagReports,
		Summary: "Download a report of the uptime of checks as CSV",
		Description: "A row for each check, below it with days=true one for each of its days, and a row of all checks at the end. By RFC 4180; " +
			"a text that a spreadsheet would read as a formula begins with an apostrophe.",
		Errors: []int{http.StatusTooManyRequests},
	}, rep.file)
	rest.DescribeCSV(r, file, "A header, and a row for each check.")
}

func (rep *reports) get(ctx context.Context, in *ReportInput) (*rest.Answer[uptimeReportView], error) {
	query, err := in.query(rep.now())
	if err != nil {
		return nil, err
	}
	view := uptimeReportView{Target: in.Target, Checks: []uptimeReportCheckView{}}
	var rows []overview.ReportRow
	report, err := rep.make(ctx, query, func(row *overview.ReportRow) error {
		rows = append(rows, *row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	zone := report.Span.Zone
	for i := range rows {
		one := uptimeReportCheckView{ID: rows[i].CheckID, Name: rows[i].Name, ReportFigures: showFigures(&rows[i].Figures, in.Target)}
		if rows[i].Days != nil {
			one.Days = showDays(rows[i].Days, report.Edges, zone, in.Target)
		}
		view.Checks = append(view.Checks, one)
	}
	view.From, view.To, view.Timezone = report.Span.From.In(zone), report.Span.To.In(zone), zone.String()
	view.FromEdge, view.ToEdge = report.From, report.To
	view.Total, view.Days = showFigures(&report.Figures, in.Target), showDays(report.Days, report.Edges, zone, in.Target)
	return rest.NewAnswer(view), nil
}

// make makes a report, one of two at a time of an organization.
func (rep *reports) make(
	ctx context.Context, query overview.ReportQuery, visit func(*overview.ReportRow) error,
) (overview.Report, error) {
	org := rest.CallerOf(ctx).Org.ID
	done, err := rep.files.Begin(org)
	if err != nil {
		return overview.Report{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, reportDeadline)
	defer cancel()
	return rep.store.Report(ctx, org, query, visit)
}
