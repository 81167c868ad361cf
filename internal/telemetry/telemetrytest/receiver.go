// SPDX-License-Identifier: Apache-2.0

// Package telemetrytest has an OTLP/HTTP receiver for tests.
package telemetrytest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracescollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver decodes and keeps what is exported to it.
type Receiver struct {
	URL string

	mu      sync.Mutex
	spans   []*tracespb.Span
	metrics map[string]*metricspb.Metric // the newest by name
	headers http.Header                  // of the last request
	hanging chan struct{}                // requests wait for it; nil: they are answered
}

// Start starts a receiver, which ends with the test.
func Start(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{metrics: make(map[string]*metricspb.Metric)}
	server := httptest.NewServer(r)
	r.URL = server.URL
	tb.Cleanup(func() {
		r.Hang(false)
		server.Close()
	})
	return r
}

// Hang makes requests wait until it is called with false.
func (r *Receiver) Hang(hang bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hanging != nil {
		close(r.hanging)
		r.hanging = nil
	}
	if hang {
		r.hanging = make(chan struct{})
	}
}

// ServeHTTP receives one export.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	hanging := r.hanging
	r.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-req.Context().Done():
			return
		}
	}
	body, err := bodyOf(req)
	var answer proto.Message
	if err == nil {
		answer, err = r.take(req, body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(text)
}

func bodyOf(req *http.Request) ([]byte, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.Header.Get("Content-Encoding") != "gzip" {
		return body, err
	}
	plain, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

func (r *Receiver) take(req *http.Request, body []byte) (proto.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = req.Header.Clone()
	if req.URL.Path == "/v1/traces" {
		var sent tracescollector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
		return &tracescollector.ExportTraceServiceResponse{}, nil
	}
	var sent metricscollector.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	for _, resource := range sent.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				r.metrics[metric.GetName()] = metric
			}
		}
	}
	return &metricscollector.ExportMetricsServiceResponse{}, nil
}

// Span is a span that was received.
type Span struct {
	Name, TraceID, ID, Parent string
	Attributes                map[string]string
	Links                     []string // trace IDs
	Start, End                time.Time
	Failed                    bool
}

// Spans returns the spans in the order of their arrival.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := make([]Span, len(r.spans))
	for i, span := range r.spans {
		spans[i] = Span{
			Name: span.GetName(), TraceID: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()),
			Parent: hex.EncodeToString(span.GetParentSpanId()), Attributes: texts(span.GetAttributes()),
			Start:  time.Unix(0, int64(span.GetStartTimeUnixNano())), //nolint:gosec // a time
			End:    time.Unix(0, int64(span.GetEndTimeUnixNano())),   //nolint:gosec // a time
			Failed: span.GetStatus().GetCode() == tracespb.Status_STATUS_CODE_ERROR,
		}
		for _, link := range span.GetLinks() {
			spans[i].Links = append(spans[i].Links, hex.EncodeToString(link.GetTraceId()))
		}
	}
	return spans
}

// Gauge returns the newest value of a gauge by the value of one of its labels; false without
// one.
func (r *Receiver) Gauge(name, label, value string) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, point := range r.metrics[name].GetGauge().GetDataPoints() {
		if label == "" || texts(point.GetAttributes())[label] == value {
			if as, ok := point.GetValue().(*metricspb.NumberDataPoint_AsInt); ok {
				return float64(as.AsInt), true
			}
			return point.GetAsDouble(), true
		}
	}
	return 0, false
}

// Header returns a header of the last request.
func (r *Receiver) Header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers.Get(name)
}

func texts(list []*commonpb.KeyValue) map[string]string {
	out := make(map[string]string, len(list))
	for _, one := range list {
		out[one.GetKey()] = one.GetValue().GetStringValue()
	}
	return out
}
