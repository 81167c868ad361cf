// SPDX-License-Identifier: Apache-2.0

// Package backtests is the part of the API that says what rules would have done: it reads the
// stored results of a check, replays them through the rules as the workers judge them, and
// compares the incidents with the recorded ones. A few run at once.
package backtests
