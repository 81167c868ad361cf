// SPDX-License-Identifier: Apache-2.0

// Package overview has what pages and monitoring systems show of many results at a glance: status
// pages with what the public sees of checks and incidents, summaries of the last slots of a check,
// series, days of uptime, and figures of checks and regions.
//
// Storage reads these in few queries; the API, the public status pages and the exporters of metrics
// write them in their own formats.
//
// status_page.go has a StatusPage as it is defined, and what the public may know of its checks
// (PublicCheck and what belongs to it): those types have no member that is private. summary.go has
// the last slots of a check by region (CheckSummary) and sums over steps of time (SlotSummary).
// figures.go has the newest state of each check for /v1/metrics and OTLP. All are plain values
// without a decision; what counts as up, slow or in maintenance was decided when the result was
// stored.
package overview
