// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"bytes"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// series are the values of an exposition, by the name and the labels of their series, as the
// parser of Prometheus reads it.
func series(tb testing.TB, text []byte) map[string]float64 {
	tb.Helper()
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("Prometheus cannot read the answer: %v\n%.2000s", err, text)
	}
	values := make(map[string]float64)
	for name, family := range families {
		if family.GetType() != dto.MetricType_GAUGE || family.GetHelp() == "" {
			tb.Errorf("%s is a %v with the help %q", name, family.GetType(), family.GetHelp())
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				if label.GetName() != "check" {
					labels = append(labels, label.GetName()+"="+label.GetValue())
				}
			}
			slices.Sort(labels)
			values[name+"{"+strings.Join(labels, ",")+"}"] = metric.GetGauge().GetValue()
		}
	}
	return values
}

// results stores results of the check in a region, one a minute, and returns the times.
func (b *testServer) results(t *testing.T, a person, check, region string, metadata map[string]any, successes ...bool) []time.Time {
	t.Helper()
	id := uuid.MustParse(check)
	stored, err := b.store.Check(t.Context(), a.org, id)
	if err != nil {
		t.Fatal(err)
	}
	w := storage.NewResultWriter(b.store, storage.WriterOptions{Delay: time.Millisecond})
	ran := make(chan error, 1)
	go func() { ran <- w.Run(t.Context()) }()
	slot := stored.Schedule(region, stored.CreatedAt).Next(stored.CreatedAt)
	var times []time.Time
	for _, success := range successes {
		result := vigil.Result{ID: vigil.ResultID(id, region, slot), CheckID: id, Region: region, Slot: slot, Time: slot}
		result.Success, result.ResponseTime, result.Metadata = success, 1500*time.Microsecond, metadata
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: result, Worker: "w", Deadline: time.Second}); err != nil {
			t.Fatal(err)
		}
		times, slot = append(times, slot), slot.Add(time.Minute)
	}
	w.Close()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	return times
}

const metricsPath = "/v1/metrics"

