// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"log/slog"
	"maps"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/telemetry/telemetrytest"
)

func TestHeaderList(t *testing.T) {
	t.Parallel()
	var headers headerList
	err := headers.UnmarshalText([]byte("authorization=Bearer%20hunter2, X-Scope-OrgID=a%2Cb=c"))
	want := headerList{"authorization": "Bearer hunter2", "X-Scope-OrgID": "a,b=c"}
	if err != nil || !maps.Equal(headers, want) {
		t.Errorf("got %v, %v", headers, err)
	}
	for _, wrong := range []string{"hunter2", "a b=hunter2", "a=hunter2%zz", "a=hunter2%0A", "=hunter2", "a=b,hunter2"} {
		if err := headers.UnmarshalText([]byte(wrong)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

//nolint:paralleltest // it counts the goroutines of the process
func TestExportOnlyToAnEndpoint(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewProcess(slog.New(slog.DiscardHandler), Program{Version: "v1.2.3", Env: os.LookupEnv})
	none, err := p.exportMetrics(t.Context(), Settings{})
	if err != nil || none.exporter != nil || none.metrics != nil || p.stops != nil || runtime.NumGoroutine() > before {
		t.Errorf("without an endpoint: %+v, %v, %d goroutines of %d", none, err, runtime.NumGoroutine(), before)
	}
	if spans := (&Platform{}).spans(); spans != nil {
		t.Errorf("without an endpoint spans are recorded by %v", spans)
	}
	receiver := telemetrytest.Start(t)
	exported, err := p.exportMetrics(t.Context(), Settings{
		OTLPEndpoint: publicURL(receiver.URL), OTLPHeaders: headerList{"authorization": "Bearer hunter2"}, OTLPInterval: 1 << 40,
	})
	if err != nil || exported.exporter == nil || exported.metrics == nil {
		t.Fatalf("%+v, %v", exported, err)
	}
	p.Stop(t.Context())
	if _, ok := receiver.Gauge("vigil_build_info", "version", "v1.2.3"); !ok || receiver.Header("Authorization") != "Bearer hunter2" {
		t.Error("a process that stops does not export what is left")
	}
}
