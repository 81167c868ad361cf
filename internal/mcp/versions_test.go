// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// use every tool at every version of the protocol; nothing that must stay secret may be in
// what the client receives, and what came from outside only under untrusted_.
func TestEveryToolWorksAtEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := open(t, "")
			w, log := s.world(t), &transcript{}
			c := s.connect(t, version, &sender{key: w.key, log: log})
			if got := c.InitializeResult().ProtocolVersion; got != version {
				t.Fatalf("the session has version %s", got)
			}
			used := w.readAll(t, c)
			used = append(used, w.changeAll(t, c)...)
			slices.Sort(used)
			if got, want := slices.Compact(used), names(c.tools()); !slices.Equal(got, want) {
				t.Errorf("used %v of %v", got, want)
			}
			keepsSecrets(t, log.String(), w, "vgl_")
		})
	}
}

// keepsSecrets fails the test when a transcript has what no assistant may see.
func keepsSecrets(t *testing.T, text string, w *world, more ...string) {
	t.Helper()
	if len(text) < 10_000 {
		t.Errorf("the transcript has %d bytes only", len(text))
	}
	for _, hidden := range append([]string{w.key[:12], secret, password, w.email}, more...) {
		if at := strings.Index(text, hidden); at >= 0 {
			t.Errorf("the transcript shows %q: %s", hidden, text[max(0, at-200):at+len(hidden)])
		}
	}
}

// readAll uses every tool that reads, and returns their names.
func (w *world) readAll(t *testing.T, c *session) []string {
	t.Helper()
	shown := make(map[string]args)
	for _, use := range []struct {
		tool      string
		arguments args
		has       []string // members of the result
	}{
		{"get_overview", args{}, []string{"checks", "open_incidents", "regions", "usage", "links"}},
		{"list_checks", args{"label": "team=shop", "enabled": true}, []string{"checks"}},
		{"get_check", args{"check": "Shop"}, []string{"check", "rules", "loops", "results", "uptime_24h"}},
		{"get_results", args{"check": w.check, "failed_only": true}, []string{"results"}},
		{"get_uptime", args{"checks": []string{"Shop"}, "period": "24h"}, []string{"checks"}},
		{"list_incidents", args{"check": "Shop", "status": "active"}, []string{"incidents"}},
		{"get_incident", args{"incident": w.incident}, []string{"incident", "timeline", "deliveries"}},
		{"list_deliveries", args{"incident": w.incident}, []string{"deliveries"}},
		{"list_channels", args{}, []string{"channels"}},
		{"list_drills", args{}, nil},
		{"list_changes", args{"resource": "check"}, []string{"changes"}},
		{"backtest_rules", args{"check": "Shop", "rules": []any{
			args{"id": w.rule}, args{"name": "Later", "condition": args{"failure_threshold": 2}},
		}}, []string{"period", "rules", "compare"}},
		{"plan_changes", args{
			"project": "shop", "document": c.use("describe", args{"topic": "apply_file"})["example"],
		}, []string{"actions", "plan"}},
		{"describe", args{"topic": "check_type:https"}, []string{"config", "example"}},
		{"describe", args{"topic": "regions"}, []string{"regions"}},
	} {
		result := c.use(use.tool, use.arguments)
		for _, member := range use.has {
			if rows, isList := result[member].([]any); result[member] == nil || isList && len(rows) == 0 {
				t.Errorf("%s shows no %s: %v", use.tool, member, result)
			}
		}
		onlyUntrusted(t, use.tool, result)
		shown[use.tool] = result
	}
	injected := 0
	for _, result := range shown {
		injected += strings.Count(asText(t, result), injection)
	}
	if injected < 4 {
		t.Errorf("the text from outside is in %d places only, so that nothing is shown about it", injected)
	}
	var used []string
	for tool := range shown {
		used = append(used, tool)
	}
	return used
}

// onlyUntrusted fails the test when a text from outside is under a member that does not say so.
func onlyUntrusted(t *testing.T, where string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if !strings.HasPrefix(name, "untrusted_") {
				onlyUntrusted(t, where+"."+name, member)
			}
		}
	case []any:
		for _, item := range v {
			onlyUntrusted(t, where, item)
		}
	case string:
		if strings.Contains(v, injection) {
			t.Errorf("%s has a text from outside", where)
		}
	}
}

