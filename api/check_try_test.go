// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// tryOf is the body of a try of a page.
func tryOf(regions ...string) map[string]any {
	body := map[string]any{
		"type":   "https",
		"config": map[string]any{"url": "https://example.com/", "headers": map[string]any{"X-Api-Key": "s3cret"}},
	}
	if regions != nil {
		body["regions"] = regions
	}
	return body
}

func TestTry(t *testing.T) {
	t.Parallel()
	const path = "/v1/checks/try"

	t.Run("ProbesFromEachRegionAndKeepsNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := b.tier(t, b.signup(t), account.TierPaid)
		var tried []uuid.UUID
		b.loops.test = func(check vigil.Check, region string, dryRun bool) (vigil.Result, error) {
			b.loops.mu.Lock()
			tried = append(tried, check.ID)
			b.loops.mu.Unlock()
			if def, err := b.store.Definition(
				t.Context(),
				check.ID,
			); err != nil || !strings.Contains(string(def.Check.Config), "s3cret") ||
				!dryRun {
				t.Errorf("a worker reads %s, %v", def.Check.Config, err)
			}
			if region == "ap-southeast-sin" {
				return vigil.Result{}, vigil.Errorf(vigil.CodeUnavailable, "no worker of region %s", region)
			}
			return vigil.Result{
				ID: uuid.New(), CheckID: check.ID, Region: region, Observation: vigil.Observation{Success: true, ResponseTime: 7 * time.Millisecond},
			}, nil
		}
		r := a.want(t, http.StatusOK, http.MethodPost, path, tryOf("eu-central-fra", "ap-southeast-sin", "na-east-ewr"))
		rows := r.rows(t)
		var regions []string
		for _, row := range rows {
			regions = append(regions, text(row, "region"))
			if row["check_id"] != uuid.Nil.String() {
				t.Errorf("the result names a check: %v", row)
			}
		}
		if !slices.Equal(regions, []string{"eu-central-fra", "ap-southeast-sin", "na-east-ewr"}) || rows[0]["success"] != true ||
			rows[1]["success"] != false || text(rows[1], "error_message") != "no worker of region ap-southeast-sin" || rows[2]["success"] != true {
			t.Errorf("answer %s", r.raw)
		}
		if _, err := b.store.Definition(t.Context(), tried[0]); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("the config is kept after its try: %v", err)
		}
		if checks := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(checks) != 0 {
			t.Errorf("checks %v were stored", checks)
		}
	})

	t.Run("IsUnavailableWhenNoRegionAnswers", func(t *testing.T) {
		t.Parallel()
		a := setup(t).signup(t)
		a.want(t, http.StatusServiceUnavailable, http.MethodPost, path, tryOf())
	})

	t.Run("RefusesWhatACheckRefuses", func(t *testing.T) {
		t.Parallel()
		a := setup(t).signup(t)
		for member, body := range map[string]map[string]any{
			"type":               {"type": "gopher", "config": map[string]any{}},
			"config.url":         {"type": "https", "config": map[string]any{"url": "ftp://example.com/"}},
			"config":             {"type": "https"},
			"regions":            tryOf("atlantis"),
			"config.headers.X-A": {"type": "https", "config": map[string]any{"url": "https://example.com/", "headers": map[string]any{"X-A": 1}}},
		} {
			r := a.want(t, http.StatusBadRequest, http.MethodPost, path, body)
			if got, _ := r.detail("member").(string); !strings.HasPrefix(got, member) {
				t.Errorf("%s: %s", member, r.raw)
			}
		}
		masked := tryOf()
		masked["config"] = map[string]any{"url": "https://example.com/", "headers": map[string]any{"X-Api-Key": "***"}}
		a.want(t, http.StatusBadRequest, http.MethodPost, path, masked)
	})

	t.Run("IsLimited", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := b.signup(t)
		b.loops.test = func(check vigil.Check, region string, _ bool) (vigil.Result, error) {
			return vigil.Result{CheckID: check.ID, Region: region}, nil
		}
		for range 60 {
			a.want(t, http.StatusOK, http.MethodPost, path, tryOf())
		}
		if r := a.want(t, http.StatusTooManyRequests, http.MethodPost, path, tryOf()); r.header.Get("Retry-After") == "" {
			t.Errorf("answer %s", r.raw)
		}
	})
}
