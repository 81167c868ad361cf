// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) ruleCommand() *cobra.Command {
	return Group("rule", "List, read, create and change alert rules",
		a.ruleListCommand(), a.ruleGetCommand(), a.ruleCreateCommand(), a.ruleEditCommand(), a.ruleDeleteCommand(), a.ruleBacktestCommand())
}

// checkFlag adds --check, and returns a function that finds its check; nil without one.
func (a *app) checkFlag(cmd *cobra.Command, help string) func(context.Context, *session) (*uuid.UUID, error) {
	ref := cmd.Flags().String("check", "", help)
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	return func(ctx context.Context, s *session) (*uuid.UUID, error) {
		if *ref == "" {
			return nil, nil //nolint:nilnil // no check is no error
		}
		found, err := s.check(ctx, *ref)
		return &found.ID, err
	}
}

func (a *app) ruleListCommand() *cobra.Command {
	var limit int
	var project string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List alert rules", Args: cobra.NoArgs}
	check := a.checkFlag(cmd, "only those of a `check`")
	cmd.Flags().StringVar(&project, "project", "", "only those that the files of a `project` manage")
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		params := &client.ListAllAlertRulesParams{CheckId: id, Project: optional(project)}
		all, err := list[client.AlertRule](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListAllAlertRules(ctx, params, page)
		})
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: ruleColumns(), Empty: "No rules."}, ruleRow)
	})
	return cmd
}

func ruleColumns() []console.Column {
	return console.Columns("ID", "NAME", "CHECK", "CONDITION", "IN", "NOTIFIES ON", "CHANNELS", "STATE", "MANAGED BY", "+LABELS")
}

func ruleRow(r client.AlertRule) []console.Cell {
	state := "enabled"
	if !r.Enabled {
		state = "disabled"
	}
	channels := make([]string, len(r.NotificationChannelIds))
	for i, id := range r.NotificationChannelIds {
		channels[i] = fmt.Sprint(id)
	}
	return []console.Cell{
		console.ID(r.Id.String()), console.Text(r.Name), console.ID(r.CheckId.String()), console.Text(conditionText(r.Condition)),
		console.Word(string(r.RegionPolicy)), console.Word(string(r.NotifyOn)),
		console.Short(strings.Join(channels, ","), fmt.Sprint(len(channels))), health(state), managedBy(r.ManagedBy),
		console.Text(labelText(r.Labels)),
	}
}

// conditionText writes a condition as --condition reads it.
func conditionText(condition client.Condition) string {
	text, err := json.Marshal(condition)
	var members map[string]any
	if err != nil || json.Unmarshal(text, &members) != nil {
		return ""
	}
	var parts []string
	for name, value := range members {
		parts = append(parts, name+"="+compact(value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// condition reads the members of a condition, such as failure_threshold=2,severity=warning.
func condition(flag, text string) (map[string]any, error) {
	read := map[string]any{}
	for part := range strings.SplitSeq(text, ",") {
		if err := assign(flag, read, part); err != nil {
			return nil, err
		}
	}
	return read, nil
}

func (a *app) ruleGetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "get <rule>", Short: "Show an alert rule", Args: oneOf("a rule"), ValidArgsFunction: a.suggest(suggestRules)}
	check := a.checkFlag(cmd, "look for a name among the rules of this `check`")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		answer, body, err := s.getRule(ctx, args[0], check)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{ruleFields(answer)}})
	})
	return cmd
}

// getRule finds and reads a rule.
func (s *session) getRule(
	ctx context.Context, ref string, check func(context.Context, *session) (*uuid.UUID, error),
) (client.AlertRule, []byte, error) {
	id, err := check(ctx, s)
	if err != nil {
		return client.AlertRule{}, nil, err
	}
	found, err := s.rule(ctx, ref, id)
	if err != nil {
		return client.AlertRule{}, nil, err
	}
	response, err := s.api.GetAlertRuleById(ctx, found.ID, nil)
	answer, body, err := read[client.AlertRuleAnswer](s, response, err)
	return answer.Data, body, err
}

func ruleFields(r client.AlertRule) console.Fields {
	names, cells := ruleColumns(), ruleRow(r)
	fields := make(console.Fields, len(names))
	for i, name := range names {
		fields[i] = console.Field{Name: name.Name, Value: cells[i]}
	}
	fields[0].Value, fields[2].Value = console.Word(r.Id.String()), console.Word(r.CheckId.String())
	return append(fields, console.Field{Name: "CREATED", Value: console.Time(&r.CreatedAt)})
}

