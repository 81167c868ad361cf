// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

func managedBy(project, key string) map[string]any {
	return map[string]any{"tool": "terraform", "project": project, "key": key}
}

func TestManagedBy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	resources := append(revisionedResources(t, a), revisioned{
		kind: "status page", list: "/v1/status-pages", create: map[string]any{"slug": "managed", "title": "Managed"},
	}, revisioned{kind: "maintenance window", list: windows, create: map[string]any{
		"name": "Managed", "scope": map[string]any{"all": true}, "starts_at": localTime(0), "duration_seconds": 60,
	}}, revisioned{kind: "subscription", list: subscriptions, create: subscriptionTo(text(a.channel(t), "id"))})
	for _, r := range resources {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			body, _ := r.create.(map[string]any)
			create := func(key string) map[string]any {
				made := make(map[string]any)
				for name, value := range body {
					made[name] = value
				}
				made["managed_by"] = managedBy("shop", key)
				if r.kind == "status page" {
					made["slug"] = "managed-" + key
				}
				return made
			}
			one := a.want(t, http.StatusCreated, http.MethodPost, r.list, create("one")).data(t)
			path := r.list + "/" + text(one, "id")
			if encoded(t, one["managed_by"]) != encoded(t, managedBy("shop", "one")) {
				t.Errorf("created with managed_by %v", one["managed_by"])
			}
			t.Run("IsKeptWhenAbsentAndReleasedByNull", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
				kept := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": true}).data(t)
				if encoded(t, kept["managed_by"]) != encoded(t, managedBy("shop", "one")) || kept["revision"] != 1.0 {
					t.Errorf("an absent member made %v", kept)
				}
				released := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"managed_by": nil}).data(t)
				if released["managed_by"] != nil || released["revision"] != 2.0 {
					t.Errorf("null made %v", released)
				}
				taken := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"managed_by": managedBy("shop", "one")}).data(t)
				if encoded(t, taken["managed_by"]) != encoded(t, managedBy("shop", "one")) || taken["revision"] != 3.0 {
					t.Errorf("taken as %v", taken)
				}
			})
			t.Run("IsTakenOnce", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
				two := a.want(t, http.StatusCreated, http.MethodPost, r.list, create("two")).data(t)
				again := create("two")
				if r.kind == "status page" {
					again["slug"] = "managed-again"
				}
				for _, refused := range []answer{
					a.want(t, http.StatusConflict, http.MethodPost, r.list, again),
					a.want(t, http.StatusConflict, http.MethodPut, path, map[string]any{"managed_by": managedBy("shop", "two")}),
				} {
					if !strings.Contains(refused.problem(), `"two" in the project "shop" of terraform already`) {
						t.Errorf("refused with %s", refused.raw)
					}
				}
				a.want(t, http.StatusOK, http.MethodPut, r.list+"/"+text(two, "id"), map[string]any{"managed_by": managedBy("other", "two")})
			})
			t.Run("FiltersLists", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
				if r.kind == "rule" {
					return // its list, of one check, has no filters
				}
				for query, want := range map[string]int{
					"tool=terraform": 2, "tool=apply": 0, "project=shop": 1, "project=other&key=two": 1, "key=one": 1, "tool=terraform&key=nine": 0,
				} {
					if rows := a.want(t, http.StatusOK, http.MethodGet, r.list+"?"+query, nil).rows(t); len(rows) != want {
						t.Errorf("%s selects %d, want %d", query, len(rows), want)
					}
				}
			})
			t.Run("NamesWhatIsWrong", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
				for member, wrong := range map[string]any{
					"managed_by.tool":    map[string]any{"tool": "Terra form", "project": "p", "key": "k"},
					"managed_by.project": map[string]any{"tool": "t", "project": "a/b", "key": "k"},
					"managed_by.key":     map[string]any{"tool": "t", "project": "p", "key": "a b"},
					"managed_by":         "shop",
				} {
					refused := a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"managed_by": wrong})
					if refused.detail("member") != member {
						t.Errorf("%v: %s", wrong, refused.raw)
					}
				}
			})
		})
	}
	t.Run("FiltersAllRules", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
		for _, key := range []string{"x", "y"} {
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks/"+check+"/alerts", map[string]any{
				"name": key, "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []any{channel},
				"managed_by": managedBy("shop", key),
			})
		}
		rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules?project=shop&key=y", nil).rows(t)
		if len(rows) != 1 || rows[0]["name"] != "y" {
			t.Errorf("selected %v", rows)
		}
	})
}
