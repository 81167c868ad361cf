// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// BenchmarkResultWriter stores results of 1,000 loops from 500 goroutines through one
// writer, on a server with the default settings of Postgres, fsync included. It reports
// rows per second of wall-clock time, and what a row costs Postgres; test and server share the machine.
func BenchmarkResultWriter(b *testing.B) {
	for name, delay := range map[string]time.Duration{"Local": 0, "OneRoundTripIs5ms": 5 * time.Millisecond} {
		b.Run(name, func(b *testing.B) { benchmarkResultWriter(b, delay) })
	}
}

func benchmarkResultWriter(b *testing.B, delay time.Duration) {
	b.Helper()
	cluster := storagetest.StartCluster(b)
	dsn := cluster.DSN("postgres")
	if delay > 0 {
		_, dsn = newLink(b, dsn, delay)
	}
	clk := timingtest.NewClock(epoch())
	s := storagetest.Open(b, dsn, func(o *storage.Options) { o.Now = clk.Now })
	if _, err := s.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := s.EnsurePartitions(b.Context(), epoch()); err != nil {
		b.Fatal(err)
	}
	org, _ := newOrg(b, s)
	const loops, callers = 1000, 500
	checks, slots := make([]vigil.Check, loops), make([][]time.Time, loops)
	for i := range checks {
		checks[i] = newCheck(b, s, draft(org.ID, newark))
		schedule := checks[i].Schedule(newark, epoch())
		for slot := schedule.First(); len(slots[i]) <= b.N/loops; slot = schedule.Next(slot) {
			slots[i] = append(slots[i], slot)
		}
	}
	w := newWriter(b, s, storage.WriterOptions{Delay: 20 * time.Millisecond})
	rows := make(chan int, callers)
	var wg sync.WaitGroup
	before := cluster.CPU(b)
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for i := range rows {
				c := checks[i%loops]
				r := ok(c, newark, slots[i%loops][i/loops])
				r.ResponseTime = time.Duration(5+i*7919%90) * time.Millisecond
				r.Metadata = map[string]any{
					"timings": map[string]any{"dns_ms": 1.5, "connect_ms": 3.25, "tls_ms": 12.5, "ttfb_ms": 40.0, "transfer_ms": 2.0},
					"ip":      "192.0.2.7", "protocol": "HTTP/1.1",
				}
				if _, err := w.Write(b.Context(), vigil.ResultRow{Result: r, Worker: "bench", Deadline: 10 * time.Second}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range b.N {
		rows <- i
	}
	close(rows)
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cluster.CPU(b)-before).Microseconds())/float64(b.N), "postgres-µs/row")
	if n := count(b, s, "SELECT count(*) FROM results"); n != int64(b.N) {
		b.Errorf("%d rows stored of %d", n, b.N)
	}
	if n := count(b, s, "SELECT count(*) FROM result_gaps"); n != 0 {
		b.Logf("%d gaps, since rows came out of order", n)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
