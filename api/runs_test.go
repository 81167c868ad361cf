// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

func parseUUID(t *testing.T, s string) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// record stores results as a worker does.
func (b *testServer) record(t *testing.T, results ...vigil.Result) {
	t.Helper()
	b.recordTurn(t, 0, results...)
}

// recordTurn stores the results of a turn that may cover so many slots.
func (b *testServer) recordTurn(t *testing.T, slots int, results ...vigil.Result) {
	t.Helper()
	writer := storage.NewResultWriter(b.store, storage.WriterOptions{Delay: time.Millisecond, Now: b.clock.Now})
	ctx, done := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- writer.Run(ctx) }()
	for _, r := range results {
		if _, err := writer.Write(
			t.Context(),
			vigil.ResultRow{Result: r, Worker: "w1", Deadline: 10 * time.Second, TurnSlots: slots},
		); err != nil {
			t.Fatal(err)
		}
	}
	done()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// result is a result of a check, some time after its creation.
func result(check uuid.UUID, slot time.Time, success bool) vigil.Result {
	r := vigil.Result{
		ID: vigil.ResultID(check, "na-east-ewr", slot), CheckID: check, Region: "na-east-ewr", Slot: slot, Time: slot,
		Observation: vigil.Observation{Success: success, ResponseTime: 42 * time.Millisecond, StatusCode: 200},
	}
	if !success {
		r.StatusCode, r.Error = 503, "expected status 200, got 503"
	}
	return r
}

func TestResults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	id := parseUUID(t, text(a.check(t), "id"))
	start := b.clock.Now()
	var rows []vigil.Result
	for i := range 4 {
		rows = append(rows, result(id, start.Add(time.Duration(i)*time.Second), i != 2))
	}
	b.record(t, rows...)
	b.clock.Advance(10 * time.Second)
	path := "/v1/checks/" + id.String() + "/results"
	at := func(i int) string { return rows[i].Time.Format(time.RFC3339) }

	listed := a.want(t, http.StatusOK, http.MethodGet, path, nil)
	if got := listed.rows(t); len(got) != 4 || text(got[0], "time") != at(3) {
		t.Fatalf("rows %s", listed.raw)
	}
	failed := listed.rows(t)[1]
	if failed["success"] != false || failed["status_code"] != 503.0 || text(failed, "error_message") == "" ||
		failed["response_time_ms"] != 42.0 {
		t.Errorf("failed %v", failed)
	}
	if ok := listed.rows(t)[0]; ok["error_message"] != nil || ok["region"] != "na-east-ewr" {
		t.Errorf("ok %v", ok)
	}
	for query, want := range map[string]int{
		"?limit=2": 2, "?limit=2&offset=3": 1, "?success=false": 1, "?success=true": 3, "?region=us-east-1": 4, "?region=eu-central-fra": 0,
		"?from=" + at(1): 3, "?to=" + at(1): 1, "?from=" + at(1) + "&to=" + at(2): 1,
	} {
		if got := a.want(t, http.StatusOK, http.MethodGet, path+query, nil).rows(t); len(got) != want {
			t.Errorf("%s: %d rows, want %d", query, len(got), want)
		}
	}
	for _, query := range []string{
		"?from=yesterday",
		"?to=1",
		"?success=maybe",
		"?region=moon",
		"?limit=0",
		"?from=" + at(2) + "&to=" + at(1),
		"?from=",
	} {
		a.want(t, http.StatusBadRequest, http.MethodGet, path+query, nil)
	}
}

