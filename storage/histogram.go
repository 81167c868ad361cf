package storage

import (
	"maps"
	"math"
	"slices"
	"time"
)

// bucketRatio is the ratio between the borders of neighbouring buckets. A quantile
// read from the histogram lies within 2 % of the response time that it stands
// for: (spread-1)/(spread+1) = 0.02. A whole second has about 350 buckets below
// it, and an hour's results of a check rarely meet more than twenty.
const bucketRatio = 1.02 / 0.98

// histogram counts response times by bucket: bucket b holds those above
// spread^(b-1) and up to spread^b microseconds, bucket 0 all up to one.
type histogram map[int16]int64

// bucketOf returns the bucket of a response time.
func bucketOf(d time.Duration) int16 {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return int16(math.Ceil(math.Log(us)/math.Log(bucketRatio) - 1e-9)) // a border belongs to the bucket below
}

// bucketMS is the response time, in milliseconds, that stands for a bucket: the
// one whose relative distance to both borders is the same.
func bucketMS(bucket int16) float64 {
	if bucket <= 0 {
		return 0.001
	}
	return 2 * math.Pow(bucketRatio, float64(bucket)) / (bucketRatio + 1) / 1000
}

func histogramOf(buckets []int16, counts []int32) histogram {
	h := make(histogram, len(buckets))
	for i := range min(len(buckets), len(counts)) {
		h[buckets[i]] += int64(counts[i])
	}
	return h
}

// columns returns the histogram as two arrays, ordered by bucket.
func (h histogram) columns() (buckets []int16, counts []int32) {
	buckets = slices.Sorted(maps.Keys(h))
	counts = make([]int32, len(buckets))
	for i, b := range buckets {
		counts[i] = int32(min(h[b], math.MaxInt32)) //nolint:gosec // bounded
	}
	return buckets, counts
}

// quantiles returns, in milliseconds, the response times at these shares of the
// results in order (the nearest rank); zeros for an empty histogram.
func (h histogram) quantiles(shares ...float64) []float64 {
	found := make([]float64, len(shares))
	var total int64
	for _, n := range h {
		total += n
	}
	if total == 0 {
		return found
	}
	order := slices.Sorted(maps.Keys(h))
	for i, share := range shares {
		rank, passed := max(1, int64(math.Ceil(share*float64(total)))), int64(0)
		for _, b := range order {
			if passed += h[b]; passed >= rank {
				found[i] = bucketMS(b)
				break
			}
		}
	}
	return found
}
