// SPDX-License-Identifier: Apache-2.0

// Package maintenance says when a check is in planned maintenance: windows that occur once, by a
// cron expression or by a recurrence rule (RFC 5545), in the time zone of the window.
//
// A Window has a Scope, which checks it covers, and a Schedule. Validate judges both,
// and Occurrences lists when it is in force; storage keeps these occurrences as rows up to the
// Horizon, which a worker reads as Spans. Probing and Uptime say what happens meanwhile: whether
// the check is probed, and whether its results count. A Hold is a check whose incident
// workflow knows that it is in maintenance and is woken at the end.
//
// Cron expressions and recurrence rules are read here and not by a library, as each changes what
// a window means. robfig/cron v3 skips "30 2 * * *" on the day when clocks skip 02:30, has it twice
// when they show it twice, refuses 7 as Sunday, and its errors do not name the field.
// teambition/rrule-go v1.8 takes the later of two 02:30s, accepts FREQ twice, and its error for
// COUNT=x does not name COUNT.
package maintenance
