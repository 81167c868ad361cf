// SPDX-License-Identifier: Apache-2.0

// Package metrics serves the metrics of a process in the text format of Prometheus, and its
// profiles. A process without a metrics address has none and pays for none: the nil *Metrics
// measures nothing.
//
// figures.go is the table of all figures: name, help and the labels that each may have, whose
// values are words of short lists. metrics.go makes the instruments of OpenTelemetry from it, which
// the SDK of Temporal and the exporter of package telemetry use as well, so that a figure is
// counted once, for all who read it. Rooms do not import this package: they take a function among
// their options or return a number, and package platform connects the two.
//
// Handler (serve.go) answers /metrics and the profiles below /debug/pprof/ without a credential.
// Where it listens on loopback it answers requests to loopback names only, since a web page could
// send them.
package metrics
