// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"
	"time"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	// many creates checks at an even rate for some seconds and returns how many of the last
	// second were among many.
	many := func(b *burst, at time.Time, rate, seconds int) (n int) {
		for i := range rate * seconds {
			if b.add(at.Add(time.Duration(i)*time.Second/time.Duration(rate))) && i >= rate*(seconds-1) {
				n++
			}
		}
		return n
	}
	start := time.Now()
	b := &burst{}
	if n := many(b, start, 20, 5); n != 0 {
		t.Errorf("%d creations of 20 a second were too many", n)
	}
	start = start.Add(5 * time.Second)
	if n := many(b, start, 300, 2); n != 300 {
		t.Errorf("%d creations of 300 a second were too many, want all", n)
	}
	start = start.Add(3 * time.Second)
	if n := many(b, start, 20, 1); n != 0 {
		t.Errorf("%d creations of 20 a second were too many after a burst", n)
	}
}
