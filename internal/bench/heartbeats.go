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

// goalHeartbeats is the share of two cores that 10,000 heartbeats at 60 s may take.
const goalHeartbeats = 0.03

// HeartbeatOptions configure MeasureHeartbeats.
type HeartbeatOptions struct {
	Heartbeats int
	Interval   time.Duration // of every heartbeat
	Settle     time.Duration // how long they ping before the measurement, while turns grow
	Measure    time.Duration // how long CPU time is counted
	Out        io.Writer     // where the report goes
}

// MeasureHeartbeats starts the whole platform as `vigil up` does, has jobs ping heartbeats in even intervals, each time by a
// connection of its own as curl makes one, and prints what that costs: the CPU time of all processes of the platform, and
// not that of the jobs. It needs Linux.
func MeasureHeartbeats(ctx context.Context, o HeartbeatOptions) error {
	return withDir(func(dir string) error { return measureHeartbeats(ctx, o, dir) })
}

func measureHeartbeats(ctx context.Context, o HeartbeatOptions, dir string) error {
	at(ctx, "starting vigil up")
	var ready struct {
		URL string `json:"api_url"`
		Key string `json:"api_key"`
	}
	up, err := spawn(ctx, "vigil", []string{
		"DATABASE_URL=", "TEMPORAL_ADDRESS=", "VIGIL_DATA_DIR=" + dir, "VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0",
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_CANARIES=", "VIGIL_LOG_LEVEL=warn", "VIGIL_SIGNUP_TIER=enterprise",
	}, &ready, "up", "--json")
	if err != nil {
		return err
	}
	defer up.stop()
	jobs := newJobs(&apiCaller{url: ready.URL, key: ready.Key}, o)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	if err := jobs.create(ctx, &running); err != nil {
		return err
	}
	at(ctx, "settling for %s", o.Settle)
	if err := timing.Sleep(ctx, o.Settle); err != nil {
		return err
	}
	jobs.answers.reset()
	before, after, took, err := readTwice(ctx, o.Measure, func() (map[string]kind, error) { return kindsOf(up.pid()) })
	if err != nil {
		return err
	}
	answered, refused := jobs.answers.reset()
	down, err := jobs.down(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "vigil up with %d heartbeats, a ping each %v, %d cores, after %v, measured for %v\n",
		o.Heartbeats, o.Interval, runtime.NumCPU(), o.Settle, took.Round(time.Second))
	total := printKinds(&b, before, after, took)
	share := total.cpu.Seconds() / took.Seconds() / 2
	fmt.Fprintf(
		&b,
		"  pings           %d answered, %.1f of %.1f a second, %d not; p50 %s, p99 %s\n",
		len(answered),
		float64(
			len(answered),
		)/took.Seconds(),
		float64(o.Heartbeats)/o.Interval.Seconds(),
		refused,
		percentile(answered, 50).Round(10*time.Microsecond),
		percentile(answered, 99).Round(10*time.Microsecond),
	)
	fmt.Fprintf(&b, "  down            %d heartbeats\n", down)
	fmt.Fprintf(
		&b,
		"  CPU             %.1f %% of two cores (goal %.0f %% for 10,000 at 60 s), %.2f ms a ping\n\n",
		100*share,
		100*goalHeartbeats,
		1000*total.cpu.Seconds()/max(float64(len(answered)), 1),
	)
	_, err = io.WriteString(o.Out, b.String())
	return err
}

// pingAnswers are how long pings took, and how many were not answered with 200.
type pingAnswers struct {
	mu      sync.Mutex
	took    []time.Duration
	refused int
}

func (a *pingAnswers) add(took time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		a.took = append(a.took, took)
		return
	}
	a.refused++
}

// reset returns what there was since the last reset, sorted.
func (a *pingAnswers) reset() (took []time.Duration, refused int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	took, refused = a.took, a.refused
	a.took, a.refused = nil, 0
	slices.Sort(took)
	return took, refused
}

// jobs ping heartbeats.
type jobs struct {
	HeartbeatOptions

	api     *apiCaller
	http    http.Client
	answers pingAnswers
}

func newJobs(api *apiCaller, o HeartbeatOptions) *jobs {
	return &jobs{
		HeartbeatOptions: o, api: api, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
	}
}

// create creates the heartbeats, whose jobs ping from then on: evenly over the interval.
func (j *jobs) create(ctx context.Context, running *sync.WaitGroup) error {
	const clients = 4
	var next atomic.Int64
	failed := make(chan error, clients)
	for range clients {
		go func() {
			for i := int(next.Add(1)) - 1; i < j.Heartbeats; i = int(next.Add(1)) - 1 {
				at(ctx, "creating heartbeats, %d of %d", i+1, j.Heartbeats)
				var made struct {
					URL string `json:"ping_url"`
				}
				err := j.api.call(ctx, &made, http.MethodPost, "/v1/checks", map[string]any{
					"name": fmt.Sprintf("bench %d", i), "type": "heartbeat",
					"config": map[string]any{"schedule": map[string]any{"every_seconds": int(j.Interval.Seconds())}},
				})
				if err != nil {
					failed <- err
					return
				}
				running.Go(func() { j.run(ctx, made.URL, time.Duration(i)*j.Interval/time.Duration(j.Heartbeats)) })
			}
			failed <- nil
		}()
	}
	for range clients {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// run pings once at its phase of each interval.
func (j *jobs) run(ctx context.Context, address string, phase time.Duration) {
	for due := time.Now().Truncate(j.Interval).Add(phase); ; due = due.Add(j.Interval) {
		if time.Since(due) > 0 {
			continue
		}
		if timing.Sleep(ctx, time.Until(due)) != nil {
			return
		}
		began := time.Now()
		ok := j.ping(ctx, address)
		if ctx.Err() != nil {
			return
		}
		j.answers.add(time.Since(began), ok)
	}
}

func (j *jobs) ping(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	response, err := j.http.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode == http.StatusOK
}

// down counts the heartbeats that are not healthy.
func (j *jobs) down(ctx context.Context) (n int, err error) {
	for _, health := range []string{"unhealthy", "unknown"} {
		var list []struct{}
		if err := j.api.call(ctx, &list, http.MethodGet, "/v1/checks?limit=100&health="+health, nil); err != nil {
			return n, err
		}
		n += len(list)
	}
	return n, nil
}
