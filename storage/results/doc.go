// SPDX-License-Identifier: Apache-2.0

// Package results keeps results and what is summed from them: rollups by the hour, gaps,
// uptime, series and percentiles. It owns results with its partitions by day,
// result_rollups, result_gaps and uncounted_results.
//
// Results, rollups and their notes may be in several databases (home.go): that of the definitions, and those that keep results
// alone, for a region or for all. Loops and gaps are in the first. Reads ask all that may have something (home_read.go), and what
// other rooms need of single results they ask for by keys (brief.go): no statement joins results with other tables.
//
// A ResultWriter stores the results of many goroutines in shared transactions. The dispatcher
// (writer_dispatch.go) divides the loops among a few transactions, a loop in one at a time, so
// that its rows are stored in their order. A group (writer.go) is one attempt: it is
// divided when it fails, and rows of a loop that is locked are set aside (writer_aside.go)
// instead of waiting. The commit (writer_commit.go) inserts the rows, counts them in rollups
// and gaps, and brings the row of the loop forward (writer_loop.go), in that order of locks,
// which every other transaction keeps too. Where results are in a database of their own that is two transactions
// (writer_apart.go); what ends between them is counted later (writer_count.go), as are rows that were set aside.
//
// Lists and sums read results by day, and periods of more than a day from the rollups. A
// maintenance window that changes later queues what it covers, and Reclassify marks those
// results and sums their hours again.
package results
