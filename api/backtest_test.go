// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/backtests"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/storage"
)

// history stores results of a check in its region, a minute apart from the first slot: up
// (+) or down (x).
func (b *testServer) history(t *testing.T, org uuid.UUID, check, letters string) []vigil.Result {
	t.Helper()
	w := storage.NewResultWriter(b.store, storage.WriterOptions{Delay: time.Millisecond})
	ran := make(chan error, 1)
	go func() { ran <- w.Run(t.Context()) }()
	stored, err := b.store.Check(t.Context(), org, uuid.MustParse(check))
	if err != nil {
		t.Fatal(err)
	}
	region := stored.Regions[0]
	slot := stored.Schedule(region, stored.CreatedAt).Next(stored.CreatedAt)
	var results []vigil.Result
	for _, letter := range letters {
		result := vigil.Result{ID: vigil.ResultID(stored.ID, region, slot), CheckID: stored.ID, Region: region, Slot: slot, Time: slot}
		result.Success, result.ResponseTime, result.StatusCode = letter == '+', 20*time.Millisecond, http.StatusOK
		if !result.Success {
			result.Error, result.StatusCode = "status 503", http.StatusServiceUnavailable
		}
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: result, Worker: "w", Deadline: time.Second}); err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
		slot = slot.Add(stored.Interval)
	}
	w.Close()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Duration(len(letters)+1) * stored.Interval)
	return results
}

