// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/vigil-monitor/vigil"
)

// chosen are the IDs of the span that is about to start.
type chosen struct {
	trace trace.TraceID
	span  trace.SpanID
}

type chosenKey struct{}

// chosenIDs gives every span the IDs that its context carries: those of Vigil follow from
// what a span is about.
type chosenIDs struct{}

// NewIDs returns the IDs of a span that begins a trace.
func (chosenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(chosenKey{}).(chosen)
	return ids.trace, ids.span
}

// NewSpanID returns the ID of a span below another one.
func (chosenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	ids, _ := ctx.Value(chosenKey{}).(chosen)
	return ids.span
}

// Record queues a span. It never waits: a span for which the queue has no room is dropped.
// One whose IDs are not valid is dropped too.
func (e *Exporter) Record(ctx context.Context, span vigil.Span) {
	ids, ok := parse(span.TraceID, span.ID)
	if !ok {
		return
	}
	// The context of the activity may have ended; the span has all that it needs of it.
	ctx = context.WithValue(context.WithoutCancel(ctx), chosenKey{}, ids)
	if parent, ok := parse(span.TraceID, span.Parent); ok {
		ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(parent))
	}
	if span.End.IsZero() {
		span.End = e.now()
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(span.Start), trace.WithAttributes(attributes(span.Attributes)...)}
	if link, ok := parse(span.LinkTrace, span.LinkSpan); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: spanContext(link)}))
	}
	_, started := e.tracer.Start(ctx, span.Name, options...)
	if span.Error != "" {
		started.SetStatus(codes.Error, span.Error)
	}
	started.End(trace.WithTimestamp(span.End))
}

func parse(traceID, spanID string) (ids chosen, ok bool) {
	var err error
	if ids.trace, err = trace.TraceIDFromHex(traceID); err != nil {
		return ids, false
	}
	ids.span, err = trace.SpanIDFromHex(spanID)
	return ids, err == nil
}

func spanContext(ids chosen) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: ids.trace, SpanID: ids.span, TraceFlags: trace.FlagsSampled, Remote: true})
}

func attributes(given map[string]string) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, len(given))
	for key, value := range given {
		list = append(list, attribute.String(key, value))
	}
	return list
}
