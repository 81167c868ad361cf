// SPDX-License-Identifier: Apache-2.0

package results

import (
	"maps"
	"math"
	"slices"
	"time"
)

// bucketRatio is the upper border of a bucket divided by its lower border. It limits
// the error of a quantile to 2 %: (bucketRatio-1)/(bucketRatio+1) = 0.02. About 350
// buckets cover response times up to one second; the results of a check in one hour
// rarely need more than twenty.
const bucketRatio = 1.02 / 0.98

// Histogram counts response times by bucket: bucket b holds those in
// (bucketRatio^(b-1), bucketRatio^b] microseconds, and bucket 0 those up to 1 µs.
type Histogram map[int16]int64

// bucketOf returns the bucket of a response time.
func bucketOf(d time.Duration) int16 {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return int16(math.Ceil(math.Log(us)/math.Log(bucketRatio) - 1e-9)) // a border belongs to the bucket below
}

// bucketMS returns the response time in milliseconds that represents a bucket. Its
// relative distance to both borders is the same.
func bucketMS(bucket int16) float64 {
	if bucket <= 0 {
		return 0.001
	}
	return 2 * math.Pow(bucketRatio, float64(bucket)) / (bucketRatio + 1) / 1000
}

// HistogramOf returns the histogram of the two columns that hold it.
func HistogramOf(buckets []int16, counts []int32) Histogram {
	h := make(Histogram, len(buckets))
	for i := range min(len(buckets), len(counts)) {
		h[buckets[i]] += int64(counts[i])
	}
	return h
}

// columns returns the histogram as the arrays of its two columns, ordered by bucket.
func (h Histogram) columns() (buckets []int16, counts []int32) {
	buckets = slices.Sorted(maps.Keys(h))
	counts = make([]int32, len(buckets))
	for i, b := range buckets {
		counts[i] = int32(min(h[b], math.MaxInt32)) //nolint:gosec // bounded
	}
	return buckets, counts
}

// Quantiles returns the response times in milliseconds at these shares, in (0, 1], by
// the nearest-rank method. They are zero for an empty histogram.
func (h Histogram) Quantiles(shares ...float64) []float64 {
	values := make([]float64, len(shares))
	var total int64
	for _, n := range h {
		total += n
	}
	if total == 0 {
		return values
	}
	order := slices.Sorted(maps.Keys(h))
	for i, share := range shares {
		rank, seen := max(1, int64(math.Ceil(share*float64(total)))), int64(0)
		for _, b := range order {
			if seen += h[b]; seen >= rank {
				values[i] = bucketMS(b)
				break
			}
		}
	}
	return values
}
