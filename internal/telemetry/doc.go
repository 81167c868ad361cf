// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports metrics and traces with OTLP over HTTP. It is used only in processes
// that have an endpoint. An endpoint that does not answer delays nothing: spans wait in a queue of
// a fixed length, and what does not fit is dropped.
//
// An Exporter (exporter.go) is a reader of the metrics that package metrics counts, and a queue of
// spans. Record (spans.go) takes the spans of vigil.Trace: a slot, its probe, the incident and
// every attempt have ids that follow from the result, so that processes make one trace without
// passing it on. checks.go adds the figures of checks, of all organizations, in the process that is
// asked to; they are read from the database when they are exported, not kept.
//
// An endpoint that fails is logged once in a while, with what it answered and without the headers
// that were sent.
package telemetry
