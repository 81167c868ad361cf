// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// CreateOptions configure MeasureCreate.
type CreateOptions struct {
	Checks   int           // created as fast as the API answers
	Clients  int           // that create them, each one at a time
	Interval time.Duration // of every check
	Rate     int           // checks a second, afterwards, whose first results are timed
	Paced    time.Duration // for how long checks are created at Rate; 0: not at all
	Out      io.Writer     // where the report goes
}

// MeasureCreate creates checks through the API with several clients at once, and prints
// how many a second it answers, and when all loops have started and probed. Then it
// creates some at an even rate, and prints how soon each has its first result.
func MeasureCreate(ctx context.Context, o CreateOptions) error {
	return withCluster(ctx, defaults(), func(s *cluster) error {
		caller, err := s.serveAPI(ctx, AlertOptions{})
		if err != nil {
			return err
		}
		defer caller.api.stop()
		began := time.Now()
		answers, err := caller.createAll(ctx, s.url, o)
		if err != nil {
			return err
		}
		answered := time.Since(began)
		started, err := s.since(ctx, began, o.Checks, "SELECT count(*) FROM check_regions WHERE applied >= $1", 1)
		if err != nil {
			return err
		}
		probed, err := s.since(ctx, began, o.Checks, "SELECT count(*) FROM check_regions WHERE last_time >= $1", began)
		if err != nil {
			return err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d checks created by %d clients, interval %v, %d cores\n", o.Checks, o.Clients, o.Interval, runtime.NumCPU())
		fmt.Fprintf(&b, "  answered             %.0f /s; p50 %.1f ms, p99 %.1f ms\n", float64(o.Checks)/answered.Seconds(),
			milliseconds(percentile(answers, 50)), milliseconds(percentile(answers, 99)))
		fmt.Fprintf(&b, "  all loops started    %.1f s after the first request\n", started.Seconds())
		fmt.Fprintf(&b, "  all have a result    %.1f s after the first request\n", probed.Seconds())
		if err := s.paced(ctx, caller, o, &b); err != nil {
			return err
		}
		_, err = fmt.Fprintln(o.Out, b.String())
		return err
	})
}

// createAll creates the checks and returns how long each answer took, sorted.
func (c *apiCaller) createAll(ctx context.Context, target string, o CreateOptions) ([]time.Duration, error) {
	answers, failed := make([]time.Duration, o.Checks), make([]error, o.Clients)
	var next atomic.Int64
	var clients sync.WaitGroup
	for client := range o.Clients {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < o.Checks && failed[client] == nil; i = int(next.Add(1)) - 1 {
				began := time.Now()
				_, failed[client] = c.create(ctx, target, i, o.Interval)
				answers[i] = time.Since(began)
			}
		})
	}
	clients.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(answers)
	return answers, nil
}

// create creates a check and returns its id.
func (c *apiCaller) create(ctx context.Context, target string, i int, interval time.Duration) (string, error) {
	var check struct {
		ID string `json:"id"`
	}
	err := c.call(ctx, &check, http.MethodPost, "/v1/checks", map[string]any{
		"name": fmt.Sprintf("bench %d", i), "type": "http", "interval_seconds": int(interval.Seconds()),
		"regions": []string{region}, "config": map[string]any{"url": target},
	})
	return check.ID, err
}

// paced creates checks at an even rate and reports how soon each has its first result.
func (s *cluster) paced(ctx context.Context, caller *apiCaller, o CreateOptions, report io.Writer) error {
	n := int(o.Paced.Seconds() * float64(o.Rate))
	if n == 0 {
		return nil
	}
	began, created := time.Now(), make([]string, n)
	failed := make([]error, n)
	var requests sync.WaitGroup
	for i := range n {
		if err := timing.Sleep(ctx, time.Until(began.Add(time.Duration(i)*time.Second/time.Duration(o.Rate)))); err != nil {
			return err
		}
		requests.Go(func() { created[i], failed[i] = caller.create(ctx, s.url, o.Checks+i, o.Interval) })
	}
	requests.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	const probed = "SELECT count(*) FROM check_regions WHERE last_time >= start_at AND check_id = ANY($1::uuid[])"
	if _, err := s.since(ctx, began, n, probed, created); err != nil {
		return err
	}
	var p50, p99, worst float64
	err := s.db.QueryRowContext(ctx, `
		SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), max(ms)
		FROM (SELECT 1000 * extract(epoch FROM min(r.time + r.response_time_ms * interval '1 ms') - c.created_at) AS ms
			FROM results AS r JOIN checks AS c ON c.id = r.check_id WHERE c.id = ANY($1::uuid[]) GROUP BY c.id, c.created_at) AS firsts`,
		created).Scan(&p50, &p99, &worst)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(report, "  first result         at %d creations a second: p50 %.0f ms, p99 %.0f ms, worst %.0f ms\n",
		o.Rate, p50, p99, worst)
	return err
}

// percentile is the p-th percentile of sorted durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
