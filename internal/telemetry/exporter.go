// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/vigil-monitor/vigil/internal/overview"
)

const (
	// exportTimeout bounds a request to the endpoint, and retryFor how long it is repeated.
	exportTimeout = 10 * time.Second
	retryFor      = 30 * time.Second
	// spanQueue is how many spans wait for the endpoint. A span has less than 2 KiB.
	spanQueue = 4096
	// warnEvery is how often a failing endpoint is logged.
	warnEvery = time.Minute
)

// Options configure an Exporter. Endpoint, Interval, Now and Log are required.
type Options struct {
	// Endpoint is the base URL of an OTLP/HTTP receiver; /v1/metrics and /v1/traces are
	// appended to its path.
	Endpoint string
	// Headers are sent with every request, such as a credential. They are never logged.
	Headers map[string]string
	// Interval is the time between two exports of metrics.
	Interval time.Duration
	// Version of the program, and Instance, the name of the process.
	Version, Instance string
	Now               func() time.Time
	Log               *slog.Logger
}

// Exporter sends the metrics and the spans of a process to an OTLP/HTTP receiver.
type Exporter struct {
	now    func() time.Time
	reader *sdkmetric.PeriodicReader
	checks *checks
	traces *sdktrace.TracerProvider
	tracer trace.Tracer
	attrs  *resource.Resource
}

// New returns an Exporter. It connects when it first exports.
func New(ctx context.Context, opts Options) (*Exporter, error) {
	at, err := url.Parse(opts.Endpoint)
	if err != nil {
		return nil, errors.New("telemetry: the endpoint is not a URL")
	}
	otel.SetErrorHandler(&warnings{now: opts.Now, log: opts.Log})
	spans, err := otlptrace.New(ctx, otlptracehttp.NewClient(
		otlptracehttp.WithEndpointURL(at.JoinPath("v1", "traces").String()), otlptracehttp.WithHeaders(opts.Headers),
		otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: exportTimeout, MaxElapsedTime: retryFor,
		}),
	))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	figures, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(at.JoinPath("v1", "metrics").String()), otlpmetrichttp.WithHeaders(opts.Headers),
		otlpmetrichttp.WithTimeout(exportTimeout), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: exportTimeout, MaxElapsedTime: retryFor,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	e := &Exporter{now: opts.Now, checks: &checks{now: opts.Now, log: opts.Log}}
	e.attrs = resource.NewSchemaless(
		attribute.String("service.name", "vigil"), attribute.String("service.version", opts.Version),
		attribute.String("service.instance.id", opts.Instance),
	)
	e.reader = sdkmetric.NewPeriodicReader(figures, sdkmetric.WithInterval(opts.Interval), sdkmetric.WithTimeout(retryFor+exportTimeout),
		sdkmetric.WithProducer(e.checks))
	e.traces = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(spans, sdktrace.WithMaxQueueSize(spanQueue), sdktrace.WithBatchTimeout(time.Second),
			sdktrace.WithExportTimeout(retryFor+exportTimeout)),
		sdktrace.WithIDGenerator(chosenIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithResource(e.attrs),
	)
	e.tracer = e.traces.Tracer("vigil")
	return e, nil
}

// Reader reads the metrics of the process, for their provider.
func (e *Exporter) Reader() sdkmetric.Reader { return e.reader }

// Resource describes the process, for the provider of its metrics.
func (e *Exporter) Resource() *resource.Resource { return e.attrs }

// Checks exports the figures of checks as well. read returns those of all organizations, and
// nothing in a process that another one does it for.
func (e *Exporter) Checks(read func(context.Context) ([]overview.CheckFigures, error)) {
	e.checks.set(read)
}

// Stop exports what is left until ctx ends.
func (e *Exporter) Stop(ctx context.Context) error {
	return errors.Join(e.traces.Shutdown(ctx), e.reader.Shutdown(ctx))
}

// warnings logs that the endpoint does not answer, once in a while. An error may contain the
// answer of the endpoint, and never a header of a request.
type warnings struct {
	now  func() time.Time
	log  *slog.Logger
	last atomic.Int64 // Unix time in nanoseconds
}

// Handle logs an error of OpenTelemetry.
func (w *warnings) Handle(err error) {
	now := w.now().UnixNano()
	if last := w.last.Load(); now-last < int64(warnEvery) || !w.last.CompareAndSwap(last, now) {
		return
	}
	w.log.Warn("metrics or traces were not exported", "error", strings.TrimSpace(err.Error()))
}