func TestUptime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	id := parseUUID(t, text(a.check(t), "id"))
	path := "/v1/checks/" + id.String() + "/uptime"

	empty := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if empty["period"] != "24h" || empty["uptime_percentage"] != 0.0 || empty["coverage_percentage"] != 0.0 || empty["total_checks"] != 0.0 {
		t.Errorf("empty %v", empty)
	}
	b.record(t, result(id, b.clock.Now(), true), result(id, b.clock.Now().Add(time.Second), false))
	b.clock.Advance(2 * time.Second)
	for _, period := range []string{"1h", "24h", "7d", "30d", "90d"} {
		stats := a.want(t, http.StatusOK, http.MethodGet, path+"?period="+period, nil).data(t)
		if stats["period"] != period || stats["total_checks"] != 2.0 || stats["uptime_percentage"] != 50.0 || stats["failed_checks"] != 1.0 {
			t.Errorf("%s: %v", period, stats)
		}
		regions, _ := stats["by_region"].(map[string]any)
		if _, ok := regions["na-east-ewr"]; !ok {
			t.Errorf("%s: by_region %v", period, regions)
		}
	}
	if _, err := b.store.DB().NewRaw("UPDATE results SET excluded = 1 WHERE NOT success").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]float64{"": 1, "?excluded=omit": 1, "?excluded=count": 2} {
		stats := a.want(t, http.StatusOK, http.MethodGet, path+query, nil).data(t)
		if stats["excluded_checks"] != 1.0 || stats["total_checks"] != want || stats["uptime_percentage"] != 100/want {
			t.Errorf("%q: %v", query, stats)
		}
	}
	if r := a.want(t, http.StatusBadRequest, http.MethodGet, path+"?excluded=all", nil); r.detail("member") != "excluded" {
		t.Errorf("an unknown value of excluded: %s", r.raw)
	}
	for _, period := range []string{"1d", "25h", "", "24H"} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, path+"?period="+period, nil); r.detail("member") != "period" {
			t.Errorf("%q: %s", period, r.raw)
		}
	}
}

func TestTestCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.check(t)
	path := "/v1/checks/" + text(made, "id") + "/test"

	if r := a.want(t, http.StatusServiceUnavailable, http.MethodPost, path, nil); r.header.Get("Retry-After") == "" {
		t.Errorf("without a worker: %s", r.raw)
	}
	b.loops.test = func(check vigil.Check, region string, _ bool) (vigil.Result, error) {
		r := result(check.ID, b.clock.Now(), true)
		r.Region = region
		return r, nil
	}
	last := func() trial { return b.loops.tests[len(b.loops.tests)-1] }
	got := a.want(t, http.StatusOK, http.MethodPost, path, nil).data(t)
	if got["success"] != true || got["metadata"] != nil || last() != (trial{region: "na-east-ewr"}) {
		t.Errorf("result %v of %v", got, last())
	}
	got = a.want(t, http.StatusOK, http.MethodPost, path+"?dry_run=true&region=eu-central-1", nil).data(t)
	if metadata, _ := got["metadata"].(map[string]any); metadata["test"] != true || last() != (trial{region: "eu-central-fra", dryRun: true}) {
		t.Errorf("dry run %v of %v", got, last())
	}
	a.want(t, http.StatusOK, http.MethodPost, path+"?region=us-east-1", nil)
	for query, sentence := range map[string]string{
		"?region=moon":                     "/v1/regions",
		"?region=eu-central-fra":           "dry_run",
		"?region=eu-west-lhr&dry_run=true": "allowed regions",
		"?dry_run=perhaps":                 "dry_run",
	} {
		if r := a.want(t, http.StatusBadRequest, http.MethodPost, path+query, nil); !strings.Contains(r.problem(), sentence) {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
	a.want(t, http.StatusOK, http.MethodPut, strings.TrimSuffix(path, "/test"), map[string]any{"enabled": false})
	a.want(t, http.StatusOK, http.MethodPost, path, nil)
	if !last().dryRun {
		t.Error("a test of a disabled check counts")
	}
}

func TestCheckRegions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	id := parseUUID(t, text(a.check(t, with("regions", []string{"na-east-ewr", "eu-central-fra"})), "id"))
	path := "/v1/checks/" + id.String() + "/regions"
	b.loops.state = func(_ uuid.UUID, region string) (vigil.LoopState, error) {
		if region != "na-east-ewr" {
			return vigil.LoopState{}, vigil.NotFound("loop")
		}
		return vigil.LoopState{
			State: vigil.State{Slot: b.clock.Now(), Health: vigil.Unhealthy, Failures: 3},
			Next:  b.clock.Now().Add(time.Minute), RunID: "run 1", TurnSlots: 7, TurnReason: vigil.TurnBudget,
		}, nil
	}
	rows := a.want(t, http.StatusOK, http.MethodGet, path, nil).rows(t)
	if len(rows) != 2 {
		t.Fatalf("rows %v", rows)
	}
	byRegion := map[string]map[string]any{}
	for _, row := range rows {
		byRegion[text(row, "region")] = row
	}
	live, stored := byRegion["na-east-ewr"], byRegion["eu-central-fra"]
	if live["source"] != "workflow" || live["streak"] != 3.0 || live["health_status"] != "unhealthy" || live["next_slot"] == nil {
		t.Errorf("live %v", live)
	}
	wantURL := "http://ui.test/namespaces/vigil/workflows/check%2F" + id.String() + "%2Fna-east-ewr/run%201/history"
	if live["run_url"] != wantURL || live["workflow_id"] != "check/"+id.String()+"/na-east-ewr" {
		t.Errorf("live %v", live)
	}
	if live["turn_slots"] != 7.0 || live["turn_reason"] != "budget" {
		t.Errorf("live %v", live)
	}
	if slots, shown := stored["turn_slots"]; !shown || slots != nil || stored["turn_reason"] != nil {
		t.Errorf("stored %v: want no slots before the first result", stored)
	}
	if stored["source"] != "stored" || stored["streak"] != nil || stored["health_status"] != "unknown" || stored["state"] != "starting" {
		t.Errorf("stored %v", stored)
	}
}

