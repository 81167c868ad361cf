// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

func TestSummaries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := a.check(t)
	fresh := a.check(t)
	id := uuid.MustParse(text(check, "id"))
	w := storage.NewResultWriter(b.store, storage.WriterOptions{Delay: time.Millisecond})
	ran := make(chan error, 1)
	go func() { ran <- w.Run(t.Context()) }()
	stored, err := b.store.Check(t.Context(), a.org, id)
	if err != nil {
		t.Fatal(err)
	}
	slot := stored.Schedule("na-east-ewr", stored.CreatedAt).Next(stored.CreatedAt)
	for i, ok := range []bool{true, false, true} {
		at := slot.Add(time.Duration(i) * time.Minute)
		result := vigil.Result{ID: vigil.ResultID(id, "na-east-ewr", at), CheckID: id, Region: "na-east-ewr", Slot: at, Time: at}
		result.Success, result.ResponseTime = ok, time.Duration(10*(i+1))*time.Millisecond
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: result, Worker: "w", Deadline: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(3*time.Minute + 30*time.Second)

	if plain := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); plain[0]["summary"] != nil {
		t.Errorf("a summary that nothing asked for: %v", plain[0])
	}
	sums := map[string]map[string]any{}
	for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?summary=true", nil).rows(t) {
		sums[text(row, "id")], _ = row["summary"].(map[string]any)
	}
	got := sums[text(check, "id")]
	if got["p95_ms"] != 30.0 || got["uptime_24h"] == nil || got["uptime_24h"].(float64) < 66 || got["uptime_24h"].(float64) > 67 {
		t.Errorf("got %v", got)
	}
	slots, _ := got["slots"].(map[string]any)
	results, _ := slots["results"].([]any)
	failures, _ := slots["failures"].([]any)
	times, _ := slots["response_time_ms"].([]any)
	total, failed, known := 0.0, 0.0, 0
	for i := range results {
		total, failed = total+results[i].(float64), failed+failures[i].(float64)
		if times[i] != nil {
			known++
		}
	}
	if total != 3 || failed != 1 || known != 2 || slots["interval_seconds"] != 60.0 {
		t.Errorf("slots are %v", slots)
	}
	if got := sums[text(fresh, "id")]; got["p95_ms"] != nil || got["uptime_24h"] != nil {
		t.Errorf("a check without results has %v", got)
	}

	days := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(check, "id")+"/uptime/days?days=3", nil)
	rows := days.rows(t)
	if len(rows) != 3 || days.meta("total") != "3" || rows[0]["date"] != "2026-03-04" || rows[0]["total_checks"] != 3.0 ||
		rows[0]["failed_checks"] != 1.0 || rows[1]["total_checks"] != 0.0 || rows[2]["date"] != "2026-03-02" {
		t.Errorf("got %v", rows)
	}
	today := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+text(check, "id")+"/uptime?period=24h", nil).data(t)
	for _, member := range []string{"uptime_percentage", "expected_checks", "missed_checks", "coverage_percentage"} {
		if today[member] != rows[0][member] {
			t.Errorf("%s is %v of today and %v of 24 hours, all of them today", member, rows[0][member], today[member])
		}
	}
	a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks/"+text(check, "id")+"/uptime/days?days=0", nil)
}

// vanishing deletes a check between the read of a page and that of its summaries.
type vanishing struct {
	checks.Store
	check uuid.UUID
}

func (v *vanishing) Summaries(ctx context.Context, org uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]overview.CheckSummary, error) {
	if _, err := v.DeleteCheck(ctx, org, v.check, nil); err != nil {
		return nil, err
	}
	return v.Store.Summaries(ctx, org, ids)
}

func TestSummaryOfADeletedCheck(t *testing.T) {
	t.Parallel()
	store := &vanishing{}
	b := setup(t, func(d *api.Deps) { store.Store = d.Stores.Checks; d.Stores.Checks = store })
	a := b.signup(t)
	kept := text(a.check(t), "id")
	store.check = uuid.MustParse(text(a.check(t), "id"))
	rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?summary=true", nil).rows(t)
	if len(rows) != 1 || rows[0]["id"] != kept || rows[0]["summary"] == nil {
		t.Errorf("the list has %v, want the check that is left with its summary", rows)
	}
}
