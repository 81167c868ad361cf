// SPDX-License-Identifier: Apache-2.0

// Package metrics serves the metrics of a process in the text format of Prometheus,
// and its profiles. A process without a metrics address has none and pays for none:
// the nil *Metrics measures nothing.
package metrics
