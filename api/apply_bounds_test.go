// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestMistakesOfAnApplyAreBounded pins how many mistakes an answer lists, and what defaults may
// make of a document.
func TestMistakesOfAnApplyAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	checks, unknown := doc{}, doc{"version": 1}
	for i := range 3000 {
		checks[fmt.Sprintf("c%d", i)] = doc{"type": 1, "wrong": 2}
		unknown[fmt.Sprintf("section%d", i)] = 1
	}
	for name, document := range map[string]doc{"Definitions": {"version": 1, "checks": checks}, "Sections": unknown} {
		r := a.apply(t, http.StatusBadRequest, document)
		listed, _ := r.detail("errors").([]any)
		more, _ := r.detail("more_errors").(float64)
		if len(listed) != 100 || more < 2900 || len(r.raw) > 64<<10 || !strings.Contains(string(r.raw), "more)") {
			t.Errorf("%s: %d are listed, %v more, in %d bytes", name, len(listed), more, len(r.raw))
		}
	}
	few := a.apply(t, http.StatusBadRequest, doc{"version": 1, "one": 1, "two": 2})
	if listed, _ := few.detail("errors").([]any); len(listed) != 2 || few.detail("more_errors") != nil {
		t.Errorf("two mistakes: %s", few.raw)
	}
	for key := range checks {
		checks[key] = doc{"type": "https"}
	}
	large := a.apply(t, http.StatusBadRequest, doc{
		"version": 1, "checks": checks, "defaults": doc{"check": doc{"config": doc{"body": strings.Repeat("x", 100_000)}}},
	}, func(body map[string]any) { body["dry_run"] = true })
	if large.detail("member") != "document.defaults" || !strings.Contains(string(large.raw), "larger than 64 MiB") {
		t.Errorf("defaults that multiply the document: %.300s", large.raw)
	}
}

// TestDryRunsAreNotKept pins that the answer of a dry run is not kept under an Idempotency-Key.
func TestDryRunsAreNotKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	check := text(a.check(t), "id")
	for path, body := range map[string]any{
		"/v1/apply":       doc{"project": "shop", "document": shop(), "dry_run": true},
		"/v1/checks/bulk": doc{"ids": []string{check}, "action": "disable", "dry_run": true},
		"/v1/checks/" + check + "/test?dry_run=true": nil,
	} {
		for range 2 {
			r := a.do(t, http.MethodPost, path, body, keyHeader, "a-dry-run")
			if r.header.Get("Idempotent-Replayed") != "" || r.status == http.StatusConflict || r.status == http.StatusNotFound {
				t.Errorf("%s: status %d, replayed %q: %.200s", path, r.status, r.header.Get("Idempotent-Replayed"), r.raw)
			}
		}
	}
	var kept int
	query := "SELECT count(*) FROM idempotency_keys"
	if err := b.store.DB().NewRaw(query).Scan(t.Context(), &kept); err != nil || kept != 0 {
		t.Errorf("%d answers are kept, %v", kept, err)
	}
}
