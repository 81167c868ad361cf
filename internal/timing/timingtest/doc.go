// SPDX-License-Identifier: Apache-2.0

// Package timingtest waits in tests, and says what a test waited for when it took long.
//
// A test waits for a condition and never for a time: the condition is looked at again and again
// until it holds or the patience of the test is over, and the error then says what was expected.
// What took longer than a second is in the log of the test, which shows where a suite spends its
// time.
package timingtest
