// SPDX-License-Identifier: Apache-2.0

// Package workflows defines the order of steps, and nothing else: every function here is
// deterministic, so that Temporal can replay it from its history after a crash. The steps
// themselves are in package activities.
//
// CheckLoop (check_loop*.go) probes one check from one region: turn after turn, and between them it
// takes in what changed. Its votes go to Incident (incident*.go), which is there for a check as
// long as it may have an incident, reads what it must know in one activity, and opens and resolves
// by vigil.Decide. Delivery (delivery.go) sends the messages of one incident to one channel in
// their order; Recovery repeats those that a channel missed, Drill leads a drill, and Sentinel only
// exists, so that a Temporal that lost its data is noticed. A workflow that grows long continues as
// a new run with its input, whose members are therefore kept compatible.
//
// TestReplay runs it over histories of real runs. Those of the baseline were recorded once, by
//
//	go test -count=1 -run 'TestTurnCost$|TestEpisodes$|TestDrillMaintenance$' ./e2e -record baseline
//
// and are never recorded again: they stand for the workflows that run when a version is replaced.
// From the baseline on, a change that breaks one goes behind workflow.GetVersion, and its first run
// is recorded beside them, with another suffix.
package workflows
