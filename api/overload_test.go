// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TestOverload tests what is refused while a region is overloaded.
func TestOverload(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	b.loops.test = func(check vigil.Check, region string, _ bool) (vigil.Result, error) {
		r := result(check.ID, b.clock.Now(), true)
		r.Region = region
		return r, nil
	}
	load := func(overloaded bool) {
		t.Helper()
		if _, err := b.store.RenewLease(t.Context(), fleet.Renewal{Worker: "w", Regions: []string{"na-east-ewr"}}); err != nil {
			t.Fatal(err)
		}
		if err := b.store.ReportLoad(t.Context(), "w", fleet.Load{Overloaded: overloaded, Lateness: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(2 * time.Second) // the API looks once a second
	}
	path := "/v1/checks/" + text(a.check(t, with("regions", []string{"na-east-ewr"})), "id")
	elsewhere := "/v1/checks/" + text(a.check(t, with("regions", []string{"eu-central-fra"})), "id")
	disabled := "/v1/checks/" + text(a.check(t, with("enabled", false)), "id")
	load(true)
	for _, r := range []struct {
		name, method, path string
		body               any
	}{
		{"a new check", http.MethodPost, "/v1/checks", newCheck()},
		{"a test", http.MethodPost, path + "/test", nil},
		{"a shorter interval", http.MethodPut, path, map[string]any{"interval_seconds": 30}},
		{"enabling", http.MethodPut, disabled, map[string]any{"enabled": true}},
		{"one more region", http.MethodPut, elsewhere, map[string]any{"regions": []string{"eu-central-fra", "na-east-ewr"}}},
	} {
		refused := a.want(t, http.StatusServiceUnavailable, r.method, r.path, r.body)
		if refused.header.Get("Retry-After") != "15" || !strings.Contains(refused.problem(), "na-east-ewr") {
			t.Errorf("%s: %v %s", r.name, refused.header, refused.raw)
		}
	}
	a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(with("enabled", false)))
	a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(with("regions", []string{"eu-central-fra"})))
	a.want(t, http.StatusOK, http.MethodPost, elsewhere+"/test", nil)
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "renamed", "interval_seconds": 120})
	a.want(t, http.StatusOK, http.MethodGet, path, nil)
	ready := a.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t)
	if probing := text(ready, "probing"); !strings.Contains(probing, "na-east-ewr (2.0 s)") {
		t.Errorf("/ready says of probing: %s", probing)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
	a.want(t, http.StatusNoContent, http.MethodDelete, path, nil)
	load(false)
	a.want(t, http.StatusOK, http.MethodPut, disabled, map[string]any{"enabled": true})
	if probing := text(a.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t), "probing"); probing != "ok" {
		t.Errorf("when calm, /ready says of probing: %s", probing)
	}
}

// TestTestsInFlight tests how many tests of an organization run at the same time, over two
// processes of the API.
func TestTestsInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	second := b.serve(t).as(a.key)
	path := "/v1/checks/" + text(a.check(t), "id") + "/test"
	over := make(chan struct{})
	b.loops.test = func(check vigil.Check, _ string, _ bool) (vigil.Result, error) {
		<-over
		return result(check.ID, b.clock.Now(), true), nil
	}
	statuses := make(chan int, 5)
	for i := range 5 {
		client := []*client{a.client, second}[i%2]
		go func() { statuses <- client.do(t, http.MethodPost, path, nil).status }()
	}
	eventually(t, "5 test probes run", func() bool {
		b.loops.mu.Lock()
		defer b.loops.mu.Unlock()
		return len(b.loops.tests) == 5
	})
	for _, client := range []*client{a.client, second} {
		refused := client.want(t, http.StatusTooManyRequests, http.MethodPost, path, nil)
		if refused.header.Get("Retry-After") != "2" || !strings.Contains(refused.problem(), "5 tests") {
			t.Errorf("%v %s", refused.header, refused.raw)
		}
	}
	close(over)
	ended := []int{<-statuses, <-statuses, <-statuses, <-statuses, <-statuses}
	if slices.ContainsFunc(ended, func(status int) bool { return status != http.StatusOK }) {
		t.Errorf("the five that ran were answered %v", ended)
	}
	a.want(t, http.StatusOK, http.MethodPost, path, nil)
}
