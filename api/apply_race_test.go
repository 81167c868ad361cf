// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// rows returns everything that is stored of an organization's definitions outside of the
// project shop, as text.
func (b *testServer) rows(t *testing.T, a person) string {
	t.Helper()
	var all []string
	for _, table := range []string{"checks", "alert_rules", "channels", "status_pages"} {
		var rows []json.RawMessage
		err := b.store.DB().NewRaw("SELECT to_jsonb(x) FROM "+table+
			" AS x WHERE org_id = ? AND managed_project IS DISTINCT FROM 'shop' ORDER BY id", a.org).Scan(t.Context(), &rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			all = append(all, table+" "+string(row))
		}
	}
	var loops []json.RawMessage
	err := b.store.DB().NewRaw(`SELECT to_jsonb(r) FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id
		WHERE c.org_id = ? AND c.managed_project IS DISTINCT FROM 'shop' ORDER BY r.check_id, r.region`, a.org).Scan(t.Context(), &loops)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range loops {
		all = append(all, "check_regions "+string(row))
	}
	return strings.Join(all, "\n")
}

func TestApplyLeavesOtherProjectsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	foreign := shop(at("status_pages.public.slug", "foreign"), at("project", "other"))
	a.want(t, http.StatusOK, http.MethodPost, "/v1/apply", map[string]any{"project": "other", "document": foreign})
	a.check(t, with("name", "Home page"))
	a.check(t, with("managed_by", managedBy("shop2", "home")))
	before := b.rows(t, a)
	if strings.Count(before, "\n") < 8 {
		t.Fatalf("there is little to compare:\n%s", before)
	}
	for _, document := range []doc{shop(), shop(at("checks.home.name", "Front"), at("checks.api", nil)), {"version": 1}} {
		a.apply(t, http.StatusOK, document, with("missing", "delete"))
		if after := b.rows(t, a); after != before {
			t.Errorf("other projects were\n%s\nand are\n%s", before, after)
		}
	}
}

func TestAppliesOfOneProjectTakeTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	const applies, size = 4, 30
	document := func(version int) doc {
		checks := doc{}
		for i := range size {
			checks[fmt.Sprintf("c%d", i)] = doc{
				"type": "ping", "config": doc{"host": "example.com"}, "interval": "1h", "labels": doc{"v": fmt.Sprint(version)},
			}
		}
		return doc{"version": 1, "checks": checks}
	}
	var group sync.WaitGroup
	for version := range applies {
		group.Go(func() { a.apply(t, http.StatusOK, document(version)) })
	}
	group.Wait()
	counts := make(map[string]int)
	for _, check := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?limit=100", nil).rows(t) {
		counts[encoded(t, check["labels"])]++
	}
	if len(counts) != 1 {
		t.Errorf("the checks are of several documents: %v", counts)
	}
	for _, n := range counts {
		if n != size {
			t.Errorf("there are %d checks, want %d", n, size)
		}
	}
}

func TestApplyKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	body := map[string]any{"project": "shop", "document": shop(at("status_pages", nil))}
	first := a.want(t, http.StatusOK, http.MethodPost, "/v1/apply", body, "Idempotency-Key", "one")
	again := a.want(t, http.StatusOK, http.MethodPost, "/v1/apply", body, "Idempotency-Key", "one")
	if string(first.raw) != string(again.raw) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("answered %s\nand again %s", first.raw, again.raw)
	}
}

func TestBodiesOfApplyMayBeLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	padded := func(size int) map[string]any {
		return map[string]any{"project": "shop", "dry_run": true, "document": doc{"version": 1}, "sources": doc{"x": strings.Repeat("x", size)}}
	}
	a.want(t, http.StatusOK, http.MethodPost, "/v1/apply", padded(7<<20))
	refused := a.want(t, http.StatusRequestEntityTooLarge, http.MethodPost, "/v1/apply", padded(8<<20))
	if !strings.Contains(refused.problem(), "larger than 8 MiB") {
		t.Errorf("refused with %s", refused.raw)
	}
	other := a.want(t, http.StatusRequestEntityTooLarge, http.MethodPost, "/v1/checks", padded(2<<20))
	if !strings.Contains(other.problem(), "larger than 1 MiB") {
		t.Errorf("refused with %s", other.raw)
	}
}

func TestApplyScopes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	a.apply(t, http.StatusOK, shop())
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "ci", "scopes": []any{"read"}}).data(t)
	reader := a
	reader.client = a.as(text(made, "api_key"))
	refused := reader.apply(t, http.StatusForbidden, shop())
	if refused.detail("required") != "write" {
		t.Errorf("refused with %s", refused.raw)
	}
	right := reader.apply(t, http.StatusOK, shop(), with("dry_run", true))
	wrong := reader.apply(t, http.StatusOK, shop(at("channels.oncall.config.secret", "guessed")), with("dry_run", true))
	if string(right.raw) != string(wrong.raw) || !strings.Contains(string(right.raw), `"path":"config.secret","secret":true,"unknown":true`) {
		t.Errorf("a reader learns whether a secret is right:\n%s\n%s", right.raw, wrong.raw)
	}
	plan := a.apply(t, http.StatusOK, shop(), with("dry_run", true))
	if plan.data(t)["plan"] != right.data(t)["plan"] || strings.Contains(string(plan.raw), "unknown") {
		t.Errorf("the plan of a writer is %s", plan.raw)
	}
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			want := any(nil)
			if path == "/v1/apply" {
				want = "write"
			}
			if got := op.Extensions["x-required-scope-unless-dry-run"]; got != want {
				t.Errorf("%s %s needs %v unless it is a dry run, want %v", method, path, got, want)
			}
		}
	}
	changed := a.apply(t, http.StatusOK, shop(at("channels.oncall.config.secret", "changed")))
	if !strings.Contains(string(changed.raw), `"action":"change","members":[{"path":"config.secret","secret":true}]`) {
		t.Errorf("changed with %s", changed.raw)
	}
}
