// SPDX-License-Identifier: Apache-2.0

// Package workflows defines the order of steps, and nothing else: every function here is
// deterministic, so that Temporal can replay it from its history after a crash. The steps
// themselves are in package activities.
package workflows
