// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// allChecks is the name of the last row of a report.
const allChecks = "All checks"

// reportHeader names the columns of a report, which are the members of its JSON.
func reportHeader() []string {
	return []string{
		"check_id", "check", "day", "from", "to", "timezone", "uptime_percentage", "downtime_seconds", "measured_seconds", "total_checks",
		"failed_checks", "missed_checks", "excluded_checks", "incidents", "acknowledged_incidents", "resolved_incidents",
		"mean_time_to_acknowledge_seconds", "median_time_to_acknowledge_seconds", "mean_time_to_resolve_seconds",
		"median_time_to_resolve_seconds", "target_percentage", "error_budget_left_percentage",
	}
}

// reportFile has the rows of a report as they are written: the report is made before its first byte is, so
// that a slow client holds no snapshot of the database.
type reportFile struct {
	rows   []overview.ReportRow
	report overview.Report
	target float64
}

func (rep *reports) file(ctx context.Context, in *ReportInput) (*huma.StreamResponse, error) {
	query, err := in.query(rep.now())
	if err != nil {
		return nil, err
	}
	out := reportFile{target: in.Target}
	out.report, err = rep.make(ctx, query, func(row *overview.ReportRow) error {
		out.rows = append(out.rows, *row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	done, err := rep.files.Begin(rest.CallerOf(ctx).Org.ID)
	if err != nil {
		return nil, err
	}
	name := "uptime-" + out.report.Span.From.In(query.Span.Zone).Format(time.DateOnly)
	return rest.StreamCSV(ctx, name, reportHeader(), done, out.write), nil
}

func (f *reportFile) write(file *rest.CSV) error {
	edges := f.report.Edges
	last := len(edges) - 1
	for i := range f.rows {
		row := &f.rows[i]
		if err := f.row(file, row.CheckID.String(), row.Name, "", edges[0], edges[last], &row.Figures); err != nil {
			return err
		}
		for n := range row.Days {
			day := edges[n].In(f.report.Span.Zone).Format(time.DateOnly)
			if err := f.row(file, row.CheckID.String(), row.Name, day, edges[n], edges[n+1], &row.Days[n]); err != nil {
				return err
			}
		}
	}
	return f.row(file, "", allChecks, "", edges[0], edges[last], &f.report.Figures)
}

func (f *reportFile) row(file *rest.CSV, id, name, day string, from, to time.Time, figures *overview.Figures) error {
	v, zone := showFigures(figures, f.target), f.report.Span.Zone
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	file.Value(id).Text(name).Value(day).Value(from.In(zone).Format(time.RFC3339)).Value(to.In(zone).Format(time.RFC3339)).Text(zone.String())
	file.Value(number(v.UptimePercentage)).Value(number(&v.DowntimeSeconds)).Value(number(&v.MeasuredSeconds))
	file.Value(whole(v.TotalChecks)).Value(whole(v.FailedChecks)).Value(whole(v.MissedChecks)).Value(whole(v.ExcludedChecks))
	file.Value(whole(v.Incidents)).Value(whole(v.AcknowledgedIncidents)).Value(whole(v.ResolvedIncidents))
	file.Value(number(v.MeanAcknowledge)).Value(number(v.MedianAcknowledge)).Value(number(v.MeanResolve)).Value(number(v.MedianResolve))
	return file.Value(number(&f.target)).Value(number(v.Budget.LeftPercentage)).End()
}

// number writes a number, and nothing for none.
func number(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}