func (a *app) ruleCreateCommand() *cobra.Command {
	var name, conditions, policy, notifyOn string
	var channels, given []string
	cmd := &cobra.Command{
		Use: "create", Short: "Create an alert rule for a check",
		Example: "  vigil rule create --check Checkout --condition failure_threshold=2 --channel oncall",
		Args:    cobra.NoArgs,
	}
	check := a.checkFlag(cmd, "`check` that the rule is for")
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "`name` of the rule (default: its condition)")
	flags.StringVar(
		&conditions,
		"condition",
		"",
		"`members` of the condition, such as failure_threshold=2,recovery_threshold=3,severity=warning",
	)
	flags.StringVar(&policy, "region-policy", "", "in how many regions it must match: any, majority or all")
	flags.StringVar(
		&notifyOn,
		"notify-on",
		"both",
		"what is notified: unhealthy, when an incident opens (the API's default), healthy, when it ends, or both",
	)
	ifOpen := flags.Bool("notify-if-open", true, "notify the channels that have had no message of an incident when the rule begins to fire\n"+
		"while it is open (the API's default is false)")
	unobserved := flags.String("unobserved", "", "notify: the channels are also notified when the check is not probed, and when that ends;\n"+
		"ignore: they are not, which is the default")
	flags.StringArrayVar(&channels, "channel", nil, "`channel` to notify; may be repeated")
	flags.StringArrayVar(&given, "label", nil, "label, `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		if id == nil || conditions == "" {
			return console.Errorf(console.Usage, "a rule needs --check and --condition, such as --condition failure_threshold=2")
		}
		body := map[string]any{"name": name, "notify_on": notifyOn, "notify_if_open": *ifOpen}
		if name == "" {
			body["name"] = conditions
		}
		if body["condition"], err = condition("--condition", conditions); err != nil {
			return err
		}
		if body["notification_channel_ids"], err = s.channelIDs(ctx, channels); err != nil {
			return err
		}
		if policy != "" {
			body["region_policy"] = policy
		}
		if *unobserved != "" {
			body["unobserved"] = *unobserved
		}
		if pairs, err := labels(given); err != nil {
			return err
		} else if pairs != nil {
			body["labels"] = pairs
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		response, err := s.api.CreateAlertRuleWithBody(ctx, *id, nil, "application/json", bytes.NewReader(text), once())
		return s.printRule(read[client.AlertRuleAnswer](s, response, err))
	})
	return cmd
}

func (s *session) printRule(answer client.AlertRuleAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	s.noteWarnings(answer.Data.Warnings)
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: ruleColumns(), Rows: [][]console.Cell{ruleRow(answer.Data)}},
	}})
}

func (a *app) ruleEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <rule>", Short: "Change an alert rule in your editor", Args: oneOf("a rule"), ValidArgsFunction: a.suggest(suggestRules),
	}
	check := a.checkFlag(cmd, "look for a name among the rules of this `check`")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		rule, _, err := s.getRule(ctx, args[0], check)
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetAlertRuleById(ctx, rule.Id, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateAlertRuleWithBody(ctx, rule.CheckId, rule.Id, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printRule(read[client.AlertRuleAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) ruleDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <rule>", Short: "Delete an alert rule", Args: oneOf("a rule"), ValidArgsFunction: a.suggest(suggestRules),
	}
	check := a.checkFlag(cmd, "look for a name among the rules of this `check`")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		rule, _, err := s.getRule(ctx, args[0], check)
		if err != nil {
			return err
		}
		return s.remove("delete", "rule", rule.Id, rule.Name, func() (*http.Response, error) {
			return s.api.DeleteAlertRule(ctx, rule.CheckId, rule.Id, nil)
		})
	})
	return cmd
}

// remove asks, removes one thing and notes it. The answer is its ID.
func (s *session) remove(action, kind string, id uuid.UUID, name string, do func() (*http.Response, error)) error {
	object := console.Object{ID: id.String(), Name: name}
	if err := s.Confirm(console.Change{Action: action, Kind: kind, Objects: []console.Object{object}}); err != nil {
		return err
	}
	response, err := do()
	if _, err := s.body(response, err); err != nil {
		return err
	}
	past := map[string]string{"delete": "deleted", "revoke": "revoked", "remove": "removed"}[action]
	body, err := json.Marshal(map[string]any{"data": map[string]string{"id": id.String(), "name": name, "change": past}})
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{console.List{
		Columns: console.Columns("ID", "NAME", "CHANGE"),
		Rows:    [][]console.Cell{{console.ID(id.String()), console.Text(name), console.Word(past)}},
	}}})
}
