// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// recent is how many rows of a history are shown without --limit.
const recent = 100

func limitFlag(cmd *cobra.Command, limit *int, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, "how many `rows` to show at most")
	before := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 {
			return console.Errorf(console.Usage, "--limit is %d; it must be at least 1", *limit)
		}
		return before(cmd, args)
	}
}

// compact writes a value of JSON on one line; a text stands without quotes.
func compact(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func (a *app) checkResultsCommand() *cobra.Command {
	var region, since string
	var failed, evidence bool
	var limit int
	cmd := &cobra.Command{
		Use: "results <check>", Short: "List the results of a check, the newest first", Args: oneOf("a check"),
		ValidArgsFunction: a.suggest(suggestChecks),
	}
	cmd.Flags().StringVar(&region, "region", "", "only those of a `region`")
	cmd.Flags().BoolVar(&failed, "failed", false, "only failures")
	cmd.Flags().StringVar(&since, "since", "", "only those of the last `duration`, such as 1h")
	cmd.Flags().
		BoolVar(&evidence, "evidence", false, "also show what the probe saw of the target, of failures that keep it (-o json and yaml always do)")
	limitFlag(cmd, &limit, recent)
	a.regionFlag(cmd)
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		params := &client.ListResultsParams{Region: optional(region)}
		if failed {
			params.Success = new(false)
		}
		if evidence || s.Format == console.JSON || s.Format == console.YAML {
			params.Evidence = new(true)
		}
		if since != "" {
			back, err := duration("--since", since)
			if err != nil {
				return err
			}
			params.From = new(s.Now().Add(-back).UTC().Truncate(time.Millisecond))
		}
		all, err := list[client.Result](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListResults(ctx, found.ID, params, page)
		})
		if err != nil {
			return err
		}
		table := console.List{Columns: resultColumns(), Empty: "No results."}
		if evidence {
			return show(s, all, table, resultRow, evidenceParts(all.data)...)
		}
		return show(s, all, table, resultRow)
	})
	return cmd
}

func resultColumns() []console.Column {
	return console.Columns("TIME", "REGION", "RESULT", "STATUS", "TOOK", "ERROR", "+ATTEMPTS", "+EVIDENCE", "+ID")
}

func resultRow(r client.Result) []console.Cell {
	status := ""
	if r.StatusCode != nil {
		status = fmt.Sprint(*r.StatusCode)
	}
	outcome := "ok"
	if !r.Success {
		outcome = "failed"
	}
	evidence := "no"
	if r.HasEvidence {
		evidence = "yes"
	}
	return []console.Cell{
		console.Time(&r.Time), console.Word(r.Region), health(outcome), console.Word(status),
		console.Word(fmt.Sprintf("%dms", r.ResponseTimeMs)), console.Text(value(r.ErrorMessage)), attemptsOf(r),
		console.Word(evidence), console.ID(r.Id.String()),
	}
}

// attemptsOf says how many attempts a result took, and why those before the last one failed.
func attemptsOf(r client.Result) console.Cell {
	var metadata struct {
		Attempts []client.FailedAttempt `json:"attempts"`
	}
	if raw, err := json.Marshal(r.Metadata); err != nil || json.Unmarshal(raw, &metadata) != nil || len(metadata.Attempts) == 0 {
		return console.Number(1)
	}
	reasons := make([]string, len(metadata.Attempts))
	for i, failed := range metadata.Attempts {
		reasons[i] = failed.Error
	}
	return console.Text(fmt.Sprintf("%d (failed before: %s)", len(reasons)+1, strings.Join(reasons, "; ")))
}

