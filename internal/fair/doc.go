// SPDX-License-Identifier: Apache-2.0

// Package fair shares a bounded number of places among organizations, and among the targets of
// each, so that no organization and no target holds up another one.
//
// A caller joins the Queue with a Claim and waits at its Place until that is granted; it leaves
// when its work is done or it gives up. The queue is a tree of nodes (node.go): the process has
// organizations, these have targets. Each node knows what is held below it and which claims wait,
// and a free place goes down the tree to the smallest share, which is dominant resource fairness
// over two resources: places held, and places that have just started.
//
// An order alone does not help while every place is held. So a part of the places is always left
// (dynamic thresholds), and claims that are expected to be slow wait in a line of their own and get
// at most a part. The package reads no clock and starts no goroutine: it is a data structure with a
// lock, and Limits says what each number protects.
package fair
