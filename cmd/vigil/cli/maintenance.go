// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) maintenanceCommand() *cobra.Command {
	return Group("maintenance", "List, read, plan and end maintenance windows",
		a.maintenanceListCommand(), a.maintenanceGetCommand(), a.maintenanceCreateCommand(), a.maintenancePreviewCommand(),
		a.maintenanceEditCommand(), a.maintenanceEndCommand(), a.maintenanceDeleteCommand())
}

func (s *session) maintenances(ctx context.Context, params client.ListMaintenanceWindowsParams) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListMaintenanceWindows(ctx, &params, page)
	}
}

// maintenance finds a window by its ID or its name.
func (s *session) maintenance(ctx context.Context, ref string) (named, error) {
	return s.resolve("maintenance window", ref, func(string) fetchPage {
		return s.maintenances(ctx, client.ListMaintenanceWindowsParams{})
	})
}

func suggestMaintenance(ctx context.Context, s *session, _ string) ([]string, error) {
	all, err := list[client.MaintenanceWindow](s, suggested, s.maintenances(ctx, client.ListMaintenanceWindowsParams{}))
	var names []string
	for _, window := range all.data {
		names = append(names, window.Name)
	}
	return names, err
}

func maintenanceColumns() []console.Column {
	return console.Columns("ID", "NAME", "STATE", "NEXT", "DURATION", "REPEATS", "CHECKS", "TIMEZONE", "+MANAGED BY")
}

func maintenanceRow(w client.MaintenanceWindow) []console.Cell {
	next := ""
	switch {
	case w.ActiveUntil != nil:
		next = "until " + w.ActiveUntil.UTC().Format(time.RFC3339)
	case len(w.Next) > 0:
		next = w.Next[0].LocalStartsAt
	}
	repeats := w.Rrule
	if w.Cron != "" {
		repeats = "cron " + w.Cron
	}
	return []console.Cell{
		console.ID(w.Id.String()), console.Text(w.Name), maintenanceState(string(w.State)), console.Word(next),
		console.Word(every(w.DurationSeconds)), console.Text(repeats), console.Number(w.ChecksCovered), console.Word(w.Timezone),
		managedBy(w.ManagedBy),
	}
}

func maintenanceState(state string) console.Cell {
	tones := map[string]console.Tone{"active": console.Doubtful, "ended": console.Faint, "disabled": console.Faint}
	return console.Word(state).Toned(tones[state])
}

func (s *session) printMaintenance(answer client.MaintenanceWindowAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: maintenanceColumns(), Rows: [][]console.Cell{maintenanceRow(answer.Data)}},
	}})
}

func (a *app) maintenanceListCommand() *cobra.Command {
	var limit int
	var state, check, project string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List maintenance windows", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	cmd.Flags().StringVar(&state, "state", "", "only windows in this `state`: active, upcoming, ended or disabled")
	cmd.Flags().StringVar(&check, "check", "", "only windows that cover this `check`")
	cmd.Flags().StringVar(&project, "project", "", "only those that the files of a `project` manage")
	complete(cmd, "state", func() []string { return []string{"active", "upcoming", "ended", "disabled"} })
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		params := client.ListMaintenanceWindowsParams{Project: optional(project)}
		if state != "" {
			wanted := client.ListMaintenanceWindowsParamsState(state)
			params.State = &wanted
		}
		if check != "" {
			found, err := s.check(ctx, check)
			if err != nil {
				return err
			}
			params.CheckId = &found.ID
		}
		all, err := list[client.MaintenanceWindow](s, limit, s.maintenances(ctx, params))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: maintenanceColumns(), Empty: "No maintenance windows."}, maintenanceRow)
	})
	return cmd
}

