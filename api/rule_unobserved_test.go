// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestUnobservedOfARule writes the member in each way in which a rule is written.
func TestUnobservedOfARule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	rules := "/v1/checks/" + text(a.check(t), "id") + "/alerts"
	body := func(members ...func(map[string]any)) map[string]any {
		rule := map[string]any{
			"name": "Down", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{text(a.channel(t), "id")},
		}
		for _, member := range members {
			member(rule)
		}
		return rule
	}
	plain := a.want(t, http.StatusCreated, http.MethodPost, rules, body()).data(t)
	asks := a.want(t, http.StatusCreated, http.MethodPost, rules, body(with("unobserved", "notify"))).data(t)
	if plain["unobserved"] != "ignore" || asks["unobserved"] != "notify" {
		t.Errorf("created with %v and %v, want ignore and notify", plain["unobserved"], asks["unobserved"])
	}
	path := rules + "/" + text(asks, "id")
	for _, wrong := range []any{"", "NOTIFY", "page", true, 1, nil, []string{"notify"}} {
		for _, refused := range []answer{
			a.want(t, http.StatusBadRequest, http.MethodPost, rules, body(with("unobserved", wrong))),
			a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"unobserved": wrong}),
		} {
			if !strings.Contains(string(refused.raw), "unobserved") {
				t.Errorf("%v is refused with %s", wrong, refused.raw)
			}
		}
	}
	renamed := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "Renamed"}).data(t)
	if renamed["unobserved"] != "notify" {
		t.Errorf("a change of another member sets it to %v", renamed["unobserved"])
	}
	a.want(t, http.StatusOK, http.MethodPut, path, renamed) // what was read can be written
	if got := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"unobserved": "ignore"}).data(t); got["unobserved"] != "ignore" {
		t.Errorf("changed to %v", got["unobserved"])
	}
	// A key that reads, and those who do not belong to the organization, change nothing.
	reader := a.keyWith(t, account.ScopeRead)
	reader.want(t, http.StatusForbidden, http.MethodPut, path, map[string]any{"unobserved": "notify"})
	b.signup(t).want(t, http.StatusNotFound, http.MethodPut, path, map[string]any{"unobserved": "notify"})
	if got := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); got["unobserved"] != "ignore" {
		t.Errorf("it is %v now", got["unobserved"])
	}
}

// TestApplyWritesUnobserved: files set the member, and without it a rule has the default.
func TestApplyWritesUnobserved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	for _, step := range []struct {
		change func(doc)
		want   string
	}{
		{at("checks.home.rules.down.unobserved", "notify"), "notify"},
		{at("checks.home.rules.down.name", "Down again"), "ignore"},
	} {
		a.apply(t, http.StatusOK, shop(step.change))
		list := a.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules?limit=100", nil).rows(t)
		var got []string
		for _, rule := range list {
			got = append(got, text(rule, "unobserved"))
		}
		if !slices.Contains(got, step.want) || step.want == "ignore" && slices.Contains(got, "notify") {
			t.Errorf("the rules have %q, want one with %s", got, step.want)
		}
	}
	refused := a.apply(t, http.StatusBadRequest, shop(at("checks.home.rules.down.unobserved", "page")))
	if !strings.Contains(string(refused.raw), "unobserved") {
		t.Errorf("page is refused with %s", refused.raw)
	}
}

// TestDeliveriesOfAnUnobservedCheck filters by the time without results: one of another
// organization has no deliveries, and what is no id is refused.
func TestDeliveriesOfAnUnobservedCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	const id = "01a216a8-caaf-7750-b12a-b1eef858affb"
	if list := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries?unobserved_id="+id, nil).rows(t); len(list) != 0 {
		t.Errorf("got %v", list)
	}
	refused := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/deliveries?unobserved_id=1", nil)
	if !strings.Contains(string(refused.raw), "unobserved_id") {
		t.Errorf("1 is refused with %s", refused.raw)
	}
}
