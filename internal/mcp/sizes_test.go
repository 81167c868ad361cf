// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"fmt"
	"strings"
	"testing"
)

// Results stay within their size, and cursors lead to every row once.
func TestListsAreCutAndGoOn(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	const checks = 60
	for i := range checks {
		a.create(t, "/v1/checks", map[string]any{
			"name": fmt.Sprintf("Check %02d %s", i, strings.Repeat("ä", 150)), "type": "http", "interval_seconds": 3600, "enabled": false,
			"labels": map[string]any{"text": strings.Repeat("x", 200), "more": strings.Repeat("y", 200)},
			"config": map[string]any{"url": "http://127.0.0.1/" + strings.Repeat("p", 1000)},
		})
	}
	c := s.connect(t, "", &sender{key: a.key})
	seen, cursor, pages := make(map[any]bool), any(""), 0
	for cursor != nil {
		result := c.use("list_checks", args{"limit": 50, "cursor": cursor})
		rows, _ := result["checks"].([]any)
		for _, row := range rows {
			row, _ := row.(map[string]any)
			if seen[row["id"]] {
				t.Errorf("check %v comes twice", row["id"])
			}
			seen[row["id"]] = true
		}
		cursor = result["next_cursor"]
		if (cursor != nil) != (result["truncated"] == true) {
			t.Errorf("truncated is %v, the cursor %v", result["truncated"], cursor)
		}
		pages++
	}
	if len(seen) != checks || pages < 3 {
		t.Errorf("%d pages show %d of %d checks", pages, len(seen), checks)
	}
}

// A long text is cut and says so; one of a config is kept longer, since it is written back.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	a.create(t, "/v1/checks", map[string]any{
		"name": "Long", "type": "http", "interval_seconds": 3600, "enabled": false,
		"config": map[string]any{
			"url": "http://127.0.0.1/", "method": "POST", "body": strings.Repeat("ö", 50_000),
			"headers": map[string]any{"X-One": strings.Repeat("h", 4000)},
		},
	})
	c := s.connect(t, "", &sender{key: a.key})
	config := member(t, member(t, c.use("get_check", args{"check": "Long"}), "check"), "untrusted_config")
	body, _ := config["body"].(string)
	if !strings.HasSuffix(body, "[cut]") || len([]rune(body)) != 4005 {
		t.Errorf("the body has %d characters", len([]rune(body)))
	}
}

// More than 10 checks are paused only when their number is confirmed.
func TestManyChecksNeedAConfirmation(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	const checks = 12
	for i := range checks {
		a.create(t, "/v1/checks", map[string]any{
			"name": fmt.Sprintf("Check %d", i), "type": "tcp", "interval_seconds": 3600, "labels": map[string]any{"team": "shop"},
			"config": map[string]any{"host": "127.0.0.1", "port": 1},
		})
	}
	c := s.connect(t, "", &sender{key: a.key})
	asks := c.refused("set_checks_enabled", args{"label": "team=shop", "enabled": false})
	details, _ := asks["details"].(map[string]any)
	if asks["code"] != "conflict" || details["matched"] != float64(checks) {
		t.Fatalf("it answers %v", asks)
	}
	if paused, _ := c.use("list_checks", args{"enabled": false})["checks"].([]any); len(paused) != 0 {
		t.Fatalf("%d checks are paused without a confirmation", len(paused))
	}
	c.refused("set_checks_enabled", args{"label": "team=shop", "enabled": false, "confirm": checks - 1})
	if out := c.use("set_checks_enabled", args{"label": "team=shop", "enabled": false, "confirm": checks}); out["changed"] != float64(checks) {
		t.Errorf("it answers %v", out)
	}
}
