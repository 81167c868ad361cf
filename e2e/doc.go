// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built program as a separate process, with real Postgres,
// Temporal and targets. Every fact is read through the API, in Postgres or at the
// target, never from the code under test.
//
// The tests run beside one another, as many as the machine has time for (timingtest.Parallel). Those that
// kill, freeze and reconfigure nothing share one platform (shared); a cluster is the platform as its roles, each
// a process that can be killed. A drill compares what was due with what is stored (slotAudit), and figure judges
// what it counts; the seconds are judged by `make chaos`, one test at a time.
package e2e
