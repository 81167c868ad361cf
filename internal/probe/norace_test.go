// SPDX-License-Identifier: Apache-2.0

//go:build !race

package probe_test

// slowdown is what the race detector does to everything that is measured.
const slowdown = 1
