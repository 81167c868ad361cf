// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
)

// bounded is a store with one page of 20 checks, which has been read already: the benchmark is of readers.
type bounded struct {
	statuspage.Store
	page overview.StatusPage
}

func (b *bounded) StatusReport(context.Context, string, time.Time) (overview.StatusReport, error) {
	report := overview.StatusReport{Page: b.page, Checks: make(map[uuid.UUID]overview.ReportedCheck)}
	for _, id := range b.page.Checks() {
		report.Checks[id] = overview.ReportedCheck{
			Enabled: true,
			Regions: []overview.RegionHealth{{Region: newark, Health: "healthy", Probed: true}},
		}
	}
	return report, nil
}

func (b *bounded) StatusDays(
	_ context.Context, checks []uuid.UUID, from, to time.Time,
) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
	days := make(map[uuid.UUID]map[time.Time]overview.DayCount)
	for i, id := range checks {
		days[id] = make(map[time.Time]overview.DayCount)
		for at := from; at.Before(to); at = at.Add(24 * time.Hour) {
			days[id][at] = overview.DayCount{Total: 1440, Failed: int64((at.Day() + i) % 17 / 16), Hours: 24, SumMS: 144_000}
		}
	}
	return days, nil
}

// BenchmarkReaders serves a page of 20 checks to readers over HTTP on loopback, with server and readers on one core:
//
//	go test ./internal/statuspage -run '^$' -bench Readers -cpu 1
//
// readers/s is how many pages a second are read whole.
func BenchmarkReaders(b *testing.B) {
	store := &bounded{
		page: overview.StatusPage{ID: uuid.New(), Slug: "harbor", Title: "Harbor", Enabled: true, Groups: []overview.StatusGroup{{}}},
	}
	for i := range 20 {
		store.page.Groups[0].Checks = append(
			store.page.Groups[0].Checks,
			overview.PublicCheck{CheckID: uuid.New(), Name: fmt.Sprintf("Service %d", i)},
		)
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	server, err := statuspage.New(statuspage.Options{
		Store: store, PublicURL: "https://vigil.example.com", Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	listener := httptest.NewServer(server)
	b.Cleanup(listener.Close)
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			bytes := 0
			buffer := make([]byte, 1<<16)
			began := time.Now()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, listener.URL+"/status/harbor", http.NoBody)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Accept-Encoding", encoding)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				bytes = 0
				for n := 0; err == nil; bytes += n {
					n, err = res.Body.Read(buffer)
				}
				_ = res.Body.Close()
				if res.StatusCode != http.StatusOK || bytes == 0 {
					b.Fatalf("status %d, %d bytes", res.StatusCode, bytes)
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "readers/s")
			b.ReportMetric(float64(bytes), "bytes/page")
			b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
		})
	}
}
