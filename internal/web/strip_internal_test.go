// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"

	"github.com/vigil-monitor/vigil/client"
)

// BenchmarkStrips draws the strips of a page of the overview: a hundred of sixty bars.
func BenchmarkStrips(b *testing.B) {
	a, err := readAssets()
	if err != nil {
		b.Fatal(err)
	}
	templates, err := parseTemplates(a)
	if err != nil {
		b.Fatal(err)
	}
	s := &Server{templates: templates}
	sum := &client.CheckSummary{P95Ms: new(100.)}
	for i := range 60 {
		sum.Slots.Results = append(sum.Slots.Results, 1)
		sum.Slots.Failures = append(sum.Slots.Failures, int64(i%10/9))
		sum.Slots.ResponseTimeMs = append(sum.Slots.ResponseTimeMs, new(float64(i+40)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			if _, err := s.fill("checks", "strip", newStrip("c-strip", sum, 60, 90, "5 s")); err != nil {
				b.Fatal(err)
			}
		}
	}
}
