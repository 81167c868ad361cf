package api_test

import (
	"testing"
	"time"
)

// eventually waits until a condition holds that other goroutines bring about.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if holds() {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it did not happen within 30 s")
		}
	}
}