func TestBacktest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := text(a.check(t), "id")
	results := b.history(t, a.org, check, "+++x++xxxx+++")
	path := "/v1/checks/" + check + "/alerts/backtest"
	down := map[string]any{"name": "Down", "condition": map[string]any{"health_status": "down"}}
	thrice := map[string]any{"condition_type": "consecutive_failures", "threshold": 3}

	t.Run("NamesTheIncidents", func(t *testing.T) {
		t.Parallel()
		data := a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{"rules": []any{down, thrice}}).data(t)
		rules := data["rules"].([]any)
		first, second := rules[0].(map[string]any), rules[1].(map[string]any)
		if n := len(first["incidents"].([]any)); n != 2 || first["name"] != "Down" || first["id"] != nil {
			t.Fatalf("the first rule: %v", first)
		}
		incident := second["incidents"].([]any)[0].(map[string]any)
		if incident["opened_at"] != results[8].Slot.Format(time.RFC3339Nano) ||
			incident["resolved_at"] != results[10].Slot.Format(time.RFC3339Nano) ||
			incident["trigger_result_id"] != results[8].ID.String() ||
			incident["detection_seconds"] != 120.0 ||
			incident["duration_seconds"] != 120.0 {
			t.Errorf("the incident: %v", incident)
		}
		compare := data["compare"].(map[string]any)
		if compare["both"] != 1.0 || compare["only_first"] != 1.0 || compare["earlier_seconds_p50"] != 120.0 {
			t.Errorf("compared: %v", compare)
		}
		if data["results"] != float64(len(results)) {
			t.Errorf("%v results", data["results"])
		}
	})

	t.Run("ReplaysAStoredRule", func(t *testing.T) {
		t.Parallel()
		rule := text(a.rule(t, check, text(a.channel(t), "id")), "id")
		data := a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{
			"rules": []any{map[string]any{"id": rule, "condition": map[string]any{"status_code": 500}, "notify_on": "both"}},
		}).data(t)
		got := data["rules"].([]any)[0].(map[string]any)
		totals := got["totals"].(map[string]any)
		if got["id"] != rule || totals["incidents"] != 2.0 || totals["messages"] != 4.0 || len(totals["pages_by_channel"].(map[string]any)) != 1 {
			t.Errorf("the stored rule with a change: %v", got)
		}
		if data["compare"] != nil {
			t.Errorf("one rule is compared: %v", data["compare"])
		}
	})

	t.Run("HoldsARuleForItsRecoveryThreshold", func(t *testing.T) {
		t.Parallel()
		held := map[string]any{"condition": map[string]any{"health_status": "down", "recovery_threshold": 3}}
		data := a.want(t, http.StatusOK, http.MethodPost, path, map[string]any{"rules": []any{held}}).data(t)
		incidents := data["rules"].([]any)[0].(map[string]any)["incidents"].([]any)
		if len(incidents) != 1 || incidents[0].(map[string]any)["resolved_at"] != results[12].Slot.Format(time.RFC3339Nano) {
			t.Errorf("incidents %v, want one that joins both failures", incidents)
		}
	})

	t.Run("ShowsTheRecordedIncidentsBesideThem", func(t *testing.T) {
		t.Parallel()
		mine := text(a.check(t), "id")
		rule := uuid.MustParse(text(a.rule(t, mine, text(a.channel(t), "id")), "id"))
		stored := b.history(t, a.org, mine, "+x+xx+")
		id := uuid.New()
		_, err := b.store.OpenIncident(t.Context(), vigil.OpenRequest{
			ID: id, CheckID: uuid.MustParse(mine), Rules: []uuid.UUID{rule}, Votes: []vigil.Vote{{
				Region: stored[3].Region, Slot: stored[3].Slot, Failures: 1, Firing: []uuid.UUID{rule},
				Matches: []vigil.Match{{Rule: rule, Keys: []string{vigil.KeyHealthStatus}}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		body := map[string]any{"rules": []any{down}, "actual": true}
		data := a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/"+mine+"/alerts/backtest", body).data(t)
		actual := data["actual"].(map[string]any)
		recorded := actual["incidents"].([]any)[0].(map[string]any)
		if actual["total"] != 1.0 || actual["both"] != 1.0 || actual["only_actual"] != 0.0 || actual["only_first"] != 1.0 ||
			recorded["id"] != id.String() || recorded["trigger_result_id"] != stored[3].ID.String() ||
			recorded["by_first_rule"] != true || recorded["resolved_at"] != nil {
			t.Errorf("recorded: %v", actual)
		}
		body["actual"] = false
		if data = a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/"+mine+"/alerts/backtest", body).data(t); data["actual"] != nil {
			t.Errorf("recorded incidents that were not asked for: %v", data["actual"])
		}
	})

	t.Run("RefusesWhatItCannotReplay", func(t *testing.T) {
		t.Parallel()
		for member, body := range map[string]map[string]any{
			"condition":   {"rules": []any{map[string]any{"name": "empty"}}},
			"rules":       {"rules": []any{}},
			"from":        {"rules": []any{down}, "from": b.clock.Now().Add(time.Hour)},
			"400 days":    {"rules": []any{down}, "from": b.clock.Now().Add(-500 * 24 * time.Hour)},
			"maintenance": {"rules": []any{down}, "maintenance": true},
		} {
			refused := a.want(t, http.StatusBadRequest, http.MethodPost, path, body)
			if !strings.Contains(string(refused.raw), member) {
				t.Errorf("%s: %s", member, refused.raw)
			}
		}
		other := b.signup(t)
		other.want(t, http.StatusNotFound, http.MethodPost, path, map[string]any{"rules": []any{down}})
		a.want(t, http.StatusNotFound, http.MethodPost, path, map[string]any{"rules": []any{map[string]any{"id": uuid.NewString()}}})
	})
}

// labeled creates a check with a label.
func (a *person) labeled(t *testing.T, name, label string) string {
	t.Helper()
	key, value, _ := strings.Cut(label, "=")
	return text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", map[string]any{
		"name": name, "type": "http", "config": map[string]any{"url": "http://example.com/"}, "interval_seconds": 60, "enabled": false,
		"labels": map[string]any{key: value},
	}).data(t), "id")
}

