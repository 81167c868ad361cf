// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// backtest_rules replays one check, or adds up those with a label.
func TestBacktestOfOneCheckAndOfALabel(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	w := s.world(t)
	c := s.connect(t, "", &sender{key: w.key})
	rules := []any{args{"name": "Down", "condition": args{"health_status": "down", "recovery_threshold": 3}}}

	one := c.use("backtest_rules", args{"check": "Shop", "rules": rules, "actual": true})
	if actual, ok := one["actual"].(map[string]any); !ok || actual["total"] != 1.0 {
		t.Errorf("the recorded incidents are %v", one["actual"])
	}
	if one = c.use("backtest_rules", args{"check": "Shop", "rules": rules}); one["actual"] != nil {
		t.Errorf("recorded incidents that were not asked for: %v", one["actual"])
	}
	all := c.use("backtest_rules", args{"label": "team=shop", "rules": rules})
	if checks, ok := all["checks"].([]any); !ok || len(checks) == 0 {
		t.Errorf("the answer for a label is %v", all)
	}
	onlyUntrusted(t, "backtest_rules", all)
	for _, wrong := range []args{
		{"rules": rules}, {"check": "Shop", "label": "team=shop", "rules": rules}, {"label": "team=shop", "rules": rules, "actual": true},
	} {
		if refused := c.refused("backtest_rules", wrong); refused["code"] != "invalid_request" {
			t.Errorf("%v: %v", wrong, refused)
		}
	}
}

// The prompt about noise names the tool that compares rules.
func TestReduceNoiseUsesTheBacktest(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	c := s.connect(t, "", &sender{key: s.signUp(t).key})
	prompt, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "reduce_noise", Arguments: map[string]string{"check": "Shop"}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := prompt.Messages[0].Content.(*sdk.TextContent)
	for _, want := range []string{"the check Shop", "backtest_rules with actual", "recovery_threshold"} {
		if text == nil || !strings.Contains(text.Text, want) {
			t.Errorf("the prompt does not say %q: %v", want, prompt.Messages[0].Content)
		}
	}
}
