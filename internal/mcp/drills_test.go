// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// drillAll uses the tools of drills.
func (w *world) drillAll(t *testing.T, c *session) {
	t.Helper()
	recurrence := args{"every": "monthly", "day": 1, "hour": 9, "timezone": "Europe/Berlin"}
	schedule := member(t, c.use("save_drill_schedule", args{
		"name": injection, "channels": []string{"Hook"}, "recurrence": recurrence, "severity": "warning",
	}), "schedule")
	if schedule["severity"] != "warning" || schedule["confirm_pager"] != false || asText(t, schedule["channel_ids"]) != `["`+w.channel+`"]` {
		t.Errorf("the schedule is %v", schedule)
	}
	stale := c.refused("save_drill_schedule", args{"id": schedule["id"], "enabled": false, "revision": 999})
	if stale["code"] != "precondition_failed" {
		t.Errorf("a change of another revision is answered %v", stale)
	}
	changed := member(t, c.use("save_drill_schedule", args{"id": schedule["id"], "enabled": false, "revision": 1}), "schedule")
	if changed["enabled"] != false || changed["next_at"] != nil || changed["untrusted_name"] != injection {
		t.Errorf("the changed schedule is %v", changed)
	}

	asked := member(t, c.use("run_drill", args{"channels": []string{"Hook"}, "expect_within_seconds": 30}), "drill")
	if asked["state"] != "asked" || asked["expect_within_seconds"] != float64(30) {
		t.Errorf("the drill is %v", asked)
	}
	if busy := c.refused("run_drill", args{"check": "Shop"}); busy["code"] != "conflict" {
		t.Errorf("a second drill of the channel is answered %v", busy)
	}
	c.use("run_drill", args{"cancel": asked["id"]})
	if _, _, err := w.site.store.CloseDrill(t.Context(), uuid.MustParse(asked["id"].(string)), "v1",
		func([]byte) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	shown := c.use("list_drills", args{"drill": asked["id"]})
	onlyUntrusted(t, "list_drills", shown)
	hops, _ := shown["hops"].([]any)
	channels, _ := shown["channels"].([]any)
	if member(t, shown, "drill")["verdict"] != "canceled" || len(hops) == 0 || hops[0].(map[string]any)["hop"] != "asked" ||
		len(channels) != 1 {
		t.Errorf("the receipt is %v", shown)
	}
	listed := c.use("list_drills", args{"verdict": "canceled"})
	onlyUntrusted(t, "list_drills", listed)
	if len(listed["drills"].([]any)) != 1 || len(listed["schedules"].([]any)) != 1 {
		t.Errorf("listed are %v", listed)
	}
	if row := asText(t, c.use("list_channels", args{})); !strings.Contains(row, `"verdict":"canceled"`) ||
		!strings.Contains(row, asked["id"].(string)) {
		t.Errorf("the channels have no last drill: %s", row)
	}
	c.use("delete_object", args{"kind": "drill_schedule", "id": schedule["id"], "confirm": injection})
	if left := c.use("list_drills", args{})["schedules"].([]any); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// A pager is notified only when that is asked for by name, and a client that can ask its user does so.
func TestADrillOfAPagerIsAgreedTo(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	a.create(t, "/v1/notification-channels", map[string]any{
		"name": "Duty", "type": "pager", "config": map[string]any{"routing_key": "0123456789abcdef0123456789abcdef"},
	})
	drill := args{"channels": []string{"Duty"}}
	schedule := args{
		"name": "Monthly", "channels": []string{"Duty"},
		"recurrence": args{"every": "monthly", "day": 1, "hour": 9, "timezone": "UTC"},
	}
	with := func(of args) args {
		out := args{"confirm_pager": true}
		for name, value := range of {
			out[name] = value
		}
		return out
	}
	user := &asking{answer: sdk.ElicitResult{Action: "decline"}}
	c := s.connectAsking(t, "", &sender{key: a.key}, user)
	for tool, arguments := range map[string]args{"run_drill": drill, "save_drill_schedule": schedule} {
		wrong := c.refused(tool, arguments)
		if details, _ := wrong["details"].(map[string]any); wrong["code"] != "invalid_request" || details["member"] != "confirm_pager" {
			t.Errorf("%s of a pager without a confirmation: %v", tool, wrong)
		}
		if len(user.asked) > 0 {
			t.Errorf("%s asks %q", tool, user.asked)
		}
		if wrong = c.refused(tool, with(arguments)); wrong["code"] != "conflict" || len(user.asked) != 1 ||
			!strings.Contains(user.asked[0], "it wakes people") {
			t.Errorf("%s, the user said no to %q: %v", tool, user.asked, wrong)
		}
		user.asked = nil
	}
	if out := c.use("list_drills", args{}); len(out["drills"].([]any)) != 0 || len(out["schedules"].([]any)) != 0 {
		t.Errorf("although the user did not agree there are %v", out)
	}
	user.answer = sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
	c.use("save_drill_schedule", with(schedule))
	c.use("run_drill", with(drill))
	if out := c.use("list_drills", args{}); len(out["drills"].([]any)) != 1 || len(out["schedules"].([]any)) != 1 {
		t.Errorf("the user agreed, and there are %v", out)
	}
}
