package api_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/api"
	"vigil/storage"
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
	b.clock.advance(time.Duration(len(letters)+1) * stored.Interval)
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

// slowReplay has each replay wait until it is let go.
type slowReplay struct {
	*storage.Store
	started chan struct{}
	goOn    chan struct{}
}

func (s *slowReplay) ReplayResults(
	ctx context.Context, check uuid.UUID, regions []string, from, to time.Time, warm int,
) iter.Seq2[vigil.BacktestRow, error] {
	s.started <- struct{}{}
	<-s.goOn
	return s.Store.ReplayResults(ctx, check, regions, from, to, warm)
}

func TestAnOrganizationRunsTwoBacktestsAtOnce(t *testing.T) {
	t.Parallel()
	slow := &slowReplay{started: make(chan struct{}), goOn: make(chan struct{})}
	b := setup(t, func(d *api.Deps) { slow.Store = d.Store.(*storage.Store); d.Store = slow })
	a := b.signup(t)
	path := "/v1/checks/" + text(a.check(t), "id") + "/alerts/backtest"
	b.clock.advance(time.Hour)
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