func (a *app) checkUptimeCommand() *cobra.Command {
	var period, excluded, from, to, timezone string
	cmd := &cobra.Command{
		Use: "uptime <check>", Short: "Show uptime and response times of a check", Args: oneOf("a check"),
		ValidArgsFunction: a.suggest(suggestChecks),
	}
	cmd.Flags().StringVar(&period, "period", "24h", "how far to look back: 1h, 24h, 7d, 30d or 90d")
	complete(cmd, "period", func() []string { return []string{"1h", "24h", "7d", "30d", "90d"} })
	cmd.Flags().StringVar(&from, "from", "", "where the time begins, in the place of --period: a day or an `instant`")
	cmd.Flags().StringVar(&to, "to", "", "where it ends: a day or an `instant`; the present without it")
	cmd.Flags().StringVar(&timezone, "timezone", "", "IANA time `zone` in which the days of --from and --to begin")
	cmd.Flags().StringVar(&excluded, "excluded", "", "what becomes of results in maintenance: omit (the default) or count")
	complete(cmd, "excluded", func() []string { return []string{"omit", "count"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetUptime(ctx, found.ID, &client.GetUptimeParams{
			Period: optional(client.GetUptimeParamsPeriod(period)), Excluded: optional(client.GetUptimeParamsExcluded(excluded)),
			From: optional(from), To: optional(to), Timezone: optional(timezone),
		})
		answer, body, err := read[client.UptimeAnswer](s, response, err)
		if err != nil {
			return err
		}
		up := answer.Data
		table := console.List{
			Columns: console.Columns("REGION", "UPTIME", "RESULTS", "FAILED", "MISSED", "P50", "P95", "P99", "+COVERAGE", "+EXCLUDED"),
		}
		var regions []string
		for region := range up.ByRegion {
			regions = append(regions, region)
		}
		slices.Sort(regions)
		for _, region := range regions {
			table.Rows = append(table.Rows, uptimeRow(region, up.ByRegion[region]))
		}
		table.Rows = append(table.Rows, uptimeRow("all", client.UptimeNumbers{
			UptimePercentage: up.UptimePercentage, TotalChecks: up.TotalChecks, FailedChecks: up.FailedChecks, MissedChecks: up.MissedChecks,
			P50ResponseTimeMs: up.P50ResponseTimeMs, P95ResponseTimeMs: up.P95ResponseTimeMs, P99ResponseTimeMs: up.P99ResponseTimeMs,
			CoveragePercentage: up.CoveragePercentage, ExcludedChecks: up.ExcludedChecks,
		}))
		return s.Print(console.Answer{Body: body, Names: []string{found.ID.String()}, Parts: []console.Part{table}})
	})
	return cmd
}

func uptimeRow(region string, u client.UptimeNumbers) []console.Cell {
	// Nothing was measured without a result, and no response time without a success.
	up, ms := console.Word("-"), func(float64) console.Cell { return console.Word("-") }
	if u.TotalChecks > 0 {
		up = console.Word(fmt.Sprintf("%.3f%%", u.UptimePercentage))
	}
	if u.TotalChecks > u.FailedChecks {
		ms = func(n float64) console.Cell { return console.Word(fmt.Sprintf("%.0fms", n)) }
	}
	return []console.Cell{
		console.Word(region), up, console.Number(u.TotalChecks),
		console.Number(u.FailedChecks), console.Number(u.MissedChecks), ms(u.P50ResponseTimeMs), ms(u.P95ResponseTimeMs),
		ms(u.P99ResponseTimeMs), console.Word(fmt.Sprintf("%.2f%%", u.CoveragePercentage)),
		console.Number(u.ExcludedChecks),
	}
}

func (a *app) checkRegionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "regions <check>", Short: "Show the loop of each region of a check, with its workflow in Temporal", Args: oneOf("a check"),
		ValidArgsFunction: a.suggest(suggestChecks),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		all, err := list[client.Loop](s, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListCheckRegions(ctx, found.ID, &client.ListCheckRegionsParams{}, page)
		})
		if err != nil {
			return err
		}
		columns := console.Columns("REGION", "HEALTH", "STATE", "LAST", "NEXT", "MISSED", "WORKFLOW", "+WORKFLOW ID")
		return show(s, all, console.List{Columns: columns, Empty: "No regions."}, func(l client.Loop) []console.Cell {
			return []console.Cell{
				console.Word(l.Region), health(string(l.HealthStatus)), health(string(l.State)), console.Time(l.LastSlot),
				console.Time(l.NextSlot), console.Number(l.Missed), console.Word(value(l.RunUrl)), console.Word(l.WorkflowId),
			}
		})
	})
	return cmd
}
