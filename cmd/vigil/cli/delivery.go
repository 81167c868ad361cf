// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) deliveryCommand() *cobra.Command {
	return Group("delivery", "List and read the deliveries of notifications, and send them again",
		a.deliveryListCommand(), a.deliveryGetCommand(), a.redeliverCommand())
}

func (a *app) deliveryListCommand() *cobra.Command {
	var status, incident, channel string
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List deliveries, the newest first", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&status, "status", "", "only those that are pending, delivered, exhausted, superseded or canceled")
	cmd.Flags().StringVar(&incident, "incident", "", "only those about an `incident`")
	cmd.Flags().StringVar(&channel, "channel", "", "only those to a `channel`")
	limitFlag(cmd, &limit, recent)
	complete(cmd, "status", func() []string {
		return []string{"pending", "delivered", "exhausted", "superseded", "canceled"}
	})
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	_ = cmd.RegisterFlagCompletionFunc("incident", a.suggest(suggestIncidents))
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		params := &client.ListDeliveriesParams{Status: optional(client.ListDeliveriesParamsStatus(status))}
		for _, filter := range []struct {
			ref  string
			find func(context.Context, string) (named, error)
			set  func(id *uuid.UUID)
		}{
			{incident, s.incident, func(id *uuid.UUID) { params.IncidentId = id }},
			{channel, s.channel, func(id *uuid.UUID) { params.ChannelId = id }},
		} {
			if filter.ref != "" {
				found, err := filter.find(ctx, filter.ref)
				if err != nil {
					return err
				}
				filter.set(&found.ID)
			}
		}
		all, err := list[client.Delivery](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListDeliveries(ctx, params, page)
		})
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: deliveryColumns(), Empty: "No deliveries."}, deliveryRow)
	})
	return cmd
}

func deliveryColumns() []console.Column {
	return console.Columns("ID", "EVENT", "CHANNEL", "TYPE", "STATUS", "ATTEMPTS", "CREATED", "NEXT", "+INCIDENT", "+WORKFLOW")
}

func deliveryRow(d client.Delivery) []console.Cell {
	return []console.Cell{
		console.ID(d.Id.String()), console.Word(string(d.EventType)), console.Text(d.ChannelName), console.Word(d.ChannelType),
		health(string(d.Status)), console.Number(d.Attempts), console.Time(&d.CreatedAt), console.Time(d.NextAttemptAt),
		incidentCell(d.IncidentId), console.Word(value(d.RunUrl)),
	}
}

// incidentCell is empty for a message about a check that is not probed.
func incidentCell(id *uuid.UUID) console.Cell {
	if id == nil {
		return console.Text("")
	}
	return console.ID(id.String())
}

func (a *app) deliveryGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <delivery>", Short: "Show a delivery and each attempt", Args: oneOf("a delivery"),
		ValidArgsFunction: a.suggest(suggestDeliveries),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.delivery(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetDelivery(ctx, found.ID)
		answer, body, err := read[client.DeliveryAnswer](s, response, err)
		if err != nil {
			return err
		}
		fields := fieldsOf(deliveryColumns(), deliveryRow(answer.Data))
		fields[0].Value = console.Word(answer.Data.Id.String())
		parts := []console.Part{fields}
		if s.Format == console.Table || s.Format == console.Wide {
			attempts, err := list[client.Attempt](s, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
				return s.api.ListDeliveryAttempts(ctx, found.ID, &client.ListDeliveryAttemptsParams{}, page)
			})
			if err != nil {
				return err
			}
			table := console.List{Title: "Attempts", Columns: attemptColumns()}
			for _, attempt := range attempts.data {
				table.Rows = append(table.Rows, attemptRow(attempt))
			}
			parts = append(parts, table)
			if recipients := value(answer.Data.Recipients); len(recipients) > 0 {
				parts = append(parts, recipientTable(recipients))
			}
		}
		return s.Print(console.Answer{Body: body, Parts: parts})
	})
	return cmd
}

// recipientTable shows what became of a mail for each recipient.
func recipientTable(recipients []client.DeliveryRecipient) console.List {
	table := console.List{Title: "Recipients", Columns: console.Columns("EMAIL", "STATUS", "ATTEMPTS", "CODE", "LAST ATTEMPT", "ERROR")}
	for _, r := range recipients {
		code := ""
		if r.StatusCode != nil {
			code = strconv.FormatInt(*r.StatusCode, 10)
		}
		table.Rows = append(table.Rows, []console.Cell{
			console.Text(r.Email), health(string(r.Status)), console.Number(r.Attempts), console.Word(code), console.Time(r.LastAttemptAt),
			console.Text(value(r.Error)),
		})
	}
	return table
}

func (a *app) redeliverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "redeliver <delivery>", Short: "Send a delivery again", Args: oneOf("a delivery"),
		ValidArgsFunction: a.suggest(suggestDeliveries),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.delivery(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.Redeliver(ctx, found.ID, nil, once())
		answer, body, err := read[client.DeliveryAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{
			console.List{Columns: deliveryColumns(), Rows: [][]console.Cell{deliveryRow(answer.Data)}},
		}})
	})
	return cmd
}
