// SPDX-License-Identifier: Apache-2.0

// Package overview has what pages and monitoring systems show of many results at a glance:
// status pages with what the public sees of checks and incidents, summaries of the last slots
// of a check, series, days of uptime, and figures of checks and regions.
//
// Storage reads these in few queries; the API, the public status pages and the exporters of
// metrics write them in their own formats.
package overview
