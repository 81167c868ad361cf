// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

func TestRegionRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	free := b.signup(t)
	enterprise := b.tier(t, b.signup(t), account.TierEnterprise)
	create := func(a person, regions ...string) answer {
		return a.do(t, http.MethodPost, "/v1/checks", newCheck(with("regions", regions)))
	}

	t.Run("AnUnknownRegionGetsTheFullList", func(t *testing.T) {
		t.Parallel()
		r := create(free, "na-east-ewr", "moon-base-1")
		list, _ := r.detail("valid_regions").([]any)
		if r.status != http.StatusBadRequest || len(list) != 33 || r.detail("see") != "/v1/regions" || r.detail("member") != "regions[1]" {
			t.Errorf("%d %s", r.status, r.raw)
		}
		for _, key := range vigil.RegionKeys() {
			if !strings.Contains(r.problem(), key) {
				t.Errorf("the sentence lacks %s", key)
			}
		}
		if !strings.Contains(r.problem(), "/v1/regions") || strings.Contains(r.problem(), "moon") {
			t.Errorf("sentence %q", r.problem())
		}
	})

	for name, regions := range map[string][]string{
		"FreeUsesPrimaryRegionsOnly": {"eu-west-lhr"},
		"FreeUsesOneRegion":          {"na-east-ewr", "eu-central-fra"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := create(free, regions...)
			list, _ := r.detail("allowed_regions").([]any)
			if r.status != http.StatusBadRequest || len(list) != 6 || !strings.Contains(r.problem(), "af-south-jnb") {
				t.Errorf("%d %s", r.status, r.raw)
			}
		})
	}

	t.Run("DuplicatesCollapse", func(t *testing.T) {
		t.Parallel()
		r := create(free, "us-east-1", "na-east-ewr", "us-east-1")
		if r.status != http.StatusCreated || len(r.data(t)["regions"].([]any)) != 1 {
			t.Errorf("%d %s", r.status, r.raw)
		}
	})

	t.Run("EnterpriseUsesAllRegions", func(t *testing.T) {
		t.Parallel()
		r := create(enterprise, vigil.RegionKeys()...)
		if r.status != http.StatusCreated || len(r.data(t)["regions"].([]any)) != 33 {
			t.Errorf("%d %s", r.status, r.raw)
		}
	})
}

func TestPlanLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	free := b.signup(t)
	paid := b.tier(t, b.signup(t), account.TierPaid)
	enterprise := b.tier(t, b.signup(t), account.TierEnterprise)

	t.Run("IntervalsBelowThePlanAreRefused", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			a        person
			interval int
			status   int
		}{
			{free, 59, 400},
			{free, 60, 201},
			{paid, 29, 400},
			{paid, 30, 201},
			{enterprise, 0, 400},
			{enterprise, 1, 201},
			{enterprise, 2592000, 201},
			{enterprise, 2592001, 400},
		} {
			config := map[string]any{"url": "https://example.com/", "timeout_seconds": 1}
			r := tt.a.do(t, http.MethodPost, "/v1/checks", newCheck(with("interval_seconds", tt.interval), with("config", config)))
			if r.status != tt.status || tt.status == 400 && r.detail("member") != "interval_seconds" {
				t.Errorf("interval %d: %d %s", tt.interval, r.status, r.raw)
			}
		}
	})

	t.Run("BeyondTheBudgetIsAPlanLimit", func(t *testing.T) {
		t.Parallel()
		// A check every 30 s in 33 regions costs 3960 of the 500,000 an hour.
		body := newCheck(
			with("interval_seconds", 30), with("regions", vigil.RegionKeys()),
			with("config", map[string]any{"url": "https://example.com/", "timeout_seconds": 5}),
		)
		for range 126 {
			paid.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body)
		}
		r := paid.want(t, http.StatusForbidden, http.MethodPost, "/v1/checks", body)
		if r.body["code"] != "plan_limit" || r.detail("limit") != 500000.0 || r.detail("requested") != 3960.0 || r.detail("tier") != "paid" ||
			r.detail("current") == nil {
			t.Errorf("answer %s", r.raw)
		}
		body["enabled"] = false // costs nothing
		id := text(paid.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body).data(t), "id")
		paid.want(t, http.StatusForbidden, http.MethodPut, "/v1/checks/"+id, map[string]any{"enabled": true})
		usage := paid.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)
		hourly, _ := usage["executions_per_hour"].(map[string]any)
		if used, _ := hourly["used"].(float64); used < 126*3960 || used > 500000 || hourly["limit"] != 500000.0 || usage["tier"] != "paid" {
			t.Errorf("usage %v", usage)
		}
	})

	t.Run("UsageOfEnterpriseHasNoLimit", func(t *testing.T) {
		t.Parallel()
		usage := enterprise.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)
		hourly, _ := usage["executions_per_hour"].(map[string]any)
		if hourly["limit"] != nil || usage["tier"] != "enterprise" {
			t.Errorf("usage %v", usage)
		}
	})
}

func TestOlderPlansAreNotJudgedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	made := a.check(t, with("interval_seconds", 30), with("regions", []string{"eu-west-lhr", "eu-west-cdg"}))
	a = b.tier(t, a, account.TierFree)
	path := "/v1/checks/" + text(made, "id")
	made["name"] = "Renamed"
	a.want(t, http.StatusOK, http.MethodPut, path, made)
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
	a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"regions": []string{"eu-west-lhr"}})
	a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"interval_seconds": 31})
}
