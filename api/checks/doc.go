// SPDX-License-Identifier: Apache-2.0

// Package checks is the part of the API about checks and what is about them: results, uptime,
// series, metrics, tests and tries, regions and loops, usage, maintenance windows and status pages.
//
// Checks holds the rules by which a check is created and changed; a bulk change and an apply keep
// them too. A config is read by the registry of its type, which names the member that is wrong.
// After the transaction the notifier starts, signals or ends the loops; the sweep repairs what that
// misses. A try probes a config that is not saved, within a rate.
//
// checks.go has the operations of a check, check_change.go what a body makes of it, check_view.go
// how it is shown, check_warning.go what is allowed and yet worth a warning. check_run.go runs a
// saved check by hand and check_try.go one that is not saved; both go through a worker of the
// region and not through this process, which has no way out.
package checks
