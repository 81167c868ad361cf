// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) subscriptionCommand() *cobra.Command {
	return Group("subscription", "List, read, create and change the subscriptions of channels to events",
		a.subscriptionListCommand(), a.subscriptionGetCommand(), a.subscriptionCreateCommand(), a.subscriptionEditCommand(),
		a.subscriptionDeleteCommand())
}

func (s *session) subscriptions(ctx context.Context, params client.ListSubscriptionsParams) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListSubscriptions(ctx, &params, page)
	}
}

// subscription finds a subscription by its ID or its name.
func (s *session) subscription(ctx context.Context, ref string) (named, error) {
	return s.resolve("subscription", ref, func(query string) fetchPage {
		return s.subscriptions(ctx, client.ListSubscriptionsParams{Query: optional(query)})
	})
}

func suggestSubscriptions(ctx context.Context, s *session, typed string) ([]string, error) {
	all, err := list[client.Subscription](s, suggested, s.subscriptions(ctx, client.ListSubscriptionsParams{Query: optional(typed)}))
	var names []string
	for _, one := range all.data {
		names = append(names, one.Name)
	}
	return names, err
}

func subscriptionColumns() []console.Column {
	return console.Columns("ID", "NAME", "CHANNEL", "EVENTS", "SELECTS", "ENABLED", "+MANAGED BY")
}

func subscriptionRow(one client.Subscription) []console.Cell {
	return []console.Cell{
		console.ID(one.Id.String()), console.Text(one.Name), console.ID(one.ChannelId.String()), console.Text(strings.Join(one.Events, ", ")),
		console.Text(selected(one.Selector)), enabledWord(one.Enabled), managedBy(one.ManagedBy),
	}
}

func enabledWord(enabled bool) console.Cell {
	if enabled {
		return console.Word("yes")
	}
	return console.Word("no").Toned(console.Faint)
}

// selected says what a selector narrows; "all" for nothing.
func selected(selector client.SubscriptionSelector) string {
	var parts []string
	if ids := selector.CheckIds; ids != nil {
		parts = append(parts, counted(len(*ids), "check"))
	}
	if labels := value(selector.Labels); len(labels) > 0 {
		parts = append(parts, strings.Join(labels, ", "))
	}
	if least := value(selector.SeverityMin); least != "" {
		parts = append(parts, string(least)+" at least")
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, "; ")
}

func (s *session) printSubscription(answer client.SubscriptionAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	s.noteWarnings(answer.Data.Warnings)
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: subscriptionColumns(), Rows: [][]console.Cell{subscriptionRow(answer.Data)}},
	}})
}

func (a *app) subscriptionListCommand() *cobra.Command {
	var limit int
	var channel, event, query, project string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List subscriptions", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	cmd.Flags().StringVar(&channel, "channel", "", "only subscriptions of this `channel`")
	cmd.Flags().StringVar(&event, "event", "", "only those that receive this `type` of event, such as incident.resolved")
	cmd.Flags().StringVar(&query, "query", "", "only those whose name contains this `text`")
	cmd.Flags().StringVar(&project, "project", "", "only those that the files of a `project` manage")
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		params := client.ListSubscriptionsParams{Project: optional(project), Event: optional(event), Query: optional(query)}
		if channel != "" {
			found, err := s.channel(ctx, channel)
			if err != nil {
				return err
			}
			params.ChannelId = &found.ID
		}
		all, err := list[client.Subscription](s, limit, s.subscriptions(ctx, params))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: subscriptionColumns(), Empty: "No subscriptions."}, subscriptionRow)
	})
	return cmd
}

func (a *app) subscriptionGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <subscription>", Short: "Show a subscription, by its name or ID", Args: oneOf("a subscription"),
		ValidArgsFunction: a.suggest(suggestSubscriptions),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.subscription(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetSubscription(ctx, found.ID, nil)
		answer, body, err := read[client.SubscriptionAnswer](s, response, err)
		if err != nil {
			return err
		}
		fields := fieldsOf(subscriptionColumns(), subscriptionRow(answer.Data))
		fields[0].Value = console.Word(answer.Data.Id.String())
		if ids := value(answer.Data.Selector.CheckIds); len(ids) > 0 {
			fields = append(fields, console.Field{Name: "checks", Value: console.Text(strings.Join(ids, ", "))})
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{fields}})
	})
	return cmd
}

