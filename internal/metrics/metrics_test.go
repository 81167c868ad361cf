// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/metrics"
)

func newMetrics(t *testing.T) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New("v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ask sends a request with a Host header, which need not match the address.
func ask(t *testing.T, h http.Handler, method, target, host string) (int, string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	request.Host = host
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, string(body)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	handler := m.Temporal().WithTags(map[string]string{"namespace": "vigil", "task_queue": "region/eu-central-fra"})
	handler.WithTags(map[string]string{"type": "http", "region": "eu-central-fra", "success": "true"}).Counter("vigil_results_total").Inc(2)
	handler.WithTags(map[string]string{"type": "http", "region": "eu-central-fra", "success": "true", "check": "a secret"}).
		Counter("vigil_results_total").
		Inc(3)
	handler.Timer("vigil_probe_lateness_seconds").Record(20 * time.Millisecond)
	handler.Timer("temporal_request_latency").Record(2 * time.Second)
	m.Answered()(t.Context(), "GET", "/v1/checks/{id}", http.StatusTooManyRequests, 3*time.Millisecond)
	m.Committed()(t.Context(), 100, 7*time.Millisecond)
	m.Gauge("vigil_probes_in_flight", func() int64 { return 17 })
	m.Seconds("vigil_slot_lateness_seconds", func() time.Duration { return 1500 * time.Millisecond })

	_, text := ask(t, m.Handler(true), http.MethodGet, "/metrics", "localhost")
	for _, line := range []string{
		`vigil_build_info{version="v1.2.3"} 1`,
		"# HELP vigil_results_total Results stored.",
		"# TYPE vigil_results_total counter",
		`vigil_results_total{region="eu-central-fra",success="true",type="http"} 5`,
		`vigil_probe_lateness_seconds_bucket{le="0.01"} 0`,
		`vigil_probe_lateness_seconds_bucket{le="0.1"} 1`,
		`temporal_request_latency_seconds_bucket{namespace="vigil",task_queue="region/eu-central-fra",le="5"} 1`,
		`vigil_api_requests_total{method="GET",route="/v1/checks/{id}",status="429"} 1`,
		`vigil_api_request_duration_seconds_count{method="GET",route="/v1/checks/{id}"} 1`,
		`vigil_result_commit_rows_sum 100`,
		`vigil_result_commit_seconds_bucket{le="0.01"} 1`,
		`vigil_probes_in_flight 17`,
		`vigil_slot_lateness_seconds 1.5`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
	for _, of := range []string{"go_goroutines", "process_open_fds"} {
		if !strings.Contains(text, "\n"+of+" ") {
			t.Errorf("%s is not shown", of)
		}
	}
	for _, none := range []string{"a secret", "otel_scope", "target_info"} {
		if strings.Contains(text, none) {
			t.Errorf("%q is shown", none)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestNothingIsMeasuredByNil(t *testing.T) {
	t.Parallel()
	var none *metrics.Metrics
	none.Gauge("vigil_probes_in_flight", func() int64 { t.Error("somebody looked"); return 0 })
	if none.Temporal() != nil || none.Answered() != nil || none.Committed() != nil {
		t.Error("something would be called for nothing")
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	tests := []struct {
		name, target, host string
		loopback           bool
		want               int
	}{
		{"Metrics", "/metrics", "127.0.0.1:9090", true, http.StatusOK},
		{"Profiles", "/debug/pprof/", "localhost:9090", true, http.StatusOK},
		{"Heap", "/debug/pprof/heap", "[::1]:9090", true, http.StatusOK},
		{"SettingsAreNoProfile", "/debug/pprof/cmdline", "localhost:9090", true, http.StatusNotFound},
		{"NothingElse", "/", "localhost:9090", true, http.StatusNotFound},
		{"NothingOfTheAPI", "/health", "localhost:9090", true, http.StatusNotFound},
		{"NameThatLeadsHere", "/metrics", "attacker.example:9090", true, http.StatusForbidden},
		{"NameWithoutPort", "/debug/pprof/heap", "127.0.0.1.attacker.example", true, http.StatusForbidden},
		{"NamesOnANetwork", "/metrics", "vigil.internal:9090", false, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if status, text := ask(t, m.Handler(tt.loopback), http.MethodGet, tt.target, tt.host); status != tt.want {
				t.Errorf("answered %d, want %d: %s", status, tt.want, text)
			}
		})
	}
}

// Every probe counts, so counting must be cheap.
func BenchmarkCount(b *testing.B) {
	m, err := metrics.New("v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	committed := m.Committed()
	for b.Loop() {
		m.Temporal().WithTags(map[string]string{"type": "http", "success": "true"}).Counter("vigil_results_total").Inc(1)
		committed(b.Context(), 1, time.Millisecond)
	}
}