func (a *app) maintenanceGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <window>", Short: "Show a maintenance window, by its name or ID, and when it occurs next",
		Args: oneOf("a maintenance window"), ValidArgsFunction: a.suggest(suggestMaintenance),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.maintenance(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetMaintenanceWindow(ctx, found.ID, nil)
		answer, body, err := read[client.MaintenanceWindowAnswer](s, response, err)
		if err != nil {
			return err
		}
		w := answer.Data
		fields := fieldsOf(maintenanceColumns(), maintenanceRow(w))
		fields[0].Value = console.Word(w.Id.String())
		fields = append(fields, console.Field{Name: "covers", Value: console.Text(covered(w.Scope))},
			console.Field{Name: "probing", Value: console.Word(string(w.Probing))},
			console.Field{Name: "uptime", Value: console.Word(string(w.Uptime))})
		return s.Print(console.Answer{Body: body, Parts: []console.Part{fields, occurrences(w.Next)}})
	})
	return cmd
}

func covered(scope client.MaintenanceScope) string {
	if value(scope.All) {
		return "all checks"
	}
	return strings.Join(slices.Concat(value(scope.CheckIds), value(scope.Labels)), ", ")
}

// occurrences lists when a window occurs, with what clocks do to it.
func occurrences(next []client.Occurrence) console.List {
	shown := console.List{
		Columns: console.Columns("STARTS", "ENDS", "STARTS (LOCAL)", "ENDS (LOCAL)", "NOTE"), Empty: "No further occurrence.",
	}
	for _, o := range next {
		var notes []string
		if o.Shifted {
			notes = append(notes, "shifted: clocks skip the planned time")
		}
		if change := o.ClockChangeSeconds; change != 0 {
			notes = append(notes, "clocks change by "+every(change))
		}
		shown.Rows = append(shown.Rows, []console.Cell{
			console.Word(o.StartsAt.UTC().Format(time.RFC3339)), console.Word(o.EndsAt.UTC().Format(time.RFC3339)),
			console.Word(o.LocalStartsAt), console.Word(o.LocalEndsAt), console.Text(strings.Join(notes, "; ")),
		})
	}
	return shown
}

// schedule are the flags that say when a window occurs.
type schedule struct{ starts, timezone, length, rrule, cron, until string }

func (p *schedule) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&p.starts, "starts", "", "`time` of the first occurrence as clocks show it, such as 2026-12-01T22:00 (default: now)")
	flags.StringVar(&p.timezone, "timezone", "", "IANA time `zone`, such as Europe/Berlin (default: UTC)")
	flags.StringVar(&p.length, "duration", "1h", "`duration` of an occurrence, such as 30m")
	flags.StringVar(&p.rrule, "rrule", "", "recurrence `rule`, such as 'FREQ=WEEKLY;BYDAY=TU'")
	flags.StringVar(&p.cron, "cron", "", "five `fields` of cron, such as '0 22 * * 2', instead of --rrule")
	flags.StringVar(&p.until, "until", "", "`time` after which no occurrence starts")
}

// body returns the members of the API. Without a start the window starts now.
func (p *schedule) body(now time.Time) (map[string]any, error) {
	length, err := time.ParseDuration(p.length)
	if err != nil || length%time.Second != 0 {
		return nil, console.Errorf(console.Usage, "--duration is %q; it must be a duration in whole seconds, such as 30m or 2h", p.length)
	}
	// The words are those of the API, which also refuses names that are none of the database,
	// such as localtime.
	zone, err := time.LoadLocation(p.timezone)
	if err != nil {
		return nil, console.Errorf(console.Usage,
			"--timezone is %q; it must be the name of an IANA time zone, such as Europe/Berlin, America/New_York or UTC", p.timezone)
	}
	body := map[string]any{"starts_at": p.starts, "duration_seconds": int64(length / time.Second)}
	if p.starts == "" {
		body["starts_at"] = now.In(zone).Format("2006-01-02T15:04:05")
	}
	for name, text := range map[string]string{"timezone": p.timezone, "rrule": p.rrule, "cron": p.cron, "until": p.until} {
		if text != "" {
			body[name] = text
		}
	}
	return body, nil
}