func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// changeAll uses every tool that changes something, and returns their names.
func (w *world) changeAll(t *testing.T, c *session) []string {
	t.Helper()
	tried := c.use("try_check", args{"type": "http", "config": args{"url": w.target.URL}})
	onlyUntrusted(t, "try_check", tried)
	if results, _ := tried["results"].([]any); len(results) != 1 {
		t.Errorf("try_check shows %v", tried)
	}
	again := c.use("try_check", args{"check": "Shop", "regions": []string{"na-east-ewr"}})
	if results, _ := again["results"].([]any); len(results) != 1 {
		t.Errorf("try_check of a check shows %v", again)
	}

	made := member(t, c.use("save_check", args{
		"name": "Cart", "type": "http", "interval_seconds": 60, "enabled": true,
		"config": args{"url": w.target.URL, "headers": args{"Authorization": secret}},
	}), "check")
	c.use("save_check", args{"id": made["id"], "name": "Basket", "revision": made["revision"]})
	if stale := c.refused("save_check", args{"id": made["id"], "name": "Trolley", "revision": 999}); stale["code"] != "precondition_failed" {
		t.Errorf("a change of another revision is answered %v", stale)
	}
	rule := member(t, c.use("save_rule", args{
		"check": "Basket", "name": "Slow", "condition": args{"response_time_ms": 800}, "notification_channel_ids": []any{w.channel},
	}), "rule")
	c.use("save_rule", args{"check": "Basket", "id": rule["id"], "enabled": false})
	channel := member(t, c.use("save_channel", args{
		"name": "Other", "type": "webhook", "config": args{"url": w.target.URL, "secret": secret},
	}), "channel")
	c.use("save_channel", args{"id": channel["id"], "name": "Another"})
	subscription := member(t, c.use("save_subscription", args{
		"name": "All", "channel_id": channel["id"], "events": []any{"incident.*"}, "selector": args{"severity_min": "warning"},
	}), "subscription")
	c.use("save_subscription", args{"id": subscription["id"], "name": "Everything"})
	if shown, err := json.Marshal(c.use("get_check", args{"check": "Basket"})["recipients"]); err != nil ||
		!strings.Contains(string(shown), "Everything") {
		t.Errorf("get_check shows the recipients %s, %v", shown, err)
	}
	if shown, err := json.Marshal(c.use("list_channels", args{})); err != nil || !strings.Contains(string(shown), "Everything") {
		t.Errorf("list_channels shows %s, %v", shown, err)
	}
	c.use("delete_object", args{"kind": "subscription", "id": subscription["id"], "confirm": "Everything"})

	if out := c.use("set_checks_enabled", args{"checks": []string{"Basket"}, "enabled": false}); out["changed"] != float64(1) {
		t.Errorf("set_checks_enabled answers %v", out)
	}
	w.drillAll(t, c)
	c.use("update_incident", args{"incident": w.incident, "action": "acknowledge"})
	c.use("update_incident", args{"incident": w.incident, "action": "resolve", "note": "restarted"})

	sent := member(t, c.use("send_message", args{"channel": "Hook"}), "attempt")
	if w.received.count() == 0 || sent["status_code"] != float64(418) {
		t.Errorf("the receiver got %d messages; the attempt is %v", w.received.count(), sent)
	}

	if wrong := c.refused("delete_object", args{"kind": "check", "id": made["id"], "confirm": "Cart"}); wrong["code"] != "invalid_request" {
		t.Errorf("a wrong name confirms: %v", wrong)
	}
	for _, gone := range []args{
		{"kind": "rule", "id": rule["id"], "confirm": "Slow"},
		{"kind": "check", "id": made["id"], "confirm": "Basket"},
		{"kind": "channel", "id": channel["id"], "confirm": "Another"},
	} {
		if out := c.use("delete_object", gone); out["deleted"] != true {
			t.Errorf("delete_object answers %v", out)
		}
	}
	return changers()
}

// member returns an object of a result.
func member(t *testing.T, result args, name string) args {
	t.Helper()
	out, ok := result[name].(map[string]any)
	if !ok {
		t.Fatalf("there is no %s in %v", name, result)
	}
	return out
}
