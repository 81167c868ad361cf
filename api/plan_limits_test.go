package api_test

import (
	"net/http"
	"testing"

	"vigil"
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
	enterprise := b.tier(t, a, vigil.TierEnterprise)
	limits, _ := enterprise.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)["limits"].(map[string]any)
	checks, _ := limits["checks"].(map[string]any)
	channels, _ := limits["channels"].(map[string]any)
	if checks["limit"] != nil || checks["used"] != 1.0 || channels["limit"] != 2000.0 {
		t.Errorf("limits %v", limits)
	}
}
