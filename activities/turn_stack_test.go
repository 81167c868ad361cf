// SPDX-License-Identifier: Apache-2.0

//go:build !race

package activities_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/synctest"

	"github.com/vigil-monitor/vigil"
)

// TestStackOfAWaitingTurn holds that a turn that probes takes a stack of 4 KiB and no more while it waits: of tens of
// thousands nearly all wait, and the collector takes away what is not a quarter in use. A turn of a heartbeat keeps more, see
// arrivalStack.
func TestStackOfAWaitingTurn(t *testing.T) { //nolint:paralleltest // measures the process
	const turns, most = 400, 5 << 10
	synctest.Test(t, func(t *testing.T) {
		a := newApart(t)
		a.renew(1)
		before := stacks()
		for range turns {
			def := a.define(nil)
			turn := a.end(def, turnOf(def, vigil.State{}), plain)
			turn.Span = 4
			a.start(turn, plain)
		}
		synctest.Wait()
		if each := (stacks() - before) / turns; each > most {
			t.Errorf("a turn that waits has a stack of %d bytes, want %d at most", each, most)
		} else {
			t.Logf("a turn that waits has a stack of %d bytes", each)
		}
	})
}

// stacks returns the bytes of all stacks after the collector has made them small.
func stacks() int64 {
	for range 4 { // a stack gets half as large each time
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
