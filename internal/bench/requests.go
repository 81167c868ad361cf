// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// RequestOptions configure MeasureRequests.
type RequestOptions struct {
	Loops    int           // goroutines that request
	Interval time.Duration // between the requests of one of them
	Settle   time.Duration // how long they request before the measurement
	Measure  time.Duration // how long
	Out      io.Writer     // where the report goes
}

// MeasureRequests prints what requests themselves cost: goroutines that wait for their time and
// request the HTTP target over a connection of their own, in a process that does nothing else. It
// is the least that a probe with Go's client can cost at that rate.
func MeasureRequests(ctx context.Context, o RequestOptions) error {
	target, url, err := startTarget(ctx)
	if err != nil {
		return err
	}
	defer target.stop()
	var ready struct{}
	// One processor takes less CPU time than several with little to do, as it does in Vigil.
	requester, err := spawn(ctx, "requester", []string{"GOMAXPROCS=1"}, &ready, "bench", "requester",
		"--loops", strconv.Itoa(o.Loops), "--interval", o.Interval.String(), "--url", url)
	if err != nil {
		return err
	}
	defer requester.stop()
	at(ctx, "requesting for %s before the measurement", o.Settle)
	if err := timing.Sleep(ctx, o.Settle); err != nil {
		return err
	}
	before, after, took, err := readTwice(ctx, o.Measure, func() (requestCosts, error) { return readRequestCosts(requester, target) })
	if err != nil {
		return err
	}
	requests := float64(o.Loops) * took.Seconds() / o.Interval.Seconds()
	each := 1000 * (after.requester - before.requester).Seconds() / requests
	yardstick := 1000 * (after.target - before.target).Seconds() / requests
	_, err = fmt.Fprintf(o.Out, `%d goroutines that request, interval %v, %d cores, measured for %v
  CPU a request        %.2f ms = %.1f times the target's %.2f
`, o.Loops, o.Interval, runtime.NumCPU(), took.Round(time.Second), each, each/max(yardstick, 0.001), yardstick)
	return err
}

// requestCosts are the CPU times that both sides have used so far.
type requestCosts struct{ requester, target time.Duration }

func readRequestCosts(requester, target *part) (requestCosts, error) {
	one, err := usageOf(requester.pid(), false)
	if err != nil {
		return requestCosts{}, err
	}
	other, err := usageOf(target.pid(), false)
	return requestCosts{one.cpu, other.cpu}, err
}

// RequesterOptions configure Requester.
type RequesterOptions struct {
	URL      string
	Loops    int
	Interval time.Duration
	Out      io.Writer // gets a line of JSON once the goroutines run
}

// Requester requests for MeasureRequests until ctx ends, or until a request fails.
func Requester(ctx context.Context, o RequesterOptions) error {
	began := time.Now()
	loops, requesting := errgroup.WithContext(ctx)
	for i := range o.Loops {
		next := began.Add(time.Duration(i) * o.Interval / time.Duration(o.Loops))
		loops.Go(func() error {
			for {
				if err := requestAt(requesting, o.URL, next); err != nil {
					return err
				}
				next = next.Add(o.Interval)
			}
		})
	}
	if err := json.NewEncoder(o.Out).Encode(struct{}{}); err != nil {
		return err
	}
	if err := loops.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}
