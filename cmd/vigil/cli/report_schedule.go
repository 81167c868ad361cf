// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) reportScheduleCommand() *cobra.Command {
	return Group("schedule", "List, read, create and change the schedules of reports",
		a.reportScheduleListCommand(), a.reportScheduleGetCommand(), a.reportScheduleCreateCommand(), a.reportScheduleEditCommand(),
		a.reportScheduleSwitchCommand("enable", "Send the reports of a schedule again", true),
		a.reportScheduleSwitchCommand("disable", "Send no reports of a schedule", false), a.reportScheduleDeleteCommand())
}

func (s *session) reportSchedules(ctx context.Context) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListReportSchedules(ctx, &client.ListReportSchedulesParams{}, page)
	}
}

// reportSchedule finds a schedule of reports by its ID or its name.
func (s *session) reportSchedule(ctx context.Context, ref string) (named, error) {
	return s.resolve("report schedule", ref, func(string) fetchPage { return s.reportSchedules(ctx) })
}

func suggestReportSchedules(ctx context.Context, s *session, _ string) ([]string, error) {
	return suggestNamed(s, s.reportSchedules(ctx))
}

func reportScheduleColumns() []console.Column {
	return console.Columns("ID", "NAME", "REPEATS", "TIMEZONE", "NEXT", "CHANNELS", "LABELS", "TARGET", "ENABLED", "+LAST", "+SKIPPED")
}

func reportScheduleRow(one client.ReportSchedule) []console.Cell {
	r := one.Recurrence
	return []console.Cell{
		console.ID(one.Id.String()), console.Text(one.Name), console.Text(recurs(string(r.Every), r.Day, r.Hour)),
		console.Word(r.Timezone), console.Time(one.NextAt), console.Number(int64(len(one.ChannelIds))),
		console.Text(strings.Join(one.Labels, " ")), console.Word(fmt.Sprintf("%g%%", one.TargetPercentage)), enabledWord(one.Enabled),
		console.Time(one.LastAt), console.Time(one.SkippedAt),
	}
}

func (s *session) printReportSchedule(answer client.ReportScheduleAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: reportScheduleColumns(), Rows: [][]console.Cell{reportScheduleRow(answer.Data)}},
	}})
}

func (a *app) reportScheduleListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the schedules of reports", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.ReportSchedule](s, limit, s.reportSchedules(ctx))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: reportScheduleColumns(), Empty: "No schedules of reports."}, reportScheduleRow)
	})
	return cmd
}

func (a *app) reportScheduleGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <schedule>", Short: "Show a schedule of reports, by its name or ID", Args: oneOf("a report schedule"),
		ValidArgsFunction: a.suggest(suggestReportSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.reportSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetReportSchedule(ctx, found.ID, nil)
		answer, body, err := read[client.ReportScheduleAnswer](s, response, err)
		if err != nil {
			return err
		}
		fields := fieldsOf(reportScheduleColumns(), reportScheduleRow(answer.Data))
		fields[0].Value = console.Word(answer.Data.Id.String())
		fields = append(fields, console.Field{Name: "channels", Value: console.Text(strings.Join(answer.Data.ChannelIds, ", "))})
		return s.Print(console.Answer{Body: body, Parts: []console.Part{fields}})
	})
	return cmd
}

func (a *app) reportScheduleCreateCommand() *cobra.Command {
	var channels, labels []string
	var often, timezone string
	var day, hour int64
	var target float64
	var disabled bool
	cmd := &cobra.Command{
		Use: "create <name>", Short: "Send reports by a schedule, monthly without --every", Args: oneOf("a name"),
		Example: "  vigil report schedule create 'Shop, monthly' --channel managers --label team=shop --timezone Europe/Berlin",
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&channels, "channel", nil, "`channel` that gets the reports, by its name or ID; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	flags.StringArrayVar(&labels, "label", nil, "checks with a `label`: key=value, or key for any value; may be repeated, all must match")
	flags.Float64Var(&target, "target", 99.9, "target of uptime in `percent`")
	flags.StringVar(&often, "every", "monthly", "how often: weekly, monthly or quarterly")
	flags.Int64Var(&day, "day", 1, "`day` of the month, 1 to 28, or of the week, 1 (Monday) to 7")
	flags.Int64Var(&hour, "hour", 9, "`hour` of the day in the time zone")
	flags.StringVar(&timezone, "timezone", "UTC", "IANA time `zone`, such as Europe/Berlin")
	flags.BoolVar(&disabled, "disabled", false, "create it switched off")
	complete(cmd, "every", func() []string { return []string{"weekly", "monthly", "quarterly"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		if len(channels) == 0 {
			return console.Errorf(console.Usage, "say which channels get the reports, by --channel")
		}
		known, err := s.channelIDs(ctx, channels)
		if err != nil {
			return err
		}
		ids := make([]string, len(known))
		for n, id := range known {
			ids[n] = id.String()
		}
		enabled := !disabled
		body := client.ReportScheduleCreate{
			Name: args[0], ChannelIds: ids, Enabled: &enabled, TargetPercentage: &target,
			Recurrence: client.ReportRecurrence{Every: client.ReportRecurrenceEvery(often), Day: day, Hour: hour, Timezone: timezone},
		}
		if len(labels) > 0 {
			body.Labels = &labels
		}
		response, err := s.api.CreateReportSchedule(ctx, nil, body, once())
		return s.printReportSchedule(read[client.ReportScheduleAnswer](s, response, err))
	})
	return cmd
}

func (a *app) reportScheduleEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "edit <schedule>",
		Aliases:           []string{"update"},
		Short:             "Change a schedule of reports in your editor",
		Args:              oneOf("a report schedule"),
		Long:              "Open a schedule as YAML in your editor (VISUAL or EDITOR), and send what you changed.",
		ValidArgsFunction: a.suggest(suggestReportSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.reportSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetReportSchedule(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateReportScheduleWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printReportSchedule(read[client.ReportScheduleAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) reportScheduleSwitchCommand(verb, short string, enabled bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " <schedule>", Short: short, Args: oneOf("a report schedule"), ValidArgsFunction: a.suggest(suggestReportSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.reportSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.UpdateReportSchedule(ctx, found.ID, nil, client.ReportScheduleUpdate{Enabled: &enabled})
		return s.printReportSchedule(read[client.ReportScheduleAnswer](s, response, err))
	})
	return cmd
}

func (a *app) reportScheduleDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <schedule>", Short: "Delete a schedule of reports", Args: oneOf("a report schedule"),
		ValidArgsFunction: a.suggest(suggestReportSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.reportSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "report schedule", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteReportSchedule(ctx, found.ID, nil)
		})
	})
	return cmd
}
