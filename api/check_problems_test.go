// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

// problems returns the members that an answer names, with what it says of each.
func problems(t *testing.T, got answer) map[string]string {
	t.Helper()
	details, _ := got.body["details"].(map[string]any)
	found := make(map[string]string)
	member, _ := details["member"].(string)
	message, _ := got.body["error"].(string)
	found[member] = message
	list, _ := details["problems"].([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		found[text(one, "member")] = text(one, "message")
	}
	return found
}

// TestEveryMistakeInOneAnswer: a check whose members are wrong in form and in meaning, with a rule that is
// wrong too, is refused once, with all of the members.
func TestEveryMistakeInOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	rule := map[string]any{
		"name":                     "Down",
		"condition":                map[string]any{"failure_threshold": 2},
		"notification_channel_ids": []string{uuid.NewString()},
	}
	for name, c := range map[string]struct {
		body map[string]any
		want []string
	}{
		"meaning": {
			map[string]any{
				"name": " \n", "type": "https", "interval_seconds": 1, "regions": []string{"nowhere"}, "labels": map[string]any{"A B": "c"},
				"config": map[string]any{
					"url": "ftp://example.com", "timeout_seconds": 61, "method": "FETCH", "basic_auth": map[string]any{"username": "a:b"},
					"assertions": []any{
						map[string]any{"source": "status", "operator": "eq", "target": "200"},
						map[string]any{"source": "nothing", "operator": "eq", "target": "1"},
						map[string]any{"source": "status", "operator": "eq", "target": "201"},
						map[string]any{"source": "status", "operator": "is", "target": "1"},
					},
				},
				"rules": []any{
					rule,
					map[string]any{
						"name": "\n", "condition": map[string]any{"failure_threshold": 0, "severity": "bad"},
						"notification_channel_ids": []string{uuid.NewString()},
					},
				},
			},
			[]string{
				"name", "interval_seconds", "regions[0]", "labels", "config.url", "config.timeout_seconds", "config.method",
				"config.basic_auth.username", "config.assertions[1].source", "config.assertions[3].operator", "rules[1].name",
				"rules[1].condition.failure_threshold", "rules[1].condition.severity",
			},
		},
		"form and meaning": {
			map[string]any{
				"name": "\n", "type": "tcp", "interval_seconds": "often", "enabled": nil, "config": map[string]any{"host": "", "port": 0},
				"rules": []any{map[string]any{"name": "x", "condition": map[string]any{"failure_threshold": 0}}},
			},
			[]string{
				"name", "interval_seconds", "enabled", "config.host", "config.port", "rules[0].notification_channel_ids",
				"rules[0].condition.failure_threshold",
			},
		},
		"a channel of a rule that is none": {
			map[string]any{
				"name": "\n", "type": "ping", "interval_seconds": 60, "config": map[string]any{"host": "example.com"},
				"rules": []any{map[string]any{
					"name": "x", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{"chat"},
				}},
			},
			[]string{"name", "rules[0].notification_channel_ids[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", c.body)
			found := problems(t, got)
			if have := slices.Sorted(maps.Keys(found)); !slices.Equal(have, slices.Sorted(slices.Values(c.want))) {
				t.Errorf("got  %q\nwant %q\n%v", have, slices.Sorted(slices.Values(c.want)), found)
			}
		})
	}
	check := text(a.check(t), "id")
	got := a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/checks/"+check, map[string]any{
		"name": "\n", "interval_seconds": 1, "config": map[string]any{"url": "ftp://a.b", "timeout_seconds": 99},
	})
	if have := slices.Sorted(
		maps.Keys(problems(t, got)),
	); !slices.Equal(
		have,
		[]string{"config.timeout_seconds", "config.url", "interval_seconds", "name"},
	) {
		t.Errorf("a change is refused for %q", have)
	}
	got = a.want(t, http.StatusBadRequest, http.MethodPut, "/v1/checks/"+check, map[string]any{
		"name": "\n", "type": "https", "interval_seconds": "x", "config": map[string]any{"url": "ftp://a.b"},
	})
	if have := slices.Sorted(maps.Keys(problems(t, got))); !slices.Equal(have, []string{"config.url", "interval_seconds", "name"}) {
		t.Errorf("a change of a wrong form is refused for %q", have)
	}
}

// TestWhatFollowsFromAMistakeIsNotSaid: a member that is right is not reported because another one is wrong.
func TestWhatFollowsFromAMistakeIsNotSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for body, want := range map[string]string{
		`"type": "https", "interval_seconds": 1, "config": {"url": "https://a.b", "timeout_seconds": 50}`: "interval_seconds",
		`"type": "https", "interval_seconds": 60, "config": {"url": "x"}`:                                 "config.url",
		`"type": "ssl", "interval_seconds": 60, "config": {}`:                                             "config.host",
		`"type": "nothing", "interval_seconds": 60, "config": {"url": "https://a.b"}`:                     "type",
		`"type": "https", "interval_seconds": 60, "config": {"url": "https://a.b", "method": "FETCH"}`:    "config.method",
		`"type": "https", "interval_seconds": 60, "regions": ["mars"], "config": {"url": "https://a.b"}`:  "regions[0]",
		`"type": "heartbeat", "config": {"schedule": {"every_seconds": 0}}`:                               "config.schedule.every_seconds",
	} {
		got := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", `{"name": "a", `+body+"}")
		if have := slices.Sorted(maps.Keys(problems(t, got))); len(have) != 1 || have[0] != want {
			t.Errorf("%s: refused for %q", body, have)
		}
	}
}

// TestACheckAndItsRulesAreOneChange: rules that come with a new check are stored with it, and when one is
// refused, by what it says or by the plan, no check is left.
func TestACheckAndItsRulesAreOneChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	own, foreign := text(a.channel(t), "id"), text(other.channel(t), "id")
	rule := func(channel string) map[string]any {
		return map[string]any{"name": "Down", "condition": map[string]any{"failure_threshold": 3}, "notification_channel_ids": []string{channel}}
	}
	body := func(rules ...any) map[string]any {
		return map[string]any{
			"name":             "Shop",
			"type":             "ping",
			"interval_seconds": 300,
			"config":           map[string]any{"host": "example.com"},
			"rules":            rules,
		}
	}
	none := func(t *testing.T) {
		t.Helper()
		if list := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(list) != 0 {
			t.Fatalf("%d checks are left", len(list))
		}
	}

	got := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", body(rule(own), rule(foreign)))
	if found := problems(t, got); !strings.Contains(found["rules[1].notification_channel_ids"], "is not a channel of this organization") {
		t.Errorf("a foreign channel: %v", found)
	}
	none(t)
	var many []any
	for range account.TierFree.Limit(account.LimitRulesPerCheck) + 1 {
		many = append(many, rule(own))
	}
	if got := a.want(t, http.StatusForbidden, http.MethodPost, "/v1/checks", body(many...)); got.body["code"] != "plan_limit" {
		t.Errorf("too many rules: %v", got.body)
	}
	none(t)

	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body(rule(own), rule(own))).data(t)
	list := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(made, "id")+"/alerts", nil).rows(t)
	if len(list) != 2 {
		t.Errorf("the check has %d rules", len(list))
	}
	var actions []string
	for _, one := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
		if action := text(one, "action"); action == "check.create" || action == "rule.create" {
			actions = append(actions, action)
		}
	}
	if slices.Sort(actions); !slices.Equal(actions, []string{"check.create", "rule.create", "rule.create"}) {
		t.Errorf("the audit log has %v", actions)
	}
}