func TestBacktestOfTheChecksWithALabel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	channel := text(a.channel(t), "id")
	first, second, other := a.labeled(t, "A shop", "team=shop"), a.labeled(t, "B shop", "team=shop"), a.labeled(t, "Other", "team=mail")
	b.history(t, a.org, first, "+x+xxx+")
	b.history(t, a.org, second, "++xx+++")
	b.history(t, a.org, other, "xxxxxxx")
	rule := text(a.rule(t, other, channel), "id")
	rules := []any{
		map[string]any{"id": rule, "condition": map[string]any{"health_status": "down"}, "notify_on": "both"},
		map[string]any{"name": "Later", "condition": map[string]any{"failure_threshold": 2}},
	}

	t.Run("AddsUpTheirTotals", func(t *testing.T) {
		t.Parallel()
		data := a.want(t, http.StatusOK, http.MethodPost, "/v1/backtest", map[string]any{"label": "team=shop", "rules": rules}).data(t)
		checks := data["checks"].([]any)
		if len(checks) != 2 || data["results"] != 14.0 {
			t.Fatalf("the answer is %v", data)
		}
		for i, want := range []float64{2, 1} {
			check := checks[i].(map[string]any)
			if totals := check["totals"].([]any)[0].(map[string]any); totals["incidents"] != want || check["id"] != []string{first, second}[i] {
				t.Errorf("check %d: %v, want %v incidents", i, check, want)
			}
		}
		sum := data["rules"].([]any)
		down, later := sum[0].(map[string]any), sum[1].(map[string]any)
		totals := down["totals"].(map[string]any)
		if down["id"] != rule || totals["incidents"] != 3.0 || totals["messages"] != 6.0 ||
			totals["pages_by_channel"].(map[string]any)[channel] != 6.0 || totals["minutes_open"] != 6.0 ||
			totals["longest_seconds"] != 180.0 || totals["shortest_seconds"] != 60.0 {
			t.Errorf("the sum of the first rule: %v", down)
		}
		if later["name"] != "Later" || later["totals"].(map[string]any)["incidents"] != 2.0 {
			t.Errorf("the sum of the second rule: %v", later)
		}
		if c := data["compare"].(map[string]any); c["both"] != 2.0 || c["only_first"] != 1.0 || c["earlier_seconds_p50"] != 60.0 {
			t.Errorf("compared: %v", c)
		}
	})

	t.Run("RefusesALabelWithoutChecks", func(t *testing.T) {
		t.Parallel()
		for _, label := range []string{"team=none", "", "team=Shop=x y", "Team!"} {
			refused := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/backtest", map[string]any{"label": label, "rules": rules})
			if !strings.Contains(string(refused.raw), "label") {
				t.Errorf("label %q: %s", label, refused.raw)
			}
		}
	})

	t.Run("SeesNothingOfAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		stranger := b.signup(t)
		plain := []any{map[string]any{"condition": map[string]any{"health_status": "down"}}}
		stranger.want(t, http.StatusBadRequest, http.MethodPost, "/v1/backtest", map[string]any{"label": "team=shop", "rules": plain})
		stranger.labeled(t, "Mine", "team=shop")
		stranger.want(t, http.StatusNotFound, http.MethodPost, "/v1/backtest", map[string]any{"label": "team=shop", "rules": rules})
		data := stranger.want(t, http.StatusOK, http.MethodPost, "/v1/backtest", map[string]any{"label": "team=shop", "rules": plain}).data(t)
		if len(data["checks"].([]any)) != 1 || data["results"] != 0.0 {
			t.Errorf("the stranger's answer is %v", data)
		}
	})

	t.Run("RefusesMoreThanFiftyChecks", func(t *testing.T) {
		t.Parallel()
		crowd := b.signup(t)
		for n := range 51 {
			crowd.labeled(t, fmt.Sprintf("Check %d", n), "many=yes")
		}
		refused := crowd.want(t, http.StatusBadRequest, http.MethodPost, "/v1/backtest", map[string]any{"label": "many", "rules": rules[1:]})
		if !strings.Contains(string(refused.raw), "51 checks have this label; at most 50") {
			t.Errorf("51 checks: %s", refused.raw)
		}
	})
}

// slowReplay has each replay wait until it is let go.
type slowReplay struct {
	backtests.Store
	started chan struct{}
	goOn    chan struct{}
}

func (s *slowReplay) ReplayResults(
	ctx context.Context, check uuid.UUID, regions []string, from, to time.Time, warm int,
) iter.Seq2[backtest.Row, error] {
	s.started <- struct{}{}
	<-s.goOn
	return s.Store.ReplayResults(ctx, check, regions, from, to, warm)
}

func TestAnOrganizationRunsTwoBacktestsAtOnce(t *testing.T) {
	t.Parallel()
	slow := &slowReplay{started: make(chan struct{}), goOn: make(chan struct{})}
	b := setup(t, func(d *api.Deps) { slow.Store = d.Stores.Backtests; d.Stores.Backtests = slow })
	a := b.signup(t)
	path := "/v1/checks/" + text(a.check(t), "id") + "/alerts/backtest"
	b.clock.Advance(time.Hour)
	body := map[string]any{"rules": []any{map[string]any{"condition": map[string]any{"health_status": "down"}}}}
	done := make(chan int, 2)
	for range 2 {
		go func() { done <- a.do(t, http.MethodPost, path, body).status }()
		<-slow.started
	}
	refused := a.want(t, http.StatusTooManyRequests, http.MethodPost, path, body)
	if refused.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", refused.header.Get("Retry-After"))
	}
	close(slow.goOn)
	for range 2 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
}