func TestMetricsOfAnOrganization(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	odd := `Shop "über" \ 1`
	shop := text(a.check(t, with("name", odd), with("labels", map[string]any{"env": "prod", "team/web": "a\\b"})), "id")
	fresh := a.check(t, with("name", "Fresh"))
	paused := text(a.check(t, with("name", "Paused")), "id")
	times := b.results(t, a, shop, "na-east-ewr", map[string]any{"cert_days_remaining": 12}, false, true)
	b.results(t, a, paused, "na-east-ewr", nil, true)
	a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+paused, map[string]any{"enabled": false})
	body := windowOf(text(fresh, "id"))
	body["starts_at"] = localTime(-time.Hour)
	body["duration_seconds"] = 7200
	a.want(t, http.StatusCreated, http.MethodPost, windows, body)

	answer := a.want(t, http.StatusOK, http.MethodGet, metricsPath+"?labels=env,team/web,none", nil)
	if kind := answer.header.Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("Content-Type %q", kind)
	}
	if first, _, _ := strings.Cut(string(answer.raw), "\n"); !strings.HasPrefix(first, "# At most 20000 checks") {
		t.Errorf("the limit is not in a comment: %q", first)
	}
	got := series(t, answer.raw)
	labels := "label_env=prod,label_team_web=a\\b,name=" + odd + ",type=https"
	region := "label_env=prod,label_team_web=a\\b,name=" + odd + ",region=na-east-ewr,type=https"
	want := map[string]float64{
		"vigil_checks{}": 3, "vigil_checks_omitted{}": 0,
		"vigil_budget_executions_used{}": 120, "vigil_budget_executions_limit{}": got["vigil_budget_executions_limit{}"],
		"vigil_check_up{" + region + "}": 1, "vigil_check_response_seconds{" + region + "}": 0.0015,
		"vigil_check_ssl_days_remaining{" + region + "}":            12,
		"vigil_check_last_result_timestamp_seconds{" + region + "}": float64(times[1].UnixMilli()) / 1000,
	}
	for _, one := range []struct {
		labels               string
		enabled, maintenance float64
	}{{labels, 1, 0}, {"name=Fresh,type=https", 1, 1}, {"name=Paused,type=https", 0, math.NaN()}} {
		want["vigil_check_enabled{"+one.labels+"}"] = one.enabled
		want["vigil_check_incident_open{"+one.labels+"}"] = 0
		if !math.IsNaN(one.maintenance) {
			want["vigil_check_in_maintenance{"+one.labels+"}"] = one.maintenance
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got["vigil_budget_executions_limit{}"] <= 120 {
		t.Errorf("the budget is %v", got["vigil_budget_executions_limit{}"])
	}

	t.Run("AnOpenIncidentAndAFailureShow", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := b.signup(t)
		e := b.episode(t, a)
		b.results(t, a, e.check.String(), "na-east-ewr", nil, false)
		e.open(t)
		got := series(t, a.want(t, http.StatusOK, http.MethodGet, metricsPath, nil).raw)
		up, known := got["vigil_check_up{name=Home page,region=na-east-ewr,type=https}"]
		if !known || up != 0 || got["vigil_check_incident_open{name=Home page,type=https}"] != 1 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("AnotherOrganizationSeesNothingOfIt", func(t *testing.T) {
		t.Parallel()
		other := b.signup(t)
		answer := other.want(t, http.StatusOK, http.MethodGet, metricsPath+"?labels=env", nil)
		if n := series(t, answer.raw)["vigil_checks{}"]; n != 0 || bytes.Contains(answer.raw, []byte("Shop")) {
			t.Errorf("%v checks: %s", n, answer.raw)
		}
	})
	t.Run("AKeyThatMayReadIsEnough", func(t *testing.T) {
		t.Parallel()
		for scope, status := range map[string]int{"read": http.StatusOK, "respond": http.StatusForbidden} {
			key := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys",
				map[string]any{"name": scope, "scopes": []string{scope}}).data(t)
			b.as(text(key, "api_key")).want(t, status, http.MethodGet, metricsPath, nil)
		}
		b.want(t, http.StatusUnauthorized, http.MethodGet, metricsPath, nil)
	})
	t.Run("WrongLabelsAreNamed", func(t *testing.T) {
		t.Parallel()
		for _, labels := range []string{"Env", "env,", "a.b,a/b", "env,env", strings.Repeat("a,", 10) + "a"} {
			answer := a.want(t, http.StatusBadRequest, http.MethodGet, metricsPath+"?labels="+labels, nil)
			if !strings.Contains(answer.problem(), "labels") {
				t.Errorf("%s: %s", labels, answer.problem())
			}
		}
	})
}

// BenchmarkMetrics reads the metrics of 10,000 checks in 3 regions, each with a result.
func BenchmarkMetrics(b *testing.B) {
	bench := newThroughput(b)
	for _, fill := range []string{
		`CREATE TABLE more AS SELECT c.*, n FROM (SELECT * FROM checks LIMIT 1) AS c, generate_series(1, 9950) AS n`,
		`INSERT INTO checks
				(id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, created_at, updated_at)
			SELECT md5(n::text)::uuid, org_id, 'Page ' || n, type, config, target, interval_ms, regions, true, simultaneous, anchor, 1,
				created_at, updated_at FROM more`,
		`DELETE FROM check_regions`,
		`INSERT INTO check_regions
				(check_id, region, org_id, desired, active, start_at, anchor, interval_ms, counted_until, last_slot, last_time, health)
			SELECT id, 'region-' || r, org_id, 1, true, anchor, anchor, interval_ms, anchor, anchor, anchor, 'healthy'
			FROM checks, generate_series(1, 3) AS r`,
		`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, metadata)
			SELECT check_id, region, last_slot, gen_random_uuid(), last_time, false, true, 12.5,
				'{"cert_days_remaining": 30, "timings": {"dns_ms": 1.5, "connect_ms": 3.25, "tls_ms": 12.5, "ttfb_ms": 40}, "ip": "192.0.2.7"}'
			FROM check_regions`,
		`ANALYZE checks, check_regions, results`,
	} {
		conn, err := bench.pool.Acquire(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Exec(b.Context(), fill); err != nil {
			b.Fatal(err)
		}
		conn.Release()
	}
	size, most := 0, uint64(0)
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		lines := 0
		size, lines = bench.scrape(b, metricsPath+"?labels=env", []byte("vigil_check_up{"))
		runtime.ReadMemStats(&after)
		most = max(most, after.TotalAlloc-before.TotalAlloc)
		if lines != 30_000 {
			b.Fatalf("%d series of vigil_check_up", lines)
		}
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	b.ReportMetric(float64(most)/(1<<20), "MiB-allocated")
}

// scrape reads an answer line by line, and returns its size and how many lines have the prefix.
func (t *throughput) scrape(b *testing.B, path string, prefix []byte) (size, lines int) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, t.address+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("X-API-Key", t.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b.Fatalf("status %d", res.StatusCode)
	}
	text := bufio.NewScanner(res.Body)
	for text.Scan() {
		size += len(text.Bytes()) + 1
		if bytes.HasPrefix(text.Bytes(), prefix) {
			lines++
		}
	}
	if err := text.Err(); err != nil {
		b.Fatal(err)
	}
	return size, lines
}
