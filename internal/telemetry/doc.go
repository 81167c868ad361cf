// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports metrics and traces with OTLP over HTTP. It is used only in
// processes that have an endpoint. An endpoint that does not answer delays nothing: spans
// wait in a queue of a fixed length, and what does not fit is dropped.
package telemetry
