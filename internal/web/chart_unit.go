// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"math"
	"strconv"

	"github.com/vigil-monitor/vigil/client"
)

// unit is what the values of a chart are in.
type unit string

const (
	inMS   unit = "ms"
	inMbps unit = "Mbit/s"
)

// kindThroughput is the type of checks whose figure is a rate.
const kindThroughput = "throughput"

// rated reports whether a series has rates. Whole hours keep response times alone.
func rated(series *client.Series) bool {
	for i := range series.Regions {
		if series.Regions[i].Mbps == nil {
			return false
		}
	}
	return len(series.Regions) > 0
}

// text writes a value without its unit.
func (u unit) text(value float64) string {
	if u == inMS {
		return millis(value)
	}
	return strconv.FormatFloat(threeDigits(value), 'f', -1, 64)
}

// slower orders levels of lines, the slowest first and those without a value last.
func (u unit) slower(a, b float64) int {
	if u == inMbps && a > 0 && b > 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// threeDigits rounds a value to three digits, and one above 10,000 to tens: hundredths of a second.
func threeDigits(value float64) float64 {
	step := math.Pow10(min(1, int(math.Floor(math.Log10(max(value, 0.001))))-2))
	return math.Round(math.Round(value/step)*step*1e5) / 1e5
}

// drawn are the values of a line as they are drawn, and read at the crosshair.
func drawn(values []*float64) []*float64 {
	out := make([]*float64, len(values))
	for i, value := range values {
		if value != nil {
			out[i] = new(threeDigits(*value))
		}
	}
	return out
}