// TestCheckRegionsInAFirstTurn tests a first turn that goes on, wider than its workflow knows.
func TestCheckRegionsInAFirstTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	id := parseUUID(t, text(a.check(t, with("regions", []string{"na-east-ewr"})), "id"))
	b.loops.state = func(uuid.UUID, string) (vigil.LoopState, error) {
		return vigil.LoopState{RunID: "run 1", TurnSlots: 1, TurnReason: vigil.TurnGrowing, Turns: 1}, nil
	}
	region := func() map[string]any {
		return a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+id.String()+"/regions", nil).rows(t)[0]
	}
	if row := region(); row["turn_slots"] != 1.0 || row["turn_reason"] != "growing" {
		t.Errorf("before its first result: %v", row)
	}
	b.recordTurn(t, 30, result(id, b.clock.Now(), true))
	if row := region(); row["turn_slots"] != 30.0 || row["turn_reason"] != "budget" || row["source"] != "workflow" ||
		row["health_status"] != "healthy" {
		t.Errorf("after it: %v", row)
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.works(t, "w1", "eu-central-fra")
	rows := b.want(t, http.StatusOK, http.MethodGet, "/v1/regions", nil).rows(t)
	if len(rows) != 33 {
		t.Fatalf("%d regions", len(rows))
	}
	primary := 0
	for _, row := range rows {
		if row["primary"] == true {
			primary++
			if len(row["tiers"].([]any)) != 3 {
				t.Errorf("tiers of %v", row)
			}
		}
		want := "offline"
		if row["key"] == "eu-central-fra" {
			want = "online"
		}
		if row["status"] != want {
			t.Errorf("%s is %s", row["key"], row["status"])
		}
	}
	if primary != 6 {
		t.Errorf("%d primary regions", primary)
	}
	if got := b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=5&offset=30", nil).rows(t); len(got) != 3 {
		t.Errorf("%d regions on the last page", len(got))
	}
}

// TestUnavailableTypes: what a region cannot run is shown, and a check of such a
// type is accepted all the same, since regions change.
func TestUnavailableTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for worker, unavailable := range map[string][]vigil.CheckType{"w1": nil, "w2": {vigil.TypePing}} {
		b.works(t, worker, "eu-central-fra", unavailable...)
	}
	for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/regions", nil).rows(t) {
		want := []any{}
		if row["key"] == "eu-central-fra" {
			want = []any{"ping"}
		}
		if !reflect.DeepEqual(row["unavailable_types"], want) {
			t.Errorf("%s: unavailable %v, want %v", row["key"], row["unavailable_types"], want)
		}
	}
	check := b.signup(t).
		check(t, with("type", "ping"), with("config", map[string]any{"host": "example.com"}), with("regions", []string{"eu-central-fra"}))
	if check["health_status"] != "unknown" {
		t.Errorf("a ping check that cannot run yet is %v", check["health_status"])
	}
}
