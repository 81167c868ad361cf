// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// maxReplayed is how many rules one backtest compares.
const maxReplayed = 2

// backtestFlags are what a backtest is asked.
type backtestFlags struct {
	since, policy, label string
	conditions           []string
	actual               bool
}

func (a *app) ruleBacktestCommand() *cobra.Command {
	var f backtestFlags
	cmd := &cobra.Command{
		Use: "backtest [<rule>]...", Short: "Show which incidents a rule would have opened on stored results",
		Long: "Replays the stored results of a check, or of all checks with a label, through one rule, or two to compare. " +
			"Nothing is opened or sent.",
		Example: "  vigil rule backtest Down --since 30d --actual\n" +
			"  vigil rule backtest --check Checkout --condition failure_threshold=2 --condition failure_threshold=2,recovery_threshold=5\n" +
			"  vigil rule backtest --label team=shop --condition failure_threshold=3",
		Args: cobra.MaximumNArgs(maxReplayed), ValidArgsFunction: a.suggest(suggestRules),
	}
	check := a.checkFlag(cmd, "`check` whose results are replayed; a saved rule names its own")
	flags := cmd.Flags()
	flags.StringArrayVar(
		&f.conditions,
		"condition",
		nil,
		"`members` of a condition that is not saved, such as failure_threshold=2; may be repeated",
	)
	flags.StringVar(&f.policy, "region-policy", "", "in how many regions --condition must match: any, majority or all")
	flags.StringVar(&f.since, "since", "7d", "how far to look back, a `duration` such as 24h or 30d")
	flags.StringVar(&f.label, "label", "", "replay all checks with a `label`, such as team=shop, and show totals; at most 50")
	flags.BoolVar(&f.actual, "actual", false, "also show the incidents that there were")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		if n := len(args) + len(f.conditions); n == 0 || n > maxReplayed {
			return console.Errorf(console.Usage, "a backtest needs one or two rules: name them, or describe them with --condition")
		}
		if f.label != "" && (f.actual || cmd.Flags().Changed("check")) {
			return console.Errorf(console.Usage, "--label shows the totals of several checks: leave out --check and --actual")
		}
		back, err := duration("--since", f.since)
		if err != nil {
			return err
		}
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		rules, id, err := s.replayedRules(ctx, &f, args, id, check)
		if err != nil {
			return err
		}
		members := map[string]any{"rules": rules, "from": a.host.Now().Add(-back).UTC()}
		if f.label != "" {
			members["label"] = f.label
			return s.backtestLabel(ctx, &f, members)
		}
		if id == nil {
			return console.Errorf(console.Usage, "--condition needs --check or --label, the checks whose results are replayed")
		}
		if f.actual {
			members["actual"] = true
		}
		return s.backtestCheck(ctx, &f, *id, members)
	})
	return cmd
}

// replayedRules are the rules to replay, and the check of those that are named.
func (s *session) replayedRules(
	ctx context.Context, f *backtestFlags, args []string, id *uuid.UUID, check func(context.Context, *session) (*uuid.UUID, error),
) ([]map[string]any, *uuid.UUID, error) {
	rules := make([]map[string]any, 0, maxReplayed)
	for _, ref := range args {
		rule, _, err := s.getRule(ctx, ref, check)
		if err != nil {
			return nil, nil, err
		}
		if f.label == "" && id != nil && *id != rule.CheckId {
			return nil, nil, console.Errorf(console.Usage, "%s is a rule of another check: the results of one check are replayed", rule.Name)
		}
		id = &rule.CheckId
		rules = append(rules, map[string]any{"id": rule.Id})
	}
	for _, text := range f.conditions {
		members, err := condition("--condition", text)
		if err != nil {
			return nil, nil, err
		}
		rule := map[string]any{"name": text, "condition": members}
		if f.policy != "" {
			rule["region_policy"] = f.policy
		}
		rules = append(rules, rule)
	}
	return rules, id, nil
}

func (s *session) backtestCheck(ctx context.Context, f *backtestFlags, id uuid.UUID, members map[string]any) error {
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	progress := s.Progress("replaying the results of %s", f.since)
	defer progress.Done()
	response, err := s.api.BacktestAlertRulesWithBody(ctx, id, "application/json", bytes.NewReader(body))
	answer, text, err := read[client.BacktestAnswer](s, response, err)
	if err != nil {
		return err
	}
	progress.Done()
	return s.Print(console.Answer{Body: text, Names: []string{}, Parts: backtestParts(&answer.Data)})
}

func (s *session) backtestLabel(ctx context.Context, f *backtestFlags, members map[string]any) error {
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	progress := s.Progress("replaying the results of %s for the checks with %s", f.since, f.label)
	defer progress.Done()
	response, err := s.api.BacktestChecksWithBody(ctx, "application/json", bytes.NewReader(body))
	answer, text, err := read[client.LabelBacktestAnswer](s, response, err)
	if err != nil {
		return err
	}
	progress.Done()
	return s.Print(console.Answer{Body: text, Names: []string{}, Parts: labelParts(&answer.Data)})
}

