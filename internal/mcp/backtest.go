// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
)

func (s *Server) backtestTools() []*tool {
	rule := s.schemas.members().component("BacktestRule", "id", "name", "region_policy", "notify_on").
		open("condition", "When the rule fires, such as {\"failure_threshold\": 3}.")
	item, err := rule.schema()
	if err != nil {
		item = object{} // the tool's own schema names what is missing
	}
	input := s.schemas.members().own("check", checkMember()).
		own("label", text("Instead of check: the checks with a label, key=value or key. The answer has totals only.")).own("rules", object{
		"type": "array", "minItems": 1, "maxItems": 2, "items": item,
		"description": "One rule, or two to compare: a stored one by its id, changed by what is beside it, or a new one.",
	}).component("BacktestRequest", "from", "to", "actual").require("rules")
	input.missing = append(input.missing, rule.missing...)
	return []*tool{{
		name: "backtest_rules", title: "Backtest rules", effect: reads, scopes: read(), input: input, run: does(backtestRules),
		description: "Shows which incidents one or two rules would have opened on the stored results of a check, how often each channel " +
			"would have been notified, how the rules compare, and with actual which incidents there were. With a label it adds up to " +
			"50 checks. Nothing is opened or sent. Use it before save_rule.",
	}}
}

type backtestInput struct {
	Check    string            `json:"check"`
	Label    string            `json:"label"`
	Rules    []json.RawMessage `json:"rules"`
	From, To time.Time
	Actual   bool
}

// backtestShown is how many incidents of a rule are shown.
const backtestShown = 25

func backtestRules(c *call, in backtestInput) (object, error) {
	if (in.Check == "") == (in.Label == "") {
		return nil, vigil.Invalid("check", "give either check or label")
	}
	members := object{"rules": in.Rules}
	for name, at := range map[string]time.Time{"from": in.From, "to": in.To} {
		if !at.IsZero() {
			members[name] = at
		}
	}
	if in.Label != "" {
		if in.Actual {
			return nil, vigil.Invalid("actual", "belongs to check: a backtest of several checks has totals only")
		}
		members["label"] = in.Label
		answer, err := one(c.api.BacktestChecksWithBody(c.ctx, jsonType, body(members)))
		return cleanObject(answer), err
	}
	if in.Actual {
		members["actual"] = true
	}
	id, err := c.check(in.Check)
	if err != nil {
		return nil, err
	}
	answer, err := one(c.api.BacktestAlertRulesWithBody(c.ctx, id, jsonType, body(members)))
	if err != nil {
		return nil, err
	}
	lists, _ := answer["rules"].([]any)
	for _, list := range append(lists, answer["actual"]) {
		list, _ := list.(object)
		if incidents, ok := list["incidents"].([]any); ok && len(incidents) > backtestShown {
			list["incidents"], list["older_incidents"] = incidents[len(incidents)-backtestShown:], len(incidents)-backtestShown
			answer["truncated"] = true
		}
	}
	return cleanObject(answer), nil
}
