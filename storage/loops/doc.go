// SPDX-License-Identifier: Apache-2.0

// Package loops keeps the rows of loops (one check in one region), the leases of workers and
// of the sweep, and the time in which maintenance pauses probing. It owns check_regions,
// loop_tombstones, worker_leases, sweep_leases and temporal_generation.
//
// A row has the revision that its loop must reach and the one that Temporal has accepted;
// Lagging finds the difference, Overdue the loops that have no result in time, and what acts
// on either holds a lease of the sweep, whose fence each statement compares. Slots without a
// result are gaps (gap.go): missed ones are counted from the schedule, not stored one by one,
// and those of a pause are left out (maintenance_pause.go). The rooms above read the
// schedule, gaps and pauses through Row, Gap and Span.
package loops
