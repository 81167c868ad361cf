package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/client"
	"vigil/console"
)

// maxReplayed is how many rules one backtest compares.
const maxReplayed = 2

func (a *app) ruleBacktestCommand() *cobra.Command {
	var since, policy string
	var conditions []string
	cmd := &cobra.Command{
		Use: "backtest [<rule>]...", Short: "Show which incidents a rule would have opened on stored results",
		Long: "Replays the stored results of a check through one rule, or two to compare. Nothing is opened or sent.",
		Example: "  vigil rule backtest Down --since 30d\n" +
			"  vigil rule backtest --check Checkout --condition failure_threshold=2 --condition failure_threshold=5",
		Args: cobra.MaximumNArgs(maxReplayed), ValidArgsFunction: a.suggest(suggestRules),
	}
	check := a.checkFlag(cmd, "`check` whose results are replayed; a saved rule names its own")
	flags := cmd.Flags()
	flags.StringArrayVar(
		&conditions,
		"condition",
		nil,
		"`members` of a condition that is not saved, such as failure_threshold=2; may be repeated",
	)
	flags.StringVar(&policy, "region-policy", "", "in how many regions --condition must match: any, majority or all")
	flags.StringVar(&since, "since", "7d", "how far to look back, a `duration` such as 24h or 30d")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		if n := len(args) + len(conditions); n == 0 || n > maxReplayed {
			return console.Errorf(console.Usage, "a backtest needs one or two rules: name them, or describe them with --condition")
		}
		back, err := duration("--since", since)
		if err != nil {
			return err
		}
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		rules := make([]map[string]any, 0, maxReplayed)
		for _, ref := range args {
			rule, _, err := s.getRule(ctx, ref, check)
			if err != nil {
				return err
			}
			if id != nil && *id != rule.CheckId {
				return console.Errorf(console.Usage, "%s is a rule of another check: the results of one check are replayed", rule.Name)
			}
			id = &rule.CheckId
			rules = append(rules, map[string]any{"id": rule.Id})
		}
		if id == nil {
			return console.Errorf(console.Usage, "--condition needs --check, the check whose results are replayed")
		}
		for _, text := range conditions {
			members, err := condition("--condition", text)
			if err != nil {
				return err
			}
			rule := map[string]any{"name": text, "condition": members}
			if policy != "" {
				rule["region_policy"] = policy
			}
			rules = append(rules, rule)
		}
		body, err := json.Marshal(map[string]any{"rules": rules, "from": a.host.Now().Add(-back).UTC()})
		if err != nil {
			return err
		}
		progress := s.Progress("replaying the results of %s", since)
		defer progress.Done()
		response, err := s.api.BacktestAlertRulesWithBody(ctx, *id, "application/json", bytes.NewReader(body))
		answer, text, err := read[client.BacktestAnswer](s, response, err)
		if err != nil {
			return err
		}
		progress.Done()
		return s.Print(console.Answer{Body: text, Names: []string{}, Parts: backtestParts(&answer.Data)})
	})
	return cmd
}

// backtestParts are the totals, and below them the incidents of each rule.
func backtestParts(b *client.Backtest) []console.Part {
	totals := console.List{Columns: console.Columns("RULE", "INCIDENTS", "MESSAGES", "OPEN FOR", "LONGEST", "FLAPS", "+RESULTS", "+MISSED")}
	var lists []console.Part
	for i := range b.Rules {
		rule := &b.Rules[i]
		totals.Rows = append(totals.Rows, []console.Cell{
			console.Text(rule.Name), console.Number(rule.Totals.Incidents), console.Number(rule.Totals.Messages),
			span(rule.Totals.MinutesOpen * 60), span(rule.Totals.LongestSeconds), console.Number(rule.Totals.Flaps),
			console.Number(b.Results), console.Number(b.SlotsMissed),
		})
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
	if c := b.Compare; c != nil {
		parts = append(parts, console.Fields{
			{Name: "BOTH", Value: console.Number(c.Both)},
			{Name: "ONLY THE FIRST", Value: console.Number(c.OnlyFirst)},
			{Name: "ONLY THE SECOND", Value: console.Number(c.OnlySecond)},
			{Name: "FIRST IS EARLIER BY", Value: span(c.EarlierSecondsP50)},
		})
	}
	return parts
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
