// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestCountLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := a.check(t)
	channel := a.channel(t)
	rules := "/v1/checks/" + text(check, "id") + "/alerts"
	rule := map[string]any{
		"name": "Down", "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []any{text(channel, "id")},
	}
	hook := map[string]any{"name": "hook", "type": "webhook", "config": map[string]any{"url": "https://hooks.example.com/x"}}
	key := map[string]any{"name": "deployment"}
	for _, tt := range []struct {
		limit string
		path  string
		body  map[string]any
		free  int
	}{
		{"channels", "/v1/notification-channels", hook, 20},
		{"rules_per_check", rules, rule, 10},
		{"api_keys", "/v1/api-keys", key, 20},
	} {
		limits := func(limit any) int {
			t.Helper()
			usage, _ := a.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)["limits"].(map[string]any)
			shown, _ := usage[tt.limit].(map[string]any)
			used, _ := shown["used"].(float64)
			if shown["limit"] != limit {
				t.Errorf("%s: %v", tt.limit, shown)
			}
			return int(used)
		}
		for range tt.free - limits(float64(tt.free)) {
			a.want(t, http.StatusCreated, http.MethodPost, tt.path, tt.body)
		}
		r := a.want(t, http.StatusForbidden, http.MethodPost, tt.path, tt.body)
		if r.body["code"] != "plan_limit" || r.detail("limit") != float64(tt.free) || r.detail("current") != float64(tt.free) ||
			r.detail("requested") != 1.0 || r.detail("tier") != "free" {
			t.Errorf("%s: %s", tt.limit, r.raw)
		}
		if n := limits(float64(tt.free)); n != tt.free {
			t.Errorf("%s: %d are used", tt.limit, n)
		}
	}
	enterprise := b.tier(t, a, account.TierEnterprise)
	limits, _ := enterprise.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)["limits"].(map[string]any)
	checks, _ := limits["checks"].(map[string]any)
	channels, _ := limits["channels"].(map[string]any)
	if checks["limit"] != nil || checks["used"] != 1.0 || channels["limit"] != 2000.0 {
		t.Errorf("limits %v", limits)
	}
}

// downloads is a check that moves 58.6 GiB an hour.
func downloads() doc {
	var steps []any
	for i := range 10 {
		steps = append(steps, doc{"name": fmt.Sprintf("s%d", i), "type": "throughput", "config": doc{
			"url": "https://files.example.com/", "max_bytes": 100 << 20, "max_duration_seconds": 1,
		}})
	}
	return doc{"type": "multistep", "interval_seconds": 60, "regions": []string{"eu-central-fra"}, "config": doc{"steps": steps}}
}

// TestThroughputBudgetOfAProject holds that files do not move more bytes an hour than single
// checks may: the steps of a multistep check count, and nothing of such a project is made.
func TestThroughputBudgetOfAProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t) // 100 GiB an hour
	big := downloads()
	project := func(status int, checks doc) answer {
		return a.want(t, status, http.MethodPost, "/v1/apply", doc{"project": "shop", "document": doc{"version": 1, "checks": checks}})
	}
	r := project(http.StatusForbidden, doc{"one": big, "two": big})
	if r.body["code"] != "plan_limit" || r.detail("limit") != float64(100<<30) || r.detail("current") != 0.0 ||
		r.detail("requested") != float64(2*60*10*100<<20) {
		t.Errorf("answer %s", r.raw)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(rows) != 0 {
		t.Errorf("made %v", rows)
	}
	project(http.StatusOK, doc{"one": big})
	if r := project(http.StatusForbidden, doc{"one": big, "two": big}); r.body["code"] != "plan_limit" {
		t.Errorf("answer %s", r.raw)
	}
}

// TestThroughputBudgetOfSeveralChecks holds it for checks that are enabled, or probed more often,
// together: by their sum, and none of them is changed.
func TestThroughputBudgetOfSeveralChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t) // 100 GiB an hour
	var ids []string
	for range 3 {
		check := downloads()
		check["name"], check["enabled"] = "downloads", false
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", check)
		ids = append(ids, text(made.data(t), "id"))
	}
	bulk := func(status int, body doc) {
		t.Helper()
		if r := a.want(t, status, http.MethodPost, "/v1/checks/bulk", body); status == http.StatusForbidden &&
			(r.body["code"] != "plan_limit" || r.detail("limit") != float64(100<<30)) {
			t.Errorf("answer %s", r.raw)
		}
	}
	for _, dryRun := range []bool{true, false} {
		bulk(http.StatusForbidden, doc{"ids": ids, "action": "enable", "dry_run": dryRun})
		bulk(http.StatusForbidden, doc{"ids": ids, "action": "set", "members": doc{"enabled": true}, "dry_run": dryRun})
	}
	for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t) {
		if row["enabled"] != false {
			t.Errorf("enabled %v", row)
		}
	}
	bulk(http.StatusOK, doc{"ids": ids[:1], "action": "enable"})
	bulk(http.StatusForbidden, doc{"ids": ids[1:2], "action": "enable"})
	bulk(http.StatusForbidden, doc{"ids": ids[1:], "action": "set", "members": doc{"enabled": true, "interval_seconds": 61}})
}

// TestCreationsWithoutALimitAreNotCounted holds it for files as for single checks: an organization
// whose plan becomes smaller does not begin with an allowance that is used up.
func TestCreationsWithoutALimitAreNotCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	a.check(t)
	a.apply(t, http.StatusOK, shop())
	var counted int
	err := b.store.DB().NewRaw("SELECT count(*) FROM check_creations WHERE org_id = ?", a.org).Scan(t.Context(), &counted)
	if err != nil || counted != 0 {
		t.Errorf("%d creations are counted, %v", counted, err)
	}
}