func (a *app) subscriptionCreateCommand() *cobra.Command {
	var channel, severity string
	var events, checks, labels []string
	var disabled bool
	cmd := &cobra.Command{
		Use: "create <name> --channel CHANNEL", Short: "Subscribe a channel to events, without naming it in rules", Args: oneOf("a name"),
		Example: "  vigil subscription create 'Everything of the shop' --channel chat --label team=shop\n" +
			"  vigil subscription create 'Is it us?' --channel ops --event 'channel.*' --event 'region.*'",
	}
	flags := cmd.Flags()
	flags.StringVar(&channel, "channel", "", "`channel` that receives the events")
	flags.StringArrayVar(&events, "event", []string{"incident.*"}, "`type` of event or a pattern such as 'incident.*'; may be repeated")
	flags.StringArrayVar(&checks, "check", nil, "only events about this `check`; may be repeated")
	flags.StringArrayVar(&labels, "label", nil, "only checks with this label, `key` or key=value; may be repeated, and all must match")
	flags.StringVar(&severity, "severity-min", "", "only events of this `severity` and more severe ones: info, warning or critical")
	flags.BoolVar(&disabled, "disabled", false, "create it switched off")
	_ = cmd.MarkFlagRequired("channel")
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	complete(cmd, "severity-min", func() []string { return []string{"info", "warning", "critical"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		to, err := s.channel(ctx, channel)
		if err != nil {
			return err
		}
		selector := map[string]any{}
		if len(labels) > 0 {
			selector["labels"] = labels
		}
		if severity != "" {
			selector["severity_min"] = severity
		}
		var ids []string
		for _, ref := range checks {
			found, err := s.check(ctx, ref)
			if err != nil {
				return err
			}
			ids = append(ids, found.ID.String())
		}
		if len(ids) > 0 {
			selector["check_ids"] = ids
		}
		text, err := json.Marshal(map[string]any{
			"name": args[0], "channel_id": to.ID, "events": events, "selector": selector, "enabled": !disabled,
		})
		if err != nil {
			return err
		}
		response, err := s.api.CreateSubscriptionWithBody(ctx, nil, "application/json", bytes.NewReader(text), once())
		return s.printSubscription(read[client.SubscriptionAnswer](s, response, err))
	})
	return cmd
}

func (a *app) subscriptionEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <subscription>", Short: "Change a subscription in your editor", Args: oneOf("a subscription"),
		ValidArgsFunction: a.suggest(suggestSubscriptions),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.subscription(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetSubscription(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateSubscriptionWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printSubscription(read[client.SubscriptionAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) subscriptionDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <subscription>", Short: "Delete a subscription", Args: oneOf("a subscription"),
		ValidArgsFunction: a.suggest(suggestSubscriptions),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.subscription(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "subscription", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteSubscription(ctx, found.ID, nil)
		})
	})
	return cmd
}

// checkRecipientsCommand shows who is notified of a check, and why.
func (a *app) checkRecipientsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "recipients <check>", Short: "List the channels that are notified of a check, and which rules and subscriptions name them",
		Args: oneOf("a check"), ValidArgsFunction: a.suggest(suggestChecks),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		all, err := list[client.CheckRecipient](s, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListCheckRecipients(ctx, found.ID, nil, page)
		})
		if err != nil {
			return err
		}
		columns := console.Columns("CHANNEL", "TYPE", "ENABLED", "EVENTS", "BECAUSE OF")
		return show(
			s,
			all,
			console.List{Columns: columns, Empty: "No channel is notified of this check."},
			func(r client.CheckRecipient) []console.Cell {
				because := make([]string, len(r.Because))
				for i, why := range r.Because {
					because[i] = string(why.Kind) + " " + why.Name
				}
				return []console.Cell{
					console.Text(r.Channel.Name), console.Word(r.Channel.Type), enabledWord(r.Enabled), console.Text(strings.Join(r.Events, ", ")),
					console.Text(strings.Join(because, ", ")),
				}
			},
		)
	})
	return cmd
}
