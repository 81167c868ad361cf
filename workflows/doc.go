// SPDX-License-Identifier: Apache-2.0

// Package workflows defines the order of steps, and nothing else: every function here is
// deterministic, so that Temporal can replay it from its history after a crash. The steps
// themselves are in package activities.
//
// TestReplay runs it over histories of real runs. Those of the baseline were recorded once, by
//
//	go test -count=1 -run 'TestTurnCost$|TestEpisodes$|TestDrillMaintenance$' ./e2e -record baseline
//
// and are never recorded again: they stand for the workflows that run when a version is
// replaced. From the baseline on, a change that breaks one goes behind workflow.GetVersion, and
// its first run is recorded beside them, with another suffix.
package workflows
