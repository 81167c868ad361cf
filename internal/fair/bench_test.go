// SPDX-License-Identifier: Apache-2.0

package fair_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/fair"
)

func BenchmarkJoinLeave(b *testing.B) {
	q := fair.New(fair.DefaultLimits(4096))
	for i := range 8000 { // half of them wait
		q.Join(fair.Claim{Organization: fmt.Sprint(i % 50), Target: fmt.Sprint(i % 500), Slow: true})
	}
	for b.Loop() {
		p := q.Join(fair.Claim{Organization: "o", Target: "t"})
		<-p.Granted()
		p.Leave()
	}
}

// BenchmarkManyWait has claims of different targets that wait, as many as a restart leaves, until none does.
func BenchmarkManyWait(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				q := fair.New(limits(64, 64))
				var all sync.WaitGroup
				for i := range n {
					p := q.Join(fair.Claim{Organization: fmt.Sprint(i % 10), Target: fmt.Sprint(i)})
					all.Go(func() {
						<-p.Granted()
						p.Leave()
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/claim")
		})
	}
}
