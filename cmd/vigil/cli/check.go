// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) checkCommand() *cobra.Command {
	return Group("check", "List, read, create and change checks",
		a.checkListCommand(), a.checkGetCommand(), a.checkResultsCommand(), a.checkUptimeCommand(), a.checkRegionsCommand(),
		a.checkCreateCommand(), a.checkEditCommand(),
		a.checkBulkCommand(pauseChecks()), a.checkBulkCommand(resumeChecks()), a.checkBulkCommand(deleteChecks()), a.checkTestCommand(),
		a.checkRecipientsCommand())
}

// checkFilter selects checks by what they are.
type checkFilter struct {
	health, kind, query, region, sort, project string
	labels                                     []string
	enabled                                    bool
	limit                                      int
}

func (f *checkFilter) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.health, "health", "", "only those that are healthy, unhealthy or unknown (no recent result)")
	flags.StringVar(&f.kind, "type", "", "only those of a `type`, such as https")
	flags.StringVar(&f.query, "query", "", "only those with a `text` in the name, the target, a label or an error, or in a region of a city")
	flags.StringVar(&f.region, "region", "", "only those that run in a `region`")
	flags.StringVar(&f.project, "project", "", "only those that the files of a `project` manage")
	flags.StringArrayVar(&f.labels, "label", nil, "only those with a label, `key=value` or key, or !key for those without it; may be repeated")
	complete(cmd, "health", func() []string { return []string{"healthy", "unhealthy", "unknown"} })
}

// given reports whether the filter selects anything less than everything.
func (f *checkFilter) given() bool {
	return f.health+f.kind+f.query+f.region+f.project != "" || len(f.labels) > 0
}

func (f *checkFilter) params(cmd *cobra.Command) *client.ListChecksParams {
	params := &client.ListChecksParams{
		Query: optional(f.query), Type: optional(f.kind), Region: optional(f.region), Project: optional(f.project),
		Health: optional(client.ListChecksParamsHealth(f.health)), Sort: optional(client.ListChecksParamsSort(f.sort)),
	}
	if len(f.labels) > 0 {
		params.Label = &f.labels
	}
	if flag := cmd.Flags().Lookup("enabled"); flag != nil && flag.Changed {
		params.Enabled = &f.enabled
	}
	return params
}

func (a *app) checkListCommand() *cobra.Command {
	var filter checkFilter
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List checks", Args: cobra.NoArgs}
	filter.addFlags(cmd)
	a.regionFlag(cmd)
	cmd.Flags().BoolVar(&filter.enabled, "enabled", true, "only those that are enabled; --enabled=false: only those that are paused")
	cmd.Flags().
		StringVar(&filter.sort, "sort", "", "`order`: name, state, type, interval_seconds, uptime_24h, p95_ms, regions, last_checked, "+
			"created_at or updated_at; a minus before it reverses it")
	limitFlag(cmd, &filter.limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := s.checks(ctx, filter.params(cmd), filter.limit)
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: checkColumns(), Empty: "No checks."}, checkRow)
	})
	return cmd
}

// checks lists checks.
func (s *session) checks(ctx context.Context, params *client.ListChecksParams, limit int) (rows[client.Check], error) {
	return list[client.Check](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListChecks(ctx, params, page)
	})
}

func checkColumns() []console.Column {
	return console.Columns("ID", "NAME", "TYPE", "EVERY", "REGIONS", "HEALTH", "LAST", "MANAGED BY", "+LABELS", "+CREATED")
}

func checkRow(c client.Check) []console.Cell {
	return []console.Cell{
		console.ID(c.Id.String()), console.Text(c.Name), console.Word(string(c.Type)), console.Word(every(c.IntervalSeconds)),
		console.Short(strings.Join(c.Regions, ","), fmt.Sprint(len(c.Regions))), checkHealth(c), console.Time(c.LastChecked),
		managedBy(c.ManagedBy), console.Text(labelText(c.Labels)), console.Time(&c.CreatedAt),
	}
}

func checkHealth(c client.Check) console.Cell {
	if !c.Enabled {
		return health("paused")
	}
	return health(string(c.HealthStatus))
}

func labelText(labels map[string]string) string {
	var pairs []string
	for key, value := range labels {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func (a *app) checkGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <check>", Short: "Show a check", Args: oneOf("a check"), ValidArgsFunction: a.suggest(suggestChecks),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetCheck(ctx, found.ID, nil)
		answer, body, err := read[client.CheckAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{checkFields(answer.Data)}})
	})
	return cmd
}

// retryText writes a retry as the flag --retry takes it; empty for none.
func retryText(r client.CheckRetry) string {
	if value(r.Attempts) == 0 {
		return ""
	}
	text := fmt.Sprintf("attempts=%d", *r.Attempts)
	if delay := value(r.DelaySeconds); delay > 0 {
		text += fmt.Sprintf(",delay=%ds", delay)
	}
	if on := value(r.On); on != client.CheckRetryOnAny {
		text += ",on=" + string(on)
	}
	if value(r.Unsafe) {
		text += ",unsafe=true"
	}
	return text
}

func checkFields(c client.Check) console.Fields {
	fields := console.Fields{
		{Name: "ID", Value: console.Word(c.Id.String())},
		{Name: "Name", Value: console.Text(c.Name)},
		{Name: "Type", Value: console.Word(string(c.Type))},
		{Name: "Health", Value: checkHealth(c)},
		{Name: "Last result", Value: console.Time(c.LastChecked)},
		{Name: "Every", Value: console.Word(every(c.IntervalSeconds))},
		{Name: "Regions", Value: console.Text(strings.Join(c.Regions, ", "))},
		{Name: "Retry", Value: console.Text(retryText(c.Retry))},
		{Name: "Labels", Value: console.Text(labelText(c.Labels))},
		{Name: "Managed by", Value: managedBy(c.ManagedBy)},
		{Name: "Created", Value: console.Time(&c.CreatedAt)},
		{Name: "Changed", Value: console.Time(&c.UpdatedAt)},
	}
	if c.ExpiresAt != nil {
		fields = append(fields, console.Field{Name: "Expires", Value: console.Time(c.ExpiresAt)})
	}
	return append(fields, configFields(c.Config)...)
}

// configFields are the members of a config, sorted.
func configFields(config map[string]any) console.Fields {
	var names []string
	for name := range config {
		names = append(names, name)
	}
	slices.Sort(names)
	var fields console.Fields
	for _, name := range names {
		fields = append(fields, console.Field{Name: "config." + name, Value: console.Text(compact(config[name]))})
	}
	return fields
}
