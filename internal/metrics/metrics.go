// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Metrics are the metrics of one process. All methods but Handler may be called on
// nil, and then do nothing.
type Metrics struct {
	registry *prometheus.Registry
	meter    metric.Meter
	log      *slog.Logger

	requests       metric.Int64Counter
	drills         metric.Int64Counter
	refused        metric.Int64Counter
	reads, kept    metric.Int64Counter
	requestSeconds metric.Float64Histogram
	commitSeconds  metric.Float64Histogram
	rowsInCommit   metric.Int64Histogram
}

// New returns the metrics of a process of the given version.
//
// Everything goes through OpenTelemetry, to which contrib/opentelemetry binds the
// SDK. The other binding, contrib/tally, was last made for SDK 1.12, and could
// neither leave out a label nor explain a figure, as views do.
//
// others add readers beside Prometheus, and the resource that describes the process to them.
func New(version string, log *slog.Logger, others ...sdkmetric.Option) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(append(others, sdkmetric.WithReader(reader), sdkmetric.WithView(views()...),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))...)
	m := &Metrics{registry: registry, meter: provider.Meter("vigil"), log: log}

	var errs [9]error
	m.requests, errs[0] = m.meter.Int64Counter("vigil_api_requests_total")
	m.requestSeconds, errs[1] = m.meter.Float64Histogram("vigil_api_request_duration_seconds")
	m.commitSeconds, errs[2] = m.meter.Float64Histogram("vigil_result_commit_seconds")
	m.rowsInCommit, errs[3] = m.meter.Int64Histogram("vigil_result_commit_rows")
	m.drills, errs[5] = m.meter.Int64Counter("vigil_drills_total")
	m.refused, errs[6] = m.meter.Int64Counter("vigil_agent_results_refused_total")
	m.reads, errs[7] = m.meter.Int64Counter("vigil_api_reads_total")
	m.kept, errs[8] = m.meter.Int64Counter("vigil_results_kept_total")
	build, err := m.meter.Int64Gauge("vigil_build_info")
	errs[4] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	build.Record(context.Background(), 1, metric.WithAttributes(attribute.String("version", version)))
	return m, nil
}

// Temporal receives the metrics of a Temporal client and its workers, and those that
// activities record with the handler of their context.
func (m *Metrics) Temporal() client.MetricsHandler {
	if m == nil {
		return nil // the SDK's own, which does nothing
	}
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: m.meter, UseMonotonicCounters: true,
		OnError: func(err error) { m.log.Warn("figure not shown", "error", err) },
	})
}

// Gauge registers a gauge whose value read returns at each scrape.
func (m *Metrics) Gauge(name string, read func() int64) {
	if m == nil {
		return
	}
	_, err := m.meter.Int64ObservableGauge(name, metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(read())
		return nil
	}))
	if err != nil {
		m.log.Warn("figure not shown", "error", err)
	}
}

// GaugeBy registers a gauge with a label. Read returns its values, by the value of the label,
// at each scrape.
func (m *Metrics) GaugeBy(name, label string, read func() map[string]int64) {
	if m == nil {
		return
	}
	_, err := m.meter.Int64ObservableGauge(name, metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		for value, n := range read() {
			o.Observe(n, metric.WithAttributes(attribute.String(label, value)))
		}
		return nil
	}))
	if err != nil {
		m.log.Warn("figure not shown", "error", err)
	}
}

// Seconds registers a gauge in seconds whose value read returns at each scrape.
func (m *Metrics) Seconds(name string, read func() time.Duration) {
	m.Number(name, func() float64 { return read().Seconds() })
}

// Number registers a gauge of fractions whose value read returns at each scrape.
func (m *Metrics) Number(name string, read func() float64) {
	if m == nil {
		return
	}
	_, err := m.meter.Float64ObservableGauge(name, metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
		o.Observe(read())
		return nil
	}))
	if err != nil {
		m.log.Warn("figure not shown", "error", err)
	}
}

// Answered records requests of the API by the pattern of their route.
func (m *Metrics) Answered() func(ctx context.Context, method, route string, status int, took time.Duration) {
	if m == nil {
		return nil
	}
	type answer struct {
		method, route string
		status        int
	}
	type options struct{ of, with metric.MeasurementOption }
	var known sync.Map // options by answer, which are as many as the routes: each request would make them again
	return func(ctx context.Context, method, route string, status int, took time.Duration) {
		made, ok := known.Load(answer{method, route, status})
		if !ok {
			to := []attribute.KeyValue{attribute.String("method", method), attribute.String("route", route)}
			made = options{
				metric.WithAttributeSet(attribute.NewSet(to...)),
				metric.WithAttributeSet(attribute.NewSet(append(to, attribute.String("status", strconv.Itoa(status)))...)),
			}
			known.Store(answer{method, route, status}, made)
		}
		as, _ := made.(options)
		m.requestSeconds.Record(ctx, took.Seconds(), as.of)
		m.requests.Add(ctx, 1, as.with)
	}
}

// Committed records transactions that store results.
func (m *Metrics) Committed() func(ctx context.Context, rows int, took time.Duration) {
	if m == nil {
		return nil
	}
	return func(ctx context.Context, rows int, took time.Duration) {
		m.rowsInCommit.Record(ctx, int64(rows))
		m.commitSeconds.Record(ctx, took.Seconds())
	}
}

// Kept counts results that were stored with the definitions because their own database was away.
func (m *Metrics) Kept() func(ctx context.Context, rows int) {
	if m == nil {
		return nil
	}
	m.kept.Add(context.Background(), 0) // the figure is there before it moves
	return func(ctx context.Context, rows int) { m.kept.Add(ctx, int64(rows)) }
}

// Drills counts drills that have ended.
func (m *Metrics) Drills() func(ctx context.Context, verdict string) {
	if m == nil {
		return nil
	}
	for _, verdict := range []string{"passed", "failed", "canceled"} { // the figure is there before it moves
		m.drills.Add(context.Background(), 0, metric.WithAttributes(attribute.String("verdict", verdict)))
	}
	return func(ctx context.Context, verdict string) {
		m.drills.Add(ctx, 1, metric.WithAttributes(attribute.String("verdict", verdict)))
	}
}

// RefusedResults counts results of agents that were not stored, by their reason.
func (m *Metrics) RefusedResults() func(reason string, n int) {
	if m == nil {
		return nil
	}
	for _, reason := range []string{"unknown_check", "future", "too_old", "off_schedule", "invalid"} { // the figure is there before it moves
		m.refused.Add(context.Background(), 0, metric.WithAttributes(attribute.String("reason", reason)))
	}
	return func(reason string, n int) {
		m.refused.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String("reason", reason)))
	}
}

// Reads counts requests that a copy of the database could answer, by which of the places answered them.
func (m *Metrics) Reads(places ...string) func(ctx context.Context, from string) {
	if m == nil {
		return nil
	}
	for _, from := range places { // the figure is there before it moves
		m.reads.Add(context.Background(), 0, metric.WithAttributes(attribute.String("from", from)))
	}
	return func(ctx context.Context, from string) {
		m.reads.Add(ctx, 1, metric.WithAttributes(attribute.String("from", from)))
	}
}
