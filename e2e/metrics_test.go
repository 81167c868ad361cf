// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestMetrics lets one check fail and recover, with a receiver and a subscriber,
// and scrapes the metrics of the process.
func TestMetrics(t *testing.T) {
	timingtest.Parallel(t)
	dsn := database(t)
	p := up(t, dataDir(t), "DATABASE_URL="+dsn, "VIGIL_REGIONS=eu-central-fra", "VIGIL_METRICS_LISTEN=127.0.0.1:0", fastSchedule)
	api := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}

	d := newAlertScenario(t, api, dsn, 1, 1, 0, "eu-central-fra")
	_, stopStreams := subscribe(api, 1)
	defer stopStreams()
	eventually(t, "a stream is open", func() bool { return scrape(t, p).value("vigil_alert_streams_open") == 1 })
	d.runEpisodes(1)
	if a := api.do(http.MethodGet, "/v1/checks/"+p.ready.APIKey, nil); a.Status != http.StatusNotFound {
		t.Errorf("a check that does not exist: %d", a.Status)
	}
	eventually(t, "both messages are delivered", func() bool {
		return scrape(t, p).value("vigil_delivery_attempts_total", "channel", "webhook", "outcome", "delivered") == 2
	})

	// The sweep counts them once in a while.
	eventually(t, "overdue loops are counted", func() bool { return scrape(t, p).families["vigil_loops_overdue"] != nil })

	shown := scrape(t, p)
	shown.hasSeries(t)
	if opened := shown.value("vigil_incidents_opened_total"); opened != 1 {
		t.Errorf("%v incidents opened of one", opened)
	}

	t.Run("OwnMetricsFollowTheConventions", func(t *testing.T) {
		problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(shown.own()))).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})

	t.Run("OwnMetricsAreDocumented", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
		if err != nil {
			t.Fatal(err)
		}
		explained := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| `(vigil_[a-z_]+)").FindAllStringSubmatch(string(text), -1) {
			explained[row[1]] = true
		}
		for name := range shown.own() {
			if !explained[name] {
				t.Errorf("docs/operations.md does not explain %s", name)
			}
		}
		for _, used := range regexp.MustCompile(`\b(vigil|temporal|process|go)_[a-z_]+`).FindAllString(string(text), -1) {
			name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(used, "_bucket"), "_count"), "_sum")
			if shown.families[name] == nil && shown.families[used] == nil {
				t.Errorf("docs/operations.md uses %s, which is not shown", used)
			}
		}
	})

	t.Run("DashboardsUseMetricsThatExist", func(t *testing.T) {
		checkBoard(t, "vigil.json", families(shown.text))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.ready.APIURL+"/v1/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+p.ready.APIKey)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", response.StatusCode, err)
		}
		checkBoard(t, "checks.json", families(string(text)))
	})

	t.Run("ShowsNoTenantData", func(t *testing.T) {
		for _, secret := range []string{d.checks[0], "episode 0", d.service.URL, d.receiver.URL, receiverSecret, p.ready.APIKey, dsn} {
			if strings.Contains(shown.text, secret) {
				t.Errorf("%q is shown", secret)
			}
		}
	})

	t.Run("ServesProfiles", func(t *testing.T) {
		if status, _ := fetch(t, strings.TrimSuffix(p.ready.MetricsURL, "/metrics")+"/debug/pprof/heap"); status != http.StatusOK {
			t.Errorf("heap: %d", status)
		}
	})

	stopStreams()
	p.stop()
}

// hasSeries fails the test when a metric counts less than one episode makes.
func (e exposition) hasSeries(t *testing.T) {
	t.Helper()
	for _, least := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{1, "vigil_build_info", nil},
		{1, "vigil_results_total", []string{"type", "http", "region", "eu-central-fra", "success", "true"}},
		{1, "vigil_results_total", []string{"type", "http", "region", "eu-central-fra", "success", "false"}},
		{2, "vigil_probe_lateness_seconds", nil},
		{1, "vigil_result_commit_seconds", nil},
		{1, "vigil_result_commit_rows", nil},
		{1, "vigil_incidents_opened_total", nil},
		{1, "vigil_incidents_resolved_total", []string{"resolution", "automatic"}},
		{1, "vigil_api_requests_total", []string{"method", "POST", "route", "/v1/checks", "status", "201"}},
		{1, "vigil_api_requests_total", []string{"method", "GET", "route", "/v1/checks/{id}", "status", "404"}},
		{1, "vigil_api_request_duration_seconds", []string{"method", "POST", "route", "/v1/checks"}},
		{1, "temporal_request_total", []string{"operation", "RespondWorkflowTaskCompleted"}},
		{1, "temporal_activity_execution_latency_seconds", []string{"activity_type", "Deliver"}},
		{1, "go_goroutines", nil},
		{1, "process_open_fds", nil},
	} {
		if got := e.value(least.name, least.labels...); got < least.value {
			t.Errorf("%s%v is %v, want at least %v", least.name, least.labels, got, least.value)
		}
	}
}

// TestMetricsOfRoles scrapes the metrics of each role, which has its own listener.
func TestMetricsOfRoles(t *testing.T) {
	timingtest.Parallel(t)
	s := newCluster(t, "VIGIL_METRICS_LISTEN=127.0.0.1:0", "VIGIL_LOG_LEVEL=info")
	for _, role := range []struct {
		name    string
		process *process
		shows   string
	}{
		{"Worker", s.workers[0], "vigil_probes_in_flight"},
		{"Control", s.control, "temporal_worker_start_total"},
		{"API", s.api, "vigil_alert_streams_open"},
		{"Temporal", s.temporal, "process_cpu_seconds_total"},
	} {
		t.Run(role.name, func(t *testing.T) {
			eventually(t, "it shows "+role.shows, func() bool {
				return role.process.servesMetrics() && scrape(t, role.process).families[role.shows] != nil
			})
			role.process.stop()
		})
	}
}

// servesMetrics finds in its log where a role that logs at info serves its metrics, and is
// false before it does.
func (p *process) servesMetrics() bool {
	found := regexp.MustCompile(`metrics are served" address=(\S+)`).FindStringSubmatch(p.stderr.String())
	if found == nil {
		return false
	}
	p.ready.MetricsURL = "http://" + found[1] + "/metrics"
	return true
}

// exposition is one scrape of a process.
type exposition struct {
	text     string
	families map[string]*dto.MetricFamily
}

func scrape(t *testing.T, p *process) exposition {
	t.Helper()
	status, text := fetch(t, p.ready.MetricsURL)
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, text)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return exposition{text, families}
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// own returns the families of the platform's own metrics.
func (e exposition) own() map[string]*dto.MetricFamily {
	own := maps.Clone(e.families)
	maps.DeleteFunc(own, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "vigil_") })
	return own
}

// value sums the series of a metric that have the labels, given as alternating
// names and values. For a histogram it is the number of observations.
func (e exposition) value(name string, labels ...string) float64 {
	var sum float64
	for _, m := range e.families[name].GetMetric() {
		has := map[string]string{}
		for _, pair := range m.GetLabel() {
			has[pair.GetName()] = pair.GetValue()
		}
		match := true
		for i := 0; i+1 < len(labels); i += 2 {
			match = match && has[labels[i]] == labels[i+1]
		}
		if match {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}
