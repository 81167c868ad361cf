// SPDX-License-Identifier: Apache-2.0

// Package backtests is the part of the API that says what rules would have done.
//
// A request names a check, a period and rules, stored ones or new ones as a body would have them
// (backtest.go). The stored results of the period are read in the order of their slots
// (backtest_replay.go), beginning with as many before it as the rules look back at, and package
// backtest folds them into the states and decisions that the workers and the incident workflow
// would have made: the same functions of the root, so that a backtest cannot differ from what
// happens. Its report is compared with the incidents that were recorded (backtest_label.go): each
// is found, missed or new. backtest_view.go writes the answer.
//
// A replay reads many rows: an organization runs two at once in a process, and another one is
// refused with an instant at which it is worth a try.
package backtests
