// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// TestFollowDrillWrites proves that a look at a drill writes its row when it finds something new, and once
// in 5 s otherwise: the sweep counts a drill without a trace for 30 s as lost.
func TestFollowDrillWrites(t *testing.T) {
	t.Parallel()
	r := stagedDrill(newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook))
	version := func() (xmin string) {
		r.Helper()
		if err := r.store.DB().NewRaw("SELECT xmin || ' ' || xmax FROM drills").Scan(r.Context(), &xmin); err != nil {
			r.Fatal(err)
		}
		return xmin
	}
	looks := func(n int, pause time.Duration) (writes int) {
		r.Helper()
		for range n {
			r.clock.Set(r.clock.Now().Add(pause))
			before := version()
			if step := r.follow(); step != drills.Wait {
				r.Fatalf("the step is %q", step)
			}
			if version() != before {
				writes++
			}
		}
		return writes
	}
	if n := looks(1, 0); n != 1 {
		t.Error("the start of the loop is not kept")
	}
	if n := looks(19, 250*time.Millisecond); n != 0 {
		t.Errorf("of 19 looks that find nothing new %d write", n)
	}
	if n := looks(80, 250*time.Millisecond); n < 3 || n > 5 {
		t.Errorf("in 20 s without anything new the row is written %d times, want one in 5 s", n)
	}
	r.silent(29 * time.Second)
	r.stalled("after 29 s", false, false)
	r.open()
	if n := looks(1, 0); n != 1 {
		t.Error("a result and a vote are not kept")
	}
	if n := looks(10, 250*time.Millisecond); n != 0 {
		t.Errorf("of 10 looks that find nothing new %d write", n)
	}
}
