// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) drillScheduleCommand() *cobra.Command {
	return Group("schedule", "List, read, create and change the schedules of drills",
		a.drillScheduleListCommand(), a.drillScheduleGetCommand(), a.drillScheduleCreateCommand(), a.drillScheduleEditCommand(),
		a.drillScheduleSwitchCommand("enable", "Run the drills of a schedule again", true),
		a.drillScheduleSwitchCommand("disable", "Run no drills of a schedule", false), a.drillScheduleDeleteCommand())
}

func (s *session) drillSchedules(ctx context.Context) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListDrillSchedules(ctx, &client.ListDrillSchedulesParams{}, page)
	}
}

// drillSchedule finds a schedule of drills by its ID or its name.
func (s *session) drillSchedule(ctx context.Context, ref string) (named, error) {
	return s.resolve("drill schedule", ref, func(string) fetchPage { return s.drillSchedules(ctx) })
}

func suggestDrillSchedules(ctx context.Context, s *session, _ string) ([]string, error) {
	return suggestNamed(s, s.drillSchedules(ctx))
}

func drillScheduleColumns() []console.Column {
	return console.Columns("ID", "NAME", "REPEATS", "TIMEZONE", "NEXT", "TRIES", "ENABLED", "LAST DRILL", "+LAST ENDED", "+SKIPPED")
}

func drillScheduleRow(one client.DrillSchedule) []console.Cell {
	last, ended := lastDrill(one.LastDrill)
	r := one.Recurrence
	return []console.Cell{
		console.ID(one.Id.String()), console.Text(one.Name), console.Text(recurs(string(r.Every), r.Day, r.Hour)),
		console.Word(r.Timezone), console.Time(one.NextAt), console.Text(tried(one)), enabledWord(one.Enabled), last, ended,
		console.Time(one.SkippedAt),
	}
}

// recurs says when a schedule runs, such as "monthly, day 1, 09:00" or "weekly, Monday, 09:00".
func recurs(every string, day, hour int64) string {
	on := fmt.Sprintf("day %d", day)
	if every == string(client.DrillRecurrenceEveryWeekly) {
		on = time.Weekday(day % daysOfWeek).String()
	}
	return fmt.Sprintf("%s, %s, %02d:00", every, on, hour)
}

const daysOfWeek = 7

// tried says how much of what the drills of a schedule try.
func tried(one client.DrillSchedule) string {
	switch {
	case one.RuleIds != nil:
		return counted(len(*one.RuleIds), "rule")
	case one.SubscriptionIds != nil:
		return counted(len(*one.SubscriptionIds), "subscription")
	}
	return counted(len(value(one.ChannelIds)), "channel")
}

func (s *session) printDrillSchedule(answer client.DrillScheduleAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: drillScheduleColumns(), Rows: [][]console.Cell{drillScheduleRow(answer.Data)}},
	}})
}

func (a *app) drillScheduleListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the schedules of drills", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.DrillSchedule](s, limit, s.drillSchedules(ctx))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: drillScheduleColumns(), Empty: "No schedules of drills."}, drillScheduleRow)
	})
	return cmd
}

func (a *app) drillScheduleGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <schedule>", Short: "Show a schedule of drills, by its name or ID", Args: oneOf("a drill schedule"),
		ValidArgsFunction: a.suggest(suggestDrillSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.drillSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetDrillSchedule(ctx, found.ID, nil)
		answer, body, err := read[client.DrillScheduleAnswer](s, response, err)
		if err != nil {
			return err
		}
		one := answer.Data
		fields := fieldsOf(drillScheduleColumns(), drillScheduleRow(one))
		fields[0].Value = console.Word(one.Id.String())
		for _, subject := range []struct {
			name string
			ids  *[]string
		}{{"channels", one.ChannelIds}, {"rules", one.RuleIds}, {"subscriptions", one.SubscriptionIds}, {"regions", one.Regions}} {
			if subject.ids != nil {
				fields = append(fields, console.Field{Name: subject.name, Value: console.Text(strings.Join(*subject.ids, ", "))})
			}
		}
		fields = append(fields, console.Field{Name: "severity", Value: console.Word(string(one.Severity))},
			console.Field{Name: "within", Value: console.Word(every(one.ExpectWithinSeconds))},
			console.Field{Name: "notifies pagers", Value: enabledWord(one.ConfirmPager)})
		if one.LastDrill != nil {
			fields = append(fields, console.Field{Name: "drill", Value: console.Word(one.LastDrill.Id.String())})
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{fields}})
	})
	return cmd
}

