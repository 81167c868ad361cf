// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// warningsIn returns the warnings of an answer, a line each.
func warningsIn(answer map[string]any) string {
	list, _ := answer["warnings"].([]any)
	lines := make([]string, len(list))
	for i, one := range list {
		lines[i], _ = one.(string)
	}
	return strings.Join(lines, "\n")
}

// TestARegionWithoutAWorkerIsSaid: a check there is accepted, and not probed until a worker runs.
func TestARegionWithoutAWorkerIsSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	made := a.check(t, with("regions", []string{"na-east-ewr"}))
	if said := warningsIn(made); !strings.Contains(said, "na-east-ewr has no worker") {
		t.Errorf("created in a region without a worker: warnings %q", said)
	}
	path := "/v1/checks/" + text(made, "id")
	if read := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); read["warnings"] != nil {
		t.Errorf("a check that is read has warnings: %v", read["warnings"])
	}
	off := a.check(t, with("enabled", false), with("regions", []string{"na-east-ewr"}))
	if warningsIn(off) != "" {
		t.Errorf("a disabled check has warnings: %q", warningsIn(off))
	}
	several := a.want(
		t,
		http.StatusOK,
		http.MethodPut,
		path,
		map[string]any{"regions": []string{"na-east-ewr", "af-south-jnb", "eu-central-fra"}},
	)
	if said := warningsIn(several.data(t)); !strings.Contains(said, "regions: af-south-jnb and eu-central-fra have no worker") {
		t.Errorf("two more regions: warnings %q", said)
	}
	b.works(t, "w1", "na-east-ewr", "http3")
	// What was answered may be sent back.
	if after := a.want(t, http.StatusOK, http.MethodPut, path, made).data(t); warningsIn(after) != "" {
		t.Errorf("with a worker: warnings %q", warningsIn(after))
	}
	other := a.want(
		t,
		http.StatusOK,
		http.MethodPut,
		path,
		map[string]any{"type": "http3", "config": map[string]any{"url": "https://example.com/"}},
	)
	if said := warningsIn(other.data(t)); !strings.Contains(said, "a worker of na-east-ewr cannot run checks of the type http3") {
		t.Errorf("of another type: warnings %q", said)
	}
}

// TestChecksChangedTogetherSayWhichRegionsHaveNoWorker: each check has its own warnings, also
// before anything is changed.
func TestChecksChangedTogetherSayWhichRegionsHaveNoWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	b.works(t, "w1", "eu-central-fra")
	far := a.check(t, with("enabled", false), with("regions", []string{"na-east-ewr"}))
	near := a.check(t, with("enabled", false), with("regions", []string{"eu-central-fra"}))
	ids := []any{far["id"], near["id"]}
	change := func(body map[string]any) map[any]string {
		body["ids"] = ids
		data := a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/bulk", body).data(t)
		checks, _ := data["checks"].([]any)
		said := make(map[any]string)
		for _, one := range checks {
			check, _ := one.(map[string]any)
			said[check["id"]] = warningsIn(check)
		}
		return said
	}
	for _, dry := range []bool{true, false} {
		said := change(map[string]any{"action": "enable", "dry_run": dry})
		if len(said) != 2 || !strings.Contains(said[far["id"]], "na-east-ewr has no worker") || said[near["id"]] != "" {
			t.Errorf("enabled, dry run %t: warnings %q", dry, said)
		}
	}
	if said := change(map[string]any{"action": "enable"}); said[far["id"]] != "" {
		t.Errorf("they were enabled already: warnings %q", said)
	}
	moved := change(map[string]any{"action": "set", "members": map[string]any{"regions": []string{"eu-central-fra", "af-south-jnb"}}})
	for id, said := range moved {
		if !strings.Contains(said, "regions: af-south-jnb has no worker") {
			t.Errorf("the check %v in a region more: warnings %q", id, said)
		}
	}
	if said := change(map[string]any{"action": "delete"}); said[far["id"]] != "" || said[near["id"]] != "" {
		t.Errorf("deleted: warnings %q", said)
	}
}

// TestApplySaysWhichRegionsHaveNoWorker: the plan of files warns as a write of the check alone.
func TestApplySaysWhichRegionsHaveNoWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	b.works(t, "w1", "eu-central-fra")
	said := func(answer answer) string {
		list, _ := answer.data(t)["actions"].([]any)
		for _, one := range list {
			if action, _ := one.(map[string]any); action["kind"] == "check" && action["key"] == "home" {
				return warningsIn(action)
			}
		}
		return ""
	}
	in := func(regions ...any) doc { return shop(at("checks.home.regions", regions)) }
	for _, dry := range []bool{true, false} {
		made := a.apply(t, http.StatusOK, in("na-east-ewr"), with("dry_run", dry))
		if got := said(made); !strings.Contains(got, "regions: na-east-ewr has no worker") {
			t.Errorf("created, dry run %t: warnings %q", dry, got)
		}
	}
	if got := said(a.apply(t, http.StatusOK, in("na-east-ewr"))); got != "" {
		t.Errorf("nothing changed: warnings %q", got)
	}
	if got := said(
		a.apply(t, http.StatusOK, in("na-east-ewr", "af-south-jnb")),
	); !strings.Contains(
		got,
		"regions: af-south-jnb has no worker",
	) {
		t.Errorf("in a region more: warnings %q", got)
	}
	if got := said(a.apply(t, http.StatusOK, in("eu-central-fra"))); got != "" {
		t.Errorf("in a region with a worker: warnings %q", got)
	}
}
