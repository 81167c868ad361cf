// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/telemetry"
	"github.com/vigil-monitor/vigil/internal/telemetry/telemetrytest"
)

// lockedBuffer collects log lines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newExporter(t *testing.T, endpoint string, log *lockedBuffer) *telemetry.Exporter {
	t.Helper()
	exporter, err := telemetry.New(t.Context(), telemetry.Options{
		Endpoint: endpoint, Headers: map[string]string{"Authorization": "Bearer hunter2"}, Interval: time.Hour,
		Version: "v1", Instance: "here", Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return exporter
}

// stop ends an exporter, which exports what is left.
func stop(t *testing.T, exporter *telemetry.Exporter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	if err := exporter.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

//nolint:paralleltest // OpenTelemetry has one receiver of errors in a process
func TestExport(t *testing.T) {
	t.Run("SpansHaveTheIDsThatAreGiven", func(t *testing.T) {
		receiver := telemetrytest.Start(t)
		exporter := newExporter(t, receiver.URL, &lockedBuffer{})
		trace, linked := vigil.SlotTrace(uuid.New(), "a", time.Now()), vigil.SlotTrace(uuid.New(), "b", time.Now())
		root, child := vigil.SpanID(trace, vigil.SpanTurn), vigil.SpanID(trace, vigil.SpanOpen)
		started := time.Now().Add(-time.Second).Truncate(time.Microsecond)
		exporter.Record(t.Context(), vigil.Span{TraceID: trace, ID: root, Name: vigil.SpanTurn, Start: started})
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		exporter.Record(canceled, vigil.Span{
			TraceID: trace, ID: child, Parent: root, Name: vigil.SpanOpen, Start: started, End: started.Add(time.Millisecond),
			Attributes: map[string]string{"vigil.incident_id": "7"}, Error: "timeout", LinkTrace: linked, LinkSpan: root,
		})
		exporter.Record(t.Context(), vigil.Span{TraceID: "", ID: root, Name: "without a trace", Start: started})
		stop(t, exporter)
		spans := receiver.Spans()
		if len(spans) != 2 {
			t.Fatalf("received %+v", spans)
		}
		if got := spans[0]; got.TraceID != trace || got.ID != root || got.Parent != "" || got.End.Before(got.Start) || got.Failed {
			t.Errorf("the root is %+v", got)
		}
		got := spans[1]
		if got.TraceID != trace || got.ID != child || got.Parent != root || !slices.Equal(got.Links, []string{linked}) ||
			got.Attributes["vigil.incident_id"] != "7" || !got.Failed || !got.Start.Equal(started) || got.End.Sub(got.Start) != time.Millisecond {
			t.Errorf("the child is %+v", got)
		}
		if receiver.Header("Authorization") != "Bearer hunter2" {
			t.Error("the header is not sent")
		}
	})

	t.Run("MetricsOfTheProcessAndOfChecks", func(t *testing.T) {
		receiver := telemetrytest.Start(t)
		exporter := newExporter(t, receiver.URL, &lockedBuffer{})
		measured, err := metrics.New("v7", slog.New(slog.DiscardHandler), sdkmetric.WithReader(exporter.Reader()))
		if err != nil {
			t.Fatal(err)
		}
		measured.Gauge("vigil_probes_in_flight", func() int64 { return 17 })
		days := 12.0
		exporter.Checks(func(context.Context) ([]overview.CheckFigures, error) {
			return []overview.CheckFigures{{
				ID: uuid.New(), OrgID: uuid.New(), Name: "Shop", Type: vigil.TypeHTTPS, Enabled: true, IncidentOpen: true,
				Regions: []overview.RegionFigures{
					{Region: "a", Health: vigil.Unhealthy, Response: 1500 * time.Millisecond, SSLDays: &days},
					{Region: "b", Health: vigil.Unknown, Response: -1},
				},
			}}, nil
		})
		stop(t, exporter)
		for _, want := range []struct {
			name, label, value string
			number             float64
		}{
			{"vigil_build_info", "version", "v7", 1},
			{"vigil_probes_in_flight", "", "", 17},
			{"vigil_check_up", "region", "a", 0},
			{"vigil_check_response_seconds", "region", "a", 1.5},
			{"vigil_check_ssl_days_remaining", "region", "a", 12},
			{"vigil_check_incident_open", "name", "Shop", 1},
			{"vigil_check_in_maintenance", "type", "https", 0},
		} {
			if got, ok := receiver.Gauge(want.name, want.label, want.value); !ok || got != want.number {
				t.Errorf("%s is %v, %v; want %v", want.name, got, ok, want.number)
			}
		}
		if _, ok := receiver.Gauge("vigil_check_up", "region", "b"); ok {
			t.Error("a region without a result is up or down")
		}
	})

	t.Run("AnEndpointThatHangsDelaysNoSpan", func(t *testing.T) {
		receiver, log := telemetrytest.Start(t), &lockedBuffer{}
		receiver.Hang(true)
		exporter := newExporter(t, receiver.URL, log)
		trace := vigil.SlotTrace(uuid.New(), "a", time.Now())
		began := time.Now()
		const spans = 20_000 // five times the queue
		for range spans {
			exporter.Record(t.Context(), vigil.Span{TraceID: trace, ID: vigil.SpanID(trace), Name: vigil.SpanTurn, Start: began})
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%d spans took %v", spans, took)
		}
		receiver.Hang(false)
		stop(t, exporter)
		if n := len(receiver.Spans()); n == 0 || n >= spans {
			t.Errorf("%d spans arrived; the queue has a length", n)
		}
	})

	t.Run("AnEndpointThatIsAwayIsLoggedOnceWithoutTheCredential", func(t *testing.T) {
		log := &lockedBuffer{}
		exporter := newExporter(t, "http://127.0.0.1:1", log)
		trace := vigil.SlotTrace(uuid.New(), "a", time.Now())
		for range 3 {
			exporter.Record(t.Context(), vigil.Span{TraceID: trace, ID: vigil.SpanID(trace), Name: vigil.SpanTurn, Start: time.Now()})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_ = exporter.Stop(ctx) // what was not exported is lost
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("stopping took %v", took)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "hunter2") {
			t.Errorf("logged %s", text)
		}
	})
}

// BenchmarkRecord shows what a span costs in the process that records it.
func BenchmarkRecord(b *testing.B) {
	receiver := telemetrytest.Start(b)
	exporter, err := telemetry.New(b.Context(), telemetry.Options{
		Endpoint: receiver.URL, Interval: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = exporter.Stop(context.WithoutCancel(b.Context())) })
	trace := vigil.SlotTrace(uuid.New(), "a", time.Now())
	span := vigil.Span{
		TraceID: trace, ID: vigil.SpanID(trace), Name: vigil.SpanTurn, Start: time.Now(),
		Attributes: map[string]string{"vigil.check_id": "7", "vigil.region": "a", "vigil.firing_rules": "1"},
	}
	b.ReportAllocs()
	for b.Loop() {
		exporter.Record(b.Context(), span)
	}
}
