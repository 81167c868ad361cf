// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TurnOptions configure MeasureTurns.
type TurnOptions struct {
	Loops    int           // workflows
	Interval time.Duration // of the activities of a workflow
	Measure  time.Duration // how long
	Out      io.Writer     // where the report goes
}

// MeasureTurns prints what Temporal itself costs: the least program that probes, without any
// of Vigil. Each workflow loops over one activity, which waits for its time and requests an
// HTTP target. So it is the least that a turn of Vigil can cost on the same Temporal server.
func MeasureTurns(ctx context.Context, o TurnOptions) error {
	return withDir(func(dir string) error {
		at(ctx, "starting Postgres and Temporal")
		s, err := startServers(ctx, dir, defaults())
		if s != nil {
			defer s.stop(context.WithoutCancel(ctx))
		}
		if err != nil {
			return err
		}
		return s.measureTurns(ctx, o)
	})
}

func (s *cluster) measureTurns(ctx context.Context, o TurnOptions) error {
	var ready struct{}
	var err error
	s.worker, err = spawn(ctx, "looper", s.env, &ready, "bench", "looper", "--loops", strconv.Itoa(o.Loops),
		"--interval", o.Interval.String(), "--url", s.url)
	if err != nil {
		return err
	}
	at(ctx, "waiting for the second turns")
	if err := timing.Sleep(ctx, 2*o.Interval); err != nil {
		return err
	}
	before, after, _, err := readTwice(ctx, o.Measure, func() (costs, error) { return s.costs(ctx) })
	if err != nil {
		return err
	}
	took := after.at.Sub(before.at)
	turns := float64(o.Loops) * took.Seconds() / o.Interval.Seconds()
	each := func(now, then usage) float64 { return 1000 * (now.cpu - then.cpu).Seconds() / turns }
	looper, server := each(after.vigil, before.vigil), each(after.temporal, before.temporal)
	postgres, target := each(after.pg, before.pg), each(after.aimed, before.aimed)
	all := looper + server + postgres
	_, err = fmt.Fprintf(o.Out, `%d workflows that loop over an activity, interval %v, %d cores, measured for %v
  CPU a turn           %.1f ms = looper %.1f + temporal %.1f + postgres %.1f = %.1f times the target's %.2f
  Temporal a turn      %.2f state transitions
  CPU of the machine   %.1f %%
`, o.Loops, o.Interval, runtime.NumCPU(), took.Round(time.Second), all, looper, server, postgres, all/max(target, 0.001), target,
		float64(after.written.transitions-before.written.transitions)/turns, all*turns/10/took.Seconds()/float64(runtime.NumCPU()))
	return err
}

// LooperOptions configure Looper.
type LooperOptions struct {
	Address, Namespace string      // of Temporal
	TLS                *tls.Config // of the connection to it; nil: none
	URL                string      // that activities request
	Loops              int
	Interval           time.Duration
	Out                io.Writer // gets a line of JSON once the workflows are started
}

// turnsOfARun is after how many turns a workflow continues as new, about as many as of Vigil.
const turnsOfARun = 100

// Looper runs the workflows of MeasureTurns until ctx ends.
func Looper(ctx context.Context, o LooperOptions) error {
	temporalClient, err := client.DialContext(ctx, client.Options{
		HostPort:          o.Address,
		Namespace:         o.Namespace,
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS},
		Logger:            log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporalClient.Close()
	const queue = "bench"
	w := worker.New(temporalClient, queue, worker.Options{})
	w.RegisterWorkflow(loopOverRequests)
	w.RegisterActivity(requestAt)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()
	began := time.Now().Add(o.Interval)
	for i := range o.Loops {
		first := began.Add(time.Duration(i) * o.Interval / time.Duration(o.Loops))
		_, err := temporalClient.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "loop/" + strconv.Itoa(i), TaskQueue: queue},
			loopOverRequests, requestLoop{o.URL, first, o.Interval})
		if err != nil {
			return fmt.Errorf("start a workflow: %w", err)
		}
	}
	if err := json.NewEncoder(o.Out).Encode(struct{}{}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// requestLoop is the state of one workflow.
type requestLoop struct {
	URL      string
	Next     time.Time // when the next activity requests
	Interval time.Duration
}

func loopOverRequests(ctx workflow.Context, loop requestLoop) error {
	bounded := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: loop.Interval + time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	for range turnsOfARun {
		if err := workflow.ExecuteActivity(bounded, requestAt, loop.URL, loop.Next).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("request failed", "error", err)
		}
		loop.Next = loop.Next.Add(loop.Interval)
	}
	return workflow.NewContinueAsNewError(ctx, loopOverRequests, loop)
}

// requestAt waits for an instant and requests a URL with a connection of its own, as a probe
// does.
func requestAt(ctx context.Context, url string, at time.Time) error {
	if err := timing.Sleep(ctx, time.Until(at)); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}