func (a *app) drillScheduleCreateCommand() *cobra.Command {
	var f drillFlags
	var often, timezone string
	var day, hour int64
	var disabled bool
	cmd := &cobra.Command{
		Use: "create <name>", Short: "Run drills by a schedule, monthly without --every", Args: oneOf("a name"),
		Example: "  vigil drill schedule create 'On call, monthly' --channel oncall --timezone Europe/Berlin\n" +
			"  vigil drill schedule create 'Chat, each Monday' --channel chat --every weekly --day 1 --hour 10",
	}
	f.subject(a, cmd)
	flags := cmd.Flags()
	flags.StringVar(&often, "every", string(client.DrillRecurrenceEveryMonthly), "how often: monthly or weekly")
	flags.Int64Var(&day, "day", 1, "`day` of the month, 1 to 28, or of the week, 1 (Monday) to 7")
	flags.Int64Var(&hour, "hour", 9, "`hour` of the day in the time zone")
	flags.StringVar(&timezone, "timezone", "UTC", "IANA time `zone`, such as Europe/Berlin")
	flags.BoolVar(&disabled, "disabled", false, "create it switched off")
	complete(cmd, "every", func() []string { return []string{"monthly", "weekly"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		asked, err := f.body(ctx, s, "--channel, --rule or --subscription")
		if err != nil {
			return err
		}
		enabled := !disabled
		response, err := s.api.CreateDrillSchedule(ctx, nil, client.DrillScheduleCreate{
			Name: args[0], ChannelIds: asked.ChannelIds, RuleIds: asked.RuleIds, SubscriptionIds: asked.SubscriptionIds, Regions: asked.Regions,
			Severity:     optional(client.DrillScheduleCreateSeverity(f.severity)),
			ConfirmPager: asked.ConfirmPager, ExpectWithinSeconds: asked.ExpectWithinSeconds, Enabled: &enabled,
			Recurrence: client.DrillRecurrence{Every: client.DrillRecurrenceEvery(often), Day: day, Hour: hour, Timezone: timezone},
		}, once())
		return s.printDrillSchedule(read[client.DrillScheduleAnswer](s, response, err))
	})
	return cmd
}

func (a *app) drillScheduleEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <schedule>", Aliases: []string{"update"}, Short: "Change a schedule of drills in your editor", Args: oneOf("a drill schedule"),
		Long: "Open a schedule as YAML in your editor (VISUAL or EDITOR), and send what you changed. To try something else, add\n" +
			"channel_ids, rule_ids or subscription_ids beside what stands there.",
		ValidArgsFunction: a.suggest(suggestDrillSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.drillSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetDrillSchedule(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateDrillScheduleWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printDrillSchedule(read[client.DrillScheduleAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) drillScheduleSwitchCommand(verb, short string, enabled bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " <schedule>", Short: short, Args: oneOf("a drill schedule"), ValidArgsFunction: a.suggest(suggestDrillSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.drillSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.UpdateDrillSchedule(ctx, found.ID, nil, client.DrillScheduleUpdate{Enabled: &enabled})
		return s.printDrillSchedule(read[client.DrillScheduleAnswer](s, response, err))
	})
	return cmd
}

func (a *app) drillScheduleDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <schedule>", Short: "Delete a schedule of drills; its drills stay", Args: oneOf("a drill schedule"),
		ValidArgsFunction: a.suggest(suggestDrillSchedules),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.drillSchedule(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "drill schedule", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteDrillSchedule(ctx, found.ID, nil)
		})
	})
	return cmd
}
