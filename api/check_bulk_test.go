// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestBulk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	const path = "/v1/checks/bulk"
	var ids []string
	for i := range 4 {
		check := a.check(t, with("labels", map[string]any{"n": string(rune('a' + i)), "team": "web"}))
		ids = append(ids, text(check, "id"))
	}
	foreign := text(other.check(t), "id")
	actions := func() (list []string) {
		for _, entry := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
			if action := text(entry, "action"); action != "check.create" && strings.HasPrefix(action, "check.") {
				list = append(list, action+" "+text(entry, "resource_id"))
			}
		}
		return list
	}

	t.Run("Mistakes", func(t *testing.T) { //nolint:paralleltest // in this order
		for body, member := range map[string]string{
			`{"action":"disable"}`:                                                         "selector",
			`{"action":"disable","selector":{}}`:                                           "selector",
			`{"action":"disable","selector":null}`:                                         "selector",
			`{"action":"disable","selector":{"everything":true}}`:                          "selector.everything",
			`{"action":"disable","selector":{"type":"gopher"}}`:                            "selector.type",
			`{"action":"disable","selector":{"region":"nowhere"}}`:                         "selector.region",
			`{"action":"disable","selector":{"labels":["A"]}}`:                             "selector.labels",
			`{"action":"disable","selector":{"health":"fine"}}`:                            "selector.health",
			`{"action":"disable","ids":[]}`:                                                "ids",
			`{"action":"disable","ids":["` + ids[0] + `"],"selector":{"query":"x"}}`:       "selector",
			`{"action":"explode","ids":["` + ids[0] + `"]}`:                                "action",
			`{"ids":["` + ids[0] + `"]}`:                                                   "action",
			`{"action":"set","ids":["` + ids[0] + `"]}`:                                    "members",
			`{"action":"set","ids":["` + ids[0] + `"],"members":{}}`:                       "members",
			`{"action":"set","ids":["` + ids[0] + `"],"members":{"name":"x"}}`:             "members.name",
			`{"action":"enable","ids":["` + ids[0] + `"],"members":{"enabled":true}}`:      "members",
			`{"action":"set","ids":["` + ids[0] + `"],"members":{"interval_seconds":1}}`:   "interval_seconds",
			`{"action":"set","ids":["` + ids[0] + `"],"members":{"labels":{"A":"x"}}}`:     "labels",
			`{"action":"set","ids":["` + ids[0] + `"],"members":{"add_labels":{"A":"x"}}}`: "labels",
		} {
			if r := a.want(t, http.StatusBadRequest, http.MethodPost, path, body); r.detail("member") != member {
				t.Errorf("%s names %v, want %s: %s", body, r.detail("member"), member, r.raw)
			}
		}
		for _, id := range []string{foreign, "00000000-0000-4000-8000-000000000000", "7"} {
			a.want(t, http.StatusNotFound, http.MethodPost, path, map[string]any{"action": "delete", "ids": []string{ids[0], id}})
		}
		if list := actions(); len(list) != 0 {
			t.Errorf("mistakes are in the audit log: %v", list)
		}
	})

	t.Run("PlanLimitChangesNothing", func(t *testing.T) { //nolint:paralleltest // as above
		r := a.want(t, http.StatusBadRequest, http.MethodPost, path, map[string]any{
			"action": "set", "selector": map[string]any{"labels": []string{"team"}},
			"members": map[string]any{"regions": []string{"na-east-ewr", "eu-central-fra"}},
		})
		if id, _ := r.detail("check_id").(string); id == "" {
			t.Errorf("the answer does not say which check: %s", r.raw)
		}
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?region=eu-central-fra", nil).rows(t); len(rows) != 0 {
			t.Errorf("%d checks changed", len(rows))
		}
	})

	t.Run("DryRun", func(t *testing.T) { //nolint:paralleltest // as above
		got := a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{
			"action": "disable", "selector": map[string]any{"labels": []string{"team=web"}}, "dry_run": true,
		}).data(t)
		if got["matched"] != 4.0 || got["changed"] != 4.0 || got["dry_run"] != true {
			t.Errorf("got %v", got)
		}
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?enabled=false", nil).rows(t); len(rows) != 0 || len(actions()) != 0 {
			t.Errorf("%d checks are disabled, audited %v", len(rows), actions())
		}
	})

	t.Run("Disable", func(t *testing.T) { //nolint:paralleltest // as above
		body := map[string]any{"action": "disable", "ids": []string{ids[0], ids[1], ids[0]}}
		got := a.want(t, http.StatusOK, http.MethodPost, path, body).data(t)
		if got["matched"] != 2.0 || got["changed"] != 2.0 {
			t.Errorf("got %v", got)
		}
		// One of the three is disabled already: only the other two change.
		got = a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{"action": "disable", "ids": ids[1:]}).data(t)
		if got["matched"] != 3.0 || got["changed"] != 2.0 {
			t.Errorf("got %v", got)
		}
		if list := actions(); len(list) != 4 {
			t.Errorf("audited %v, want one entry for each check that changed", list)
		}
		eventually(t, "the loops are disabled", func() bool {
			b.loops.mu.Lock()
			defer b.loops.mu.Unlock()
			disabled := 0
			for _, loop := range b.loops.applied {
				if !loop.Active {
					disabled++
				}
			}
			return disabled >= 4
		})
	})

	t.Run("SetLabels", func(t *testing.T) { //nolint:paralleltest // as above
		a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{
			"action": "set", "selector": map[string]any{"enabled": false},
			"members": map[string]any{"add_labels": map[string]any{"env": "prod"}, "remove_labels": []string{"team"}},
		})
		got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+ids[2], nil).data(t)
		if encoded(t, got["labels"]) != `{"env":"prod","n":"c"}` {
			t.Errorf("labels are %v", got["labels"])
		}
	})

	t.Run("Delete", func(t *testing.T) { //nolint:paralleltest // as above
		body := map[string]any{"action": "delete", "selector": map[string]any{"query": "HOME"}}
		got := a.want(t, http.StatusOK, http.MethodPost, path, body).data(t)
		if got["changed"] != 4.0 {
			t.Errorf("got %v", got)
		}
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(rows) != 0 {
			t.Errorf("%d checks are left", len(rows))
		}
		other.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+foreign, nil)
	})
}
