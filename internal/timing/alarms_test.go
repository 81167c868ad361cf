// SPDX-License-Identifier: Apache-2.0

package timing_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TestAlarms compares alarms that are set, moved and stopped at random with what they must do: ring at the
// instant that they were set to last, once, and never when they were stopped.
func TestAlarms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var alarms timing.Alarms
		const many = 200
		random := rand.New(rand.NewPCG(1, 2))
		var due [many]time.Time // zero: it must not ring
		var rung atomic.Int64
		all := make([]*timing.Alarm, many)
		for i := range all {
			all[i] = alarms.NewAlarm(func() {
				if now := time.Now(); !now.Equal(due[i]) {
					t.Errorf("alarm %d rings at %v instead of %v", i, now, due[i])
				}
				due[i] = time.Time{}
				rung.Add(1)
			})
		}
		want := int64(0)
		for range 5000 {
			i := random.IntN(many)
			if !due[i].IsZero() {
				want-- // it is moved or stopped before it rings
			}
			if random.IntN(4) == 0 {
				all[i].Stop()
				due[i] = time.Time{}
			} else {
				wait := time.Duration(random.IntN(1000)) * time.Millisecond
				due[i] = time.Now().Add(wait)
				all[i].Set(wait)
				want++
			}
			time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond) // of the test's own clock
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := rung.Load(); got != want || got < 500 {
			t.Errorf("%d rang, want %d", got, want)
		}
	})
}

// TestAlarmOfThePast rings at once.
func TestAlarmOfThePast(t *testing.T) {
	t.Parallel()
	var alarms timing.Alarms
	rung := make(chan struct{}, 1)
	alarms.NewAlarm(func() { rung <- struct{}{} }).Set(-time.Hour)
	<-rung
}