func (a *app) maintenanceCreateCommand() *cobra.Command {
	var plan schedule
	var checks, labels []string
	var all, pause, include, disabled bool
	cmd := &cobra.Command{
		Use: "create <name>", Short: "Plan a maintenance window; without --starts it begins now", Args: oneOf("a name"),
		Example: "  vigil maintenance create 'Database upgrade' --check Orders --duration 30m\n" +
			"  vigil maintenance create Deploys --label team=shop --starts 2026-12-01T22:00 --timezone Europe/Berlin \\\n" +
			"    --duration 30m --rrule 'FREQ=WEEKLY;BYDAY=TU'",
	}
	plan.flags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&checks, "check", nil, "`check` that is maintained; may be repeated")
	flags.StringArrayVar(&labels, "label", nil, "label, `key=value`, of the checks that are maintained; may be repeated")
	flags.BoolVar(&all, "all", false, "maintain every check")
	flags.BoolVar(&pause, "pause-probing", false, "do not probe the checks meanwhile")
	flags.BoolVar(&include, "include-uptime", false, "let results meanwhile count for uptime")
	flags.BoolVar(&disabled, "disabled", false, "create it switched off")
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		body, err := plan.body(time.Now())
		if err != nil {
			return err
		}
		scope := map[string]any{"all": all, "labels": append([]string{}, labels...)}
		ids := []string{}
		for _, ref := range checks {
			found, err := s.check(ctx, ref)
			if err != nil {
				return err
			}
			ids = append(ids, found.ID.String())
		}
		scope["check_ids"] = ids
		body["name"], body["scope"], body["enabled"] = args[0], scope, !disabled
		if pause {
			body["probing"] = "pause"
		}
		if include {
			body["uptime"] = "include"
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		response, err := s.api.CreateMaintenanceWindowWithBody(ctx, nil, "application/json", bytes.NewReader(text), once())
		return s.printMaintenance(read[client.MaintenanceWindowAnswer](s, response, err))
	})
	return cmd
}

func (a *app) maintenancePreviewCommand() *cobra.Command {
	var plan schedule
	cmd := &cobra.Command{
		Use: "preview", Short: "Show the next occurrences of a schedule, and what clocks do to them; nothing is stored", Args: cobra.NoArgs,
		Example: "  vigil maintenance preview --starts 2026-12-01T02:30 --timezone Europe/Berlin --duration 1h --rrule FREQ=DAILY",
	}
	plan.flags(cmd)
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		body, err := plan.body(time.Now())
		if err != nil {
			return err
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		response, err := s.api.PreviewMaintenanceWindowWithBody(ctx, "application/json", bytes.NewReader(text))
		answer, answered, err := read[client.OccurrenceAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: answered, Parts: []console.Part{occurrences(answer.Data)}})
	})
	return cmd
}

func (a *app) maintenanceEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <window>", Short: "Change a maintenance window in your editor", Args: oneOf("a maintenance window"),
		ValidArgsFunction: a.suggest(suggestMaintenance),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.maintenance(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetMaintenanceWindow(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateMaintenanceWindowWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printMaintenance(read[client.MaintenanceWindowAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) maintenanceEndCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "end <window>", Short: "End the maintenance that runs now; later occurrences stay", Args: oneOf("a maintenance window"),
		ValidArgsFunction: a.suggest(suggestMaintenance),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.maintenance(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.EndMaintenance(ctx, found.ID)
		return s.printMaintenance(read[client.MaintenanceWindowAnswer](s, response, err))
	})
	return cmd
}

func (a *app) maintenanceDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <window>", Short: "Delete a maintenance window; one that runs ends", Args: oneOf("a maintenance window"),
		ValidArgsFunction: a.suggest(suggestMaintenance),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.maintenance(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "maintenance window", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteMaintenanceWindow(ctx, found.ID, nil)
		})
	})
	return cmd
}
