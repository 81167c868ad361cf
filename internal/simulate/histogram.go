// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"time"
)

// histogram counts durations in buckets, each a 50th wider than the one before, from 10 µs on.
type histogram struct {
	buckets [1024]int64
	count   int64
	longest time.Duration
}

const (
	leastBucket = 10 * time.Microsecond
	growth      = 1.02
)

//nolint:gochecknoglobals // a constant that the language has no constant for
var logGrowth = math.Log(growth)

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > leastBucket {
		i = min(len(h.buckets)-1, 1+int(math.Log(float64(d)/float64(leastBucket))/logGrowth))
	}
	h.buckets[i]++
	h.count++
	h.longest = max(h.longest, d)
}

// at returns the duration that a part of them, 0 to 1, is not above.
func (h *histogram) at(part float64) time.Duration {
	left := int64(math.Ceil(part * float64(h.count)))
	for i, n := range h.buckets {
		if left -= n; left <= 0 && h.count > 0 {
			return min(h.longest, time.Duration(float64(leastBucket)*math.Pow(growth, float64(i))))
		}
	}
	return h.longest
}

func (h *histogram) quantiles() Quantiles {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return Quantiles{P50: ms(h.at(0.5)), P90: ms(h.at(0.9)), P99: ms(h.at(0.99)), Max: ms(h.longest)}
}
