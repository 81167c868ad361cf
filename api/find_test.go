// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFindChecks: a list of checks is searched by names, targets, labels and places, grouped by a label and sorted by every
// figure. What is asked wrongly is refused by the name of its parameter; another organization learns nothing.
func TestFindChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, stranger := b.signup(t), b.signup(t)
	for name, labels := range map[string]map[string]string{
		"shop": {"team": "Payments"}, "cart": {"team": "payments", "env": ""}, "100%_": {"team": `<script>"\`}, "none": {},
	} {
		body := newCheck()
		body["name"], body["labels"] = name, labels
		if name == "cart" {
			body["regions"] = []string{"eu-central-fra"}
		}
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body)
	}
	list := func(query string) answer { return a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?"+query, nil) }
	names := func(query string) string {
		var all []string
		for _, row := range list("sort=name&" + query).rows(t) {
			all = append(all, text(row, "name"))
		}
		return strings.Join(all, " ")
	}
	for query, want := range map[string]string{
		"query=PAYMENTS": "cart shop", "query=team%3Dpay": "cart shop", "query=Frankfurt": "cart", "query=eu-central": "cart", "query=fr": "",
		"query=%25": "100%_", "query=_": "100%_", "query=%3Cscript": "100%_", "label=!team": "none", "label=team&label=!env": "100%_ shop",
		"label=env%3D": "cart", "query=" + url.QueryEscape(`"\`): "100%_",
	} {
		if got := names(query); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	groups := list("group_by=team&label_keys=true&limit=1")
	meta := encoded(t, groups.body["meta"])
	for _, want := range []string{
		`{"disabled":0,"failing":0,"passing":0,"total":1,"unknown":1,"value":"Payments","warning":0}`, `"value":null`, `"groups":[`,
		`{"checks":3,"key":"team"},{"checks":1,"key":"env"}`,
	} {
		if !strings.Contains(meta, want) {
			t.Errorf("the meta lacks %s: %s", want, meta)
		}
	}
	for _, by := range []string{"state", "type", "interval_seconds", "uptime_24h", "p95_ms", "regions", "last_checked"} {
		for _, sort := range []string{by, "-" + by} {
			first := list("limit=3&sort=" + sort)
			next, _ := first.meta("next_cursor").(string)
			rest := list("limit=3&sort=" + sort + "&cursor=" + url.QueryEscape(next))
			if len(first.rows(t)) != 3 || len(rest.rows(t)) != 1 || first.meta("total") != "4" || rest.meta("total") != "4" {
				t.Errorf("%s has %d and %d checks", sort, len(first.rows(t)), len(rest.rows(t)))
			}
			a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks?sort=name&cursor="+url.QueryEscape(next), nil)
		}
	}
	for query, member := range map[string]string{
		"query=" + strings.Repeat("x", 1024): "query", "label=!A": "label", "label=!a%3Db": "label", "label=!": "label", "sort=password": "sort",
		"group_by=A%20b": "group_by", "group_by=a%3Db": "group_by", "group_by=" + strings.Repeat("x", 64): "group_by",
		"label=a%3D" + strings.Repeat("x", 10<<10): "label", strings.Repeat("label=!a&", 21): "label", "label_keys=maybe": "label_keys",
	} {
		refused := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks?"+query, nil)
		if !strings.Contains(encoded(t, refused.body), member) {
			t.Errorf("%.60s is refused without %s: %s", query, member, refused.raw)
		}
	}
	empty := stranger.want(t, http.StatusOK, http.MethodGet, "/v1/checks?group_by=team&label_keys=true&query=payments", nil)
	if len(empty.rows(t)) != 0 || strings.Contains(string(empty.raw), "groups") || strings.Contains(string(empty.raw), "label_keys") {
		t.Errorf("another organization reads %s", empty.raw)
	}
	selected := a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/bulk",
		map[string]any{"selector": map[string]any{"labels": []string{"!team"}}, "action": "disable", "dry_run": true}).data(t)
	if selected["matched"] != 1.0 {
		t.Errorf("a selector without a label selects %v", selected)
	}
}
