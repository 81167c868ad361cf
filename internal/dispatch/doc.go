// SPDX-License-Identifier: Apache-2.0

// Package dispatch is the client side of Temporal: it starts, signals, queries and terminates the
// workflows of loops, incidents and deliveries, and prepares the namespace that they run in. It
// registers nothing and runs no worker.
//
// Loops (loops.go) brings the workflow of one check in one region to a revision: Apply starts or
// signals it, Stop ends it, Nudge has it begin a new turn, Terminate kills it when nothing else
// helped. Incidents (incidents.go, drills.go) does the same for incidents, deliveries, recoveries
// and drills; what a user decides goes in as an update, whose answer is the incident afterwards.
// Every call names its workflow by what it is about, so it can be repeated: the API makes it once
// after a commit, and the sweep makes it again where that was lost.
//
// Turns (turns.go) completes activities on behalf of workers, Sentinel keeps the workflow that
// shows whether Temporal has lost its data, and Deployment says which build of the workers gets the
// workflows. PrepareNamespace makes the namespace with the search attributes that attributes.go
// names; names.go and summary.go decide whether operators see names of checks there.
package dispatch