// labelParts are the totals of each rule: of all checks, and below them of each check.
func labelParts(b *client.LabelBacktest) []console.Part {
	all := console.List{
		Columns: console.Columns("RULE", "CHECKS", "INCIDENTS", "MESSAGES", "OPEN FOR", "LONGEST", "FLAPS", "+RESULTS", "+MISSED"),
	}
	each := console.List{
		Title:   "By check",
		Columns: console.Columns("CHECK", "RULE", "INCIDENTS", "MESSAGES", "OPEN FOR", "LONGEST", "FLAPS", "+RESULTS", "+MISSED"),
	}
	for i := range b.Rules {
		rule := &b.Rules[i]
		row := []console.Cell{console.Text(rule.Name), console.Number(int64(len(b.Checks)))}
		all.Rows = append(all.Rows, append(append(row, totalCells(&rule.Totals)...), console.Number(b.Results), console.Number(b.SlotsMissed)))
	}
	for i := range b.Checks {
		check := &b.Checks[i]
		for j := range check.Totals {
			row := []console.Cell{console.Text(check.Name), console.Text(b.Rules[j].Name)}
			row = append(append(row, totalCells(&check.Totals[j])...), console.Number(check.Results), console.Number(check.SlotsMissed))
			each.Rows = append(each.Rows, row)
		}
	}
	return append([]console.Part{all, each}, compareParts(b.Compare)...)
}

// totalCells are the totals of a rule.
func totalCells(t *client.BacktestTotals) []console.Cell {
	return []console.Cell{
		console.Number(t.Incidents), console.Number(t.Messages), span(t.MinutesOpen * 60), span(t.LongestSeconds), console.Number(t.Flaps),
	}
}

func compareParts(c *client.BacktestCompare) []console.Part {
	if c == nil {
		return nil
	}
	return []console.Part{console.Fields{
		{Name: "BOTH", Value: console.Number(c.Both)},
		{Name: "ONLY THE FIRST", Value: console.Number(c.OnlyFirst)},
		{Name: "ONLY THE SECOND", Value: console.Number(c.OnlySecond)},
		{Name: "FIRST IS EARLIER BY", Value: span(c.EarlierSecondsP50)},
	}}
}

// actualParts are the recorded incidents, with what the first rule has of them.
func actualParts(actual *client.BacktestActual) []console.Part {
	if actual == nil {
		return nil
	}
	list := console.List{
		Title:   "Incidents that there were",
		Columns: console.Columns("OPENED", "LENGTH", "BY THE FIRST RULE", "REGIONS", "MATCHED", "TITLE"),
		Empty:   "There was no incident.",
	}
	for i := range actual.Incidents {
		incident := &actual.Incidents[i]
		length, found := span(incident.DurationSeconds), "no"
		if incident.ResolvedAt == nil {
			length = console.Word("open yet")
		}
		if incident.ByFirstRule {
			found = "yes"
		}
		list.Rows = append(list.Rows, []console.Cell{
			console.Time(&incident.OpenedAt), length, console.Word(found), console.Text(strings.Join(incident.Regions, ",")),
			console.Text(strings.Join(incident.Matched, ",")), console.Text(incident.Title),
		})
	}
	return []console.Part{list, console.Fields{
		{Name: "RECORDED", Value: console.Number(actual.Total)},
		{Name: "BOTH", Value: console.Number(actual.Both)},
		{Name: "ONLY RECORDED", Value: console.Number(actual.OnlyActual)},
		{Name: "ONLY THE FIRST", Value: console.Number(actual.OnlyFirst)},
	}}
}

// backtestParts are the totals, and below them the incidents of each rule.
func backtestParts(b *client.Backtest) []console.Part {
	totals := console.List{Columns: console.Columns("RULE", "INCIDENTS", "MESSAGES", "OPEN FOR", "LONGEST", "FLAPS", "+RESULTS", "+MISSED")}
	var lists []console.Part
	for i := range b.Rules {
		rule := &b.Rules[i]
		row := append([]console.Cell{console.Text(rule.Name)}, totalCells(&rule.Totals)...)
		totals.Rows = append(totals.Rows, append(row, console.Number(b.Results), console.Number(b.SlotsMissed)))
		incidents := console.List{
			Title:   "Incidents of " + rule.Name,
			Columns: console.Columns("OPENED", "LENGTH", "FOUND AFTER", "REGIONS", "MATCHED"),
			Empty:   "No incidents of " + rule.Name + ".",
		}
		for j := range rule.Incidents {
			incidents.Rows = append(incidents.Rows, replayedRow(&rule.Incidents[j]))
		}
		lists = append(lists, incidents)
	}
	parts := append([]console.Part{totals}, lists...)
	return append(append(parts, compareParts(b.Compare)...), actualParts(b.Actual)...)
}

func replayedRow(i *client.BacktestIncident) []console.Cell {
	length := span(i.DurationSeconds)
	if i.ResolvedAt == nil {
		length = console.Word("open yet")
	}
	return []console.Cell{
		console.Time(&i.OpenedAt), length, span(i.DetectionSeconds), console.Text(strings.Join(i.Regions, ",")),
		console.Text(strings.Join(i.Matched, ",")),
	}
}

// span is a time in seconds: plain where a program reads it.
func span(seconds float64) console.Cell {
	sign := ""
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	d := time.Duration(seconds * float64(time.Second))
	return console.Short(fmt.Sprintf("%s%.3gs", sign, seconds), sign+console.Span(d))
}
