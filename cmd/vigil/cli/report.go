// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) reportCommand() *cobra.Command {
	return Group(
		"report",
		"Show figures of a month or another time, or write them as CSV",
		a.reportUptimeCommand(),
		a.reportIncidentsCommand(),
		a.reportScheduleCommand(),
	)
}

// reportFlags select a report.
type reportFlags struct {
	labels                    []string
	month, from, to, timezone string
	target                    float64
	csv                       bool
}

func (f *reportFlags) params() *client.GetUptimeReportParams {
	params := &client.GetUptimeReportParams{
		Month: optional(f.month), From: optional(f.from), To: optional(f.to), Timezone: optional(f.timezone), Target: &f.target,
	}
	if len(f.labels) > 0 {
		params.Label = &f.labels
	}
	return params
}

func (a *app) reportUptimeCommand() *cobra.Command {
	var f reportFlags
	var days bool
	cmd := &cobra.Command{
		Use: "uptime", Short: "Show the uptime of checks, and what is left of their error budget", Args: cobra.NoArgs,
		Long: "Show the uptime of checks, by check and in all, for the present month or another time.\nTimes to acknowledge and to resolve are " +
			"means from the beginning of an incident.",
		Example: "  vigil report uptime --month 2026-10 --timezone Europe/Berlin --target 99.9 --label team=shop\n" +
			"  vigil report uptime --from 2026-07-01 --to 2026-10-01 --csv",
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.labels, "label", nil, "checks with a `label`: key=value, or key for any value; may be repeated, all must match")
	flags.StringVar(&f.month, "month", "", "a calendar `month`, such as 2026-10; the present one without --from")
	flags.StringVar(&f.from, "from", "", "where the time begins: a day or an `instant`")
	flags.StringVar(&f.to, "to", "", "where it ends: a day or an `instant`; the present without it")
	flags.StringVar(&f.timezone, "timezone", "UTC", "IANA time `zone` of the days")
	flags.Float64Var(&f.target, "target", 99.9, "target of uptime in `percent`")
	flags.BoolVar(&days, "days", false, "show the days of all checks")
	flags.BoolVar(&f.csv, "csv", false, "write CSV")
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		params := f.params()
		if f.csv {
			response, err := s.api.ExportUptimeReport(ctx, &client.ExportUptimeReportParams{
				Label: params.Label, Month: params.Month, From: params.From, To: params.To, Timezone: params.Timezone, Target: params.Target,
				Days: optional(days),
			})
			return s.file(response, err)
		}
		response, err := s.api.GetUptimeReport(ctx, params)
		answer, body, err := read[client.UptimeReportAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{reportTable(&answer.Data, days)}})
	})
	return cmd
}

func reportTable(report *client.UptimeReport, days bool) console.List {
	table := console.List{Columns: console.Columns(
		"CHECK", "UPTIME", "DOWNTIME", "INCIDENTS", "ACKNOWLEDGED IN", "RESOLVED IN", "BUDGET LEFT", "+RESULTS", "+MISSED", "+EXCLUDED",
	)}
	for _, c := range report.Checks {
		table.Rows = append(table.Rows, reportRow(c.Name, c.UptimePercentage, c.DowntimeSeconds, c.Incidents, c.MeanTimeToAcknowledgeSeconds,
			c.MeanTimeToResolveSeconds, c.ErrorBudget.LeftPercentage, c.TotalChecks, c.MissedChecks, c.ExcludedChecks))
	}
	if days {
		for _, d := range report.Days {
			table.Rows = append(table.Rows, reportRow(d.Day.String(), d.UptimePercentage, d.DowntimeSeconds, d.Incidents,
				d.MeanTimeToAcknowledgeSeconds, d.MeanTimeToResolveSeconds, d.ErrorBudget.LeftPercentage, d.TotalChecks, d.MissedChecks,
				d.ExcludedChecks))
		}
	}
	t := &report.Total
	table.Rows = append(table.Rows, reportRow("all", t.UptimePercentage, t.DowntimeSeconds, t.Incidents, t.MeanTimeToAcknowledgeSeconds,
		t.MeanTimeToResolveSeconds, t.ErrorBudget.LeftPercentage, t.TotalChecks, t.MissedChecks, t.ExcludedChecks))
	return table
}

func reportRow(
	name string, uptime *float64, down float64, incidents int64, acknowledge, resolve, left *float64, results, missed, excluded int64,
) []console.Cell {
	took := func(seconds *float64) console.Cell {
		if seconds == nil {
			return console.Word("-")
		}
		return console.Word(time.Duration(*seconds * float64(time.Second)).Round(time.Second).String())
	}
	share := func(format string, n *float64) console.Cell {
		if n == nil {
			return console.Word("-")
		}
		return console.Word(fmt.Sprintf(format, *n))
	}
	return []console.Cell{
		console.Text(name), share("%.3f%%", uptime), took(&down), console.Number(incidents), took(acknowledge), took(resolve),
		share("%.0f%%", left), console.Number(results), console.Number(missed), console.Number(excluded),
	}
}

func (a *app) reportIncidentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "incidents", Short: "Write all incidents as CSV, newest first", Args: cobra.NoArgs}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		response, err := s.api.ExportIncidents(ctx, &client.ExportIncidentsParams{})
		return s.file(response, err)
	})
	return cmd
}

// file writes the file of an answer as it comes.
func (s *session) file(response *http.Response, err error) error {
	if err != nil || response.StatusCode != http.StatusOK {
		_, err = s.body(response, err)
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(s.Out, response.Body); err != nil {
		return console.Errorf(console.Failed, "the file was cut off: %w", err)
	}
	return nil
}
