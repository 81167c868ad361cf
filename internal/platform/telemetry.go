// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"time"

	"github.com/google/uuid"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/telemetry"
)

const (
	// exportGrace bounds the last export of a process that stops.
	exportGrace = 2 * time.Second
	// exportedChecks is how many checks of all organizations are exported at most.
	exportedChecks = 20_000
)

// exportMetrics exports the metrics of this process to VIGIL_OTLP_ENDPOINT, if it is set,
// until the process stops. Without it nothing of OpenTelemetry's exporters is created.
func (p *Process) exportMetrics(ctx context.Context, s Settings) (MetricsServer, error) {
	if s.OTLPEndpoint == "" {
		return MetricsServer{}, nil
	}
	exporter, err := telemetry.New(ctx, telemetry.Options{
		Endpoint: string(s.OTLPEndpoint), Headers: s.OTLPHeaders, Interval: s.OTLPInterval,
		Version: p.program.Version, Instance: workerName(), Now: time.Now, Log: p.Log,
	})
	if err != nil {
		return MetricsServer{}, err
	}
	measured, err := metrics.New(
		p.program.Version,
		p.Log,
		sdkmetric.WithReader(exporter.Reader()),
		sdkmetric.WithResource(exporter.Resource()),
	)
	if err != nil {
		return MetricsServer{}, err
	}
	p.onStop(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, exportGrace)
		defer cancel()
		if err := exporter.Stop(ctx); err != nil {
			p.Log.WarnContext(ctx, "the last metrics and traces were not exported", "error", err)
		}
	})
	p.Log.InfoContext(ctx, "metrics and traces are exported", "endpoint", string(s.OTLPEndpoint))
	return MetricsServer{metrics: measured, exporter: exporter}, nil
}

// spanRecorder receives the steps of traces.
type spanRecorder interface {
	Record(ctx context.Context, span vigil.Span)
}

// spans receives the steps of traces; nil while they are not exported.
func (p *Platform) spans() spanRecorder {
	if p.exporter == nil {
		return nil
	}
	return p.exporter
}

// exportChecks exports the figures of the checks of all organizations from the process that
// leads, so that each is exported once.
func (p *Platform) exportChecks(leads func() bool) {
	if p.exporter == nil {
		return
	}
	p.exporter.Checks(func(ctx context.Context) ([]overview.CheckFigures, error) {
		if !leads() {
			return nil, nil
		}
		return p.store.CheckFigures(ctx, uuid.Nil, nil, exportedChecks)
	})
}
