// SPDX-License-Identifier: Apache-2.0

// Package bench measures the platform as its operators run it: every part a process of its own, the
// target in another, and every figure taken from the kernel or counted in Postgres. It prints the
// figures with their conditions, and sets no thresholds.
//
// Each Measure function is one kind of `vigil bench`, in a file of its own: loops, idle, create,
// alerts, incidents, drills, reads, dashboard, requests and turns. Those that need a platform start
// it as a cluster of processes of this same program (loops.go, process.go), with a private Postgres
// and Temporal (store.go) and a target (target.go) that answers at once, wait until it has settled
// and measure for the time that was asked for. report.go prints what each part used; progress.go
// says meanwhile what the measurement is at.
//
// requests.go and turns.go are the least programs that do the same work without Vigil, so that a
// figure can be compared with what it must cost. docs/benchmarks.md has the results.
package bench
