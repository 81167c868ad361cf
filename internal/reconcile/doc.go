// SPDX-License-Identifier: Apache-2.0

// Package reconcile makes Temporal agree with Postgres: its sweep finds the rows that a workflow
// has not seen, or no longer works on, and repairs each of them. Every control process sweeps the
// shards that it has a lease of, and reaches workflows through interfaces of its own.
//
// A Sweep (sweep.go) is a list of passes, each a query and what is done about its rows, on a
// timetable of its own. A pass of checks runs over the shards that this process has, one of the
// platform only where the common shard is (shards.go). Its statements compare the fence of the
// lease, so that a process that lost a shard without noticing changes nothing.
//
// Most passes run only where there may be rows for them: those with the same time begin together and share one look at the
// database, which says so for each kind of row (glance.go). At rest that look is all that they ask.
//
//   - loops.go: revisions that Temporal has not accepted, and loops without a result in time
//   - lease_monitor.go, abandoned.go: workers that no longer renew their lease, and their loops
//   - suspects.go: late loops whose workflow or turn is gone although their worker lives
//   - tombstones.go: loops that must end, and the results of deleted checks
//   - incidents.go, drills.go, maintenance.go, unobserved.go, blind.go: what must be evaluated,
//     sent or reported though no new result says so
//   - temporal_store.go: whether either store was restored from a backup
//
// repairs.go carries repairs out, some at a time: a row that fails is left out for a while and
// delays no other one, and a server that is away ends the pass. What a repair does may be repeated.
package reconcile
