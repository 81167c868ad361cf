// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestARuleThatWouldStaySilentIsSaid: a rule without notify_if_open beside another one that
// notifies other channels is accepted, and the answer to its write says what it leaves out.
func TestARuleThatWouldStaySilentIsSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	chat, pager := text(a.channel(t), "id"), text(a.channel(t), "id")
	rules := "/v1/checks/" + text(a.check(t), "id") + "/alerts"
	rule := func(name, channel string, more ...any) map[string]any {
		body := map[string]any{"name": name, "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{channel}}
		for i := 0; i < len(more); i += 2 {
			name, _ := more[i].(string)
			body[name] = more[i+1]
		}
		return body
	}
	says := func(t *testing.T, rule map[string]any, other string) {
		t.Helper()
		said := encoded(t, rule["warnings"])
		if other == "" && rule["warnings"] != nil {
			t.Errorf("%s has the warnings %s", rule["name"], said)
		}
		if other != "" && (!strings.HasPrefix(said, `["notify_if_open: is false`) || !strings.Contains(said, `\"`+other+`\"`)) {
			t.Errorf("%s has the warnings %s, expected one about %s", rule["name"], said, other)
		}
	}
	create := func(t *testing.T, body map[string]any) map[string]any {
		t.Helper()
		return a.want(t, http.StatusCreated, http.MethodPost, rules, body).data(t)
	}

	says(t, create(t, rule("Five failures", chat)), "")
	says(t, create(t, rule("The same channel", chat)), "")
	says(t, create(t, rule("Asks", pager, "notify_if_open", true)), "")
	says(t, create(t, rule("Off", pager, "enabled", false)), "")
	silent := create(t, rule("Silent", pager))
	says(t, silent, "Five failures")

	path := rules + "/" + text(silent, "id")
	change := func(t *testing.T, members ...func(map[string]any)) map[string]any {
		t.Helper()
		body := map[string]any{}
		for _, member := range members {
			member(body)
		}
		return a.want(t, http.StatusOK, http.MethodPut, path, body).data(t)
	}
	says(t, change(t, with("name", "Still silent")), "Five failures")
	says(t, a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), "")
	asks := change(t, with("notify_if_open", true))
	says(t, asks, "")
	if asks["notify_if_open"] != true {
		t.Errorf("changed to %v", asks)
	}
	// What was answered may be sent back.
	says(t, a.want(t, http.StatusOK, http.MethodPut, path, silent).data(t), "Five failures")
}

// TestApplySaysWhichRulesWouldStaySilent: the plan and the result of files warn as the
// endpoints of rules do, with the rules that a check has afterwards.
func TestApplySaysWhichRulesWouldStaySilent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	warned := func(t *testing.T, applied answer) string {
		t.Helper()
		list, _ := applied.data(t)["actions"].([]any)
		var keys []string
		for _, one := range list {
			// The regions of the check itself have no worker here, which is warned of too.
			if action, _ := one.(map[string]any); action["kind"] == "rule" && action["warnings"] != nil {
				keys = append(keys, text(action, "key"))
			}
		}
		return strings.Join(keys, " ")
	}
	pager := at("channels.pager", doc{"type": "webhook", "config": doc{"url": "https://hooks.example.com/y"}})
	pages := func(more ...any) func(doc) {
		page := doc{"condition": doc{"failure_threshold": 10}, "channels": []any{"pager"}}
		for i := 0; i < len(more); i += 2 {
			name, _ := more[i].(string)
			page[name] = more[i+1]
		}
		return at("checks.home.rules.page", page)
	}
	if got := warned(t, a.apply(t, http.StatusOK, shop())); got != "" {
		t.Errorf("rules of the same channel: warnings for %s", got)
	}
	for _, dry := range []bool{true, false} {
		if got := warned(t, a.apply(t, http.StatusOK, shop(pager, pages()), with("dry_run", dry))); got != "home/page" {
			t.Errorf("with another channel, dry run %v: warnings for %q", dry, got)
		}
	}
	if got := warned(t, a.apply(t, http.StatusOK, shop(pager, pages()))); got != "" {
		t.Errorf("applied again, nothing is written: warnings for %q", got)
	}
	if got := warned(t, a.apply(t, http.StatusOK, shop(pager, pages("notify_if_open", true)))); got != "" {
		t.Errorf("with notify_if_open: warnings for %q", got)
	}
	// Rules that the files delete count no more.
	alone := shop(pager, pages("name", "The only one"), at("checks.home.rules.down", nil), at("checks.home.rules.slow", nil))
	if got := warned(t, a.apply(t, http.StatusOK, alone, with("missing", "delete"))); got != "" {
		t.Errorf("alone: warnings for %q", got)
	}
}
