package mcp

import (
	"encoding/json"
	"time"
)

func (s *Server) backtestTools() []*tool {
	rule := s.schemas.members().component("BacktestRule", "id", "name", "region_policy", "notify_on").
		open("condition", "When the rule fires, such as {\"failure_threshold\": 3}.")
	item, err := rule.schema()
	if err != nil {
		item = object{} // the tool's own schema names what is missing
	}
	input := s.schemas.members().own("check", checkMember()).own("rules", object{
		"type": "array", "minItems": 1, "maxItems": 2, "items": item,
		"description": "One rule, or two to compare: a stored one by its id, changed by what is beside it, or a new one.",
	}).component("BacktestRequest", "from", "to").require("check", "rules")
	input.missing = append(input.missing, rule.missing...)
	return []*tool{{
		name: "backtest_rules", title: "Backtest rules", effect: reads, scopes: read(), input: input, run: does(backtestRules),
		description: "Shows which incidents one or two rules would have opened on the stored results of a check, how often each channel " +
			"would have been notified, and how the rules compare. Nothing is opened or sent. Use it before save_rule.",
	}}
}

type backtestInput struct {
	Check    string            `json:"check"`
	Rules    []json.RawMessage `json:"rules"`
	From, To time.Time
}

// backtestShown is how many incidents of a rule are shown.
const backtestShown = 25

func backtestRules(c *call, in backtestInput) (object, error) {
	id, err := c.check(in.Check)
	if err != nil {
		return nil, err
	}
	members := object{"rules": in.Rules}
	for name, at := range map[string]time.Time{"from": in.From, "to": in.To} {
		if !at.IsZero() {
			members[name] = at
		}
	}
	answer, err := one(c.api.BacktestAlertRulesWithBody(c.ctx, id, jsonType, body(members)))
	if err != nil {
		return nil, err
	}
	rules, _ := answer["rules"].([]any)
	for _, rule := range rules {
		rule, _ := rule.(object)
		if incidents, ok := rule["incidents"].([]any); ok && len(incidents) > backtestShown {
			rule["incidents"], rule["older_incidents"] = incidents[len(incidents)-backtestShown:], len(incidents)-backtestShown
			answer["truncated"] = true
		}
	}
	return cleanObject(answer), nil
}
