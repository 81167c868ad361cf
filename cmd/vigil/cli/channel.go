// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) channelCommand() *cobra.Command {
	return Group("channel", "List, read, create and change notification channels",
		a.channelListCommand(), a.channelGetCommand(), a.channelCreateCommand(), a.channelEditCommand(), a.channelTestCommand(),
		a.channelRotateCommand(), a.channelRecoverCommand(),
		a.channelSwitchCommand("enable", "Send to a channel again", true), a.channelSwitchCommand("disable", "Send nothing to a channel", false),
		a.channelDeleteCommand())
}

func (a *app) channelListCommand() *cobra.Command {
	var kind, query, project string
	var pairs []string
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List channels", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&kind, "type", "", "only those of a `type`, such as webhook")
	cmd.Flags().StringVar(&query, "query", "", "only those whose name contains a `text`")
	cmd.Flags().StringVar(&project, "project", "", "only those that the files of a `project` manage")
	cmd.Flags().StringArrayVar(&pairs, "label", nil, "only those with a label, `key=value` or key; may be repeated")
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		params := &client.ListNotificationChannelsParams{
			Type: optional(kind), Query: optional(query), Project: optional(project),
		}
		if len(pairs) > 0 {
			params.Label = &pairs
		}
		all, err := list[client.NotificationChannel](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListNotificationChannels(ctx, params, page)
		})
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: channelColumns(), Empty: "No channels."}, channelRow)
	})
	return cmd
}

func channelColumns() []console.Column {
	return console.Columns(
		"ID",
		"NAME",
		"TYPE",
		"STATE",
		"REASON",
		"CREATED",
		"MANAGED BY",
		"+FAILING SINCE",
		"+DELIVERED",
		"+FALLBACK",
		"+LAST DRILL",
		"+DRILL ENDED",
		"+LABELS",
	)
}

// channelRow shows an enabled channel whose messages do not arrive by that, with the last error.
func channelRow(c client.NotificationChannel) []console.Cell {
	state, reason, fallback := "enabled", value(c.DisabledReason), ""
	switch {
	case !c.Enabled:
		state = "disabled"
	case c.Delivery.State != client.ChannelDeliveryStateOk:
		state, reason = string(c.Delivery.State), value(c.Delivery.LastError)
	}
	if c.FallbackChannelId != nil {
		fallback = c.FallbackChannelId.String()
	}
	last, ended := lastDrill(c.LastDrill)
	return []console.Cell{
		console.ID(c.Id.String()), console.Text(c.Name), console.Word(string(c.Type)), health(state), console.Text(reason),
		console.Time(&c.CreatedAt), managedBy(c.ManagedBy), console.Time(c.Delivery.FailingSince), console.Time(c.Delivery.LastDeliveredAt),
		console.Word(fallback), last, ended, console.Text(labelText(c.Labels)),
	}
}

func (a *app) channelGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <channel>", Short: "Show a channel", Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetNotificationChannel(ctx, found.ID, nil)
		answer, body, err := read[client.NotificationChannelAnswer](s, response, err)
		if err != nil {
			return err
		}
		fields := fieldsOf(channelColumns(), channelRow(answer.Data))
		fields[0].Value = console.Word(answer.Data.Id.String())
		if last := answer.Data.LastDrill; last != nil {
			fields = append(fields, console.Field{Name: "drill", Value: console.Word(last.Id.String())})
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{append(fields, configFields(answer.Data.Config)...)}})
	})
	return cmd
}

// fieldsOf shows one row as fields.
func fieldsOf(columns []console.Column, row []console.Cell) console.Fields {
	fields := make(console.Fields, len(row))
	for i, cell := range row {
		fields[i] = console.Field{Name: columns[i].Name, Value: cell}
	}
	return fields
}

func (a *app) channelTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test <channel>", Short: "Send a test message and show what the receiver answers; exit code 3 when it was not delivered",
		Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.TestNotificationChannel(ctx, found.ID, nil, once())
		answer, body, err := read[client.AttemptAnswer](s, response, err)
		if err != nil {
			return err
		}
		table := console.List{Columns: attemptColumns(), Rows: [][]console.Cell{attemptRow(answer.Data)}}
		if err := s.Print(console.Answer{Body: body, Names: []string{found.ID.String()}, Parts: []console.Part{table}}); err != nil {
			return err
		}
		if !answer.Data.Delivered {
			return console.Silent(console.No)
		}
		return nil
	})
	return cmd
}

func attemptColumns() []console.Column {
	return console.Columns("ATTEMPT", "STARTED", "RESULT", "STATUS", "TOOK", "ERROR", "NEXT")
}

func attemptRow(t client.Attempt) []console.Cell {
	outcome := "delivered"
	if !t.Delivered {
		outcome = "failed"
	}
	status := ""
	if t.StatusCode != nil {
		status = fmt.Sprint(*t.StatusCode)
	}
	return []console.Cell{
		console.Number(t.Number), console.Time(&t.StartedAt), health(outcome), console.Word(status),
		console.Word(fmt.Sprintf("%dms", t.DurationMs)), console.Text(value(t.Error)), console.Time(t.NextAttemptAt),
	}
}

func (a *app) channelSwitchCommand(verb, short string, enabled bool) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " <channel>", Short: short, Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels)}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.UpdateNotificationChannel(ctx, found.ID, nil, client.NotificationChannelUpdate{Enabled: &enabled})
		return s.printChannel(read[client.NotificationChannelAnswer](s, response, err))
	})
	return cmd
}

func (s *session) printChannel(answer client.NotificationChannelAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: channelColumns(), Rows: [][]console.Cell{channelRow(answer.Data)}},
	}})
}

func (a *app) channelDeleteCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "delete <channel>", Short: "Delete a channel", Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	cmd.Flags().BoolVar(&force, "force", false, "also when rules use it; they lose it")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "channel", found.ID, found.Name, func() (*http.Response, error) {
			return s.api.DeleteNotificationChannel(ctx, found.ID, &client.DeleteNotificationChannelParams{Force: optional(force)})
		})
	})
	return cmd
}
