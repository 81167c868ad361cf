// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"testing"
	"time"
)

const (
	// long is the shortest wait that is worth a line of the test's output.
	long = time.Second
	// The condition is asked again after first, then after twice as long each time, up to
	// pause: what comes at once is seen at once, and a long wait leaves the machine to what
	// is waited for, as to ask often means requests and statements.
	first = time.Millisecond
	pause = 100 * time.Millisecond
)

// Eventually waits until a condition holds that others bring about, and ends the test when
// it does not hold within limit. It must be called by the goroutine of the test.
func Eventually(tb testing.TB, limit time.Duration, what string, holds func() bool) {
	tb.Helper()
	began := time.Now()
	for wait := first; !holds(); wait = min(2*wait, pause) {
		if time.Since(began) > limit {
			tb.Fatalf("after %v, this does not hold: %s", limit, what)
		}
		time.Sleep(wait)
	}
	waited(tb, began, what)
}

// Waiting is called before something that may take long and returns what is called after
// it: defer timingtest.Waiting(t, "the server is ready")().
func Waiting(tb testing.TB, what string) func() {
	tb.Helper()
	began := time.Now()
	return func() {
		tb.Helper()
		waited(tb, began, what)
	}
}

// waited logs a wait of more than a second, which `go test -v` shows.
func waited(tb testing.TB, began time.Time, what string) {
	tb.Helper()
	if took := time.Since(began); took > long {
		tb.Logf("waited %.1f s until: %s", took.Seconds(), what)
	}
}
