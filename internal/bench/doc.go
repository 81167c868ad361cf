// SPDX-License-Identifier: Apache-2.0

// Package bench measures the platform as its operators run it: every part a
// process of its own, the target in another, and every figure taken from the
// kernel or counted in Postgres. It prints the figures with their conditions, and
// sets no thresholds.
package bench
