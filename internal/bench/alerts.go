// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// AlertOptions configure MeasureAlerts.
type AlertOptions struct {
	Checks      int           // that fail at once and recover, each with a rule
	Interval    time.Duration // of every check
	Subscribers int           // of the alert stream
	Out         io.Writer     // where the report goes
}

// MeasureAlerts makes a checked service fail and recover, and prints how soon a webhook
// receiver and the subscribers of the alert stream receive the events. The service,
// the receiver and the subscribers run in this process, the platform in others.
func MeasureAlerts(ctx context.Context, o AlertOptions) error {
	return withAlerts(ctx, o, func(s *cluster, scenario *alertScenario, caller *apiCaller) error {
		received := &subscribers{}
		if err := received.open(ctx, caller, o.Subscribers); err != nil {
			return err
		}
		scenario.broken.Store(true)
		if err := s.awaitDelivered(ctx, o.Checks); err != nil {
			return err
		}
		scenario.broken.Store(false)
		if err := s.awaitDelivered(ctx, 2*o.Checks); err != nil {
			return err
		}
		if err := received.await(ctx, int64(2*o.Checks*o.Subscribers)); err != nil {
			return err
		}
		return s.reportAlerts(ctx, o, received)
	})
}

// alertScenario is a service that can fail, and the receiver of its alerts.
type alertScenario struct {
	broken   atomic.Bool
	server   *http.Server
	listener net.Listener
}

func (a *alertScenario) start(ctx context.Context) error {
	var config net.ListenConfig
	var err error
	if a.listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/service", func(w http.ResponseWriter, _ *http.Request) {
		if a.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("/hook", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = a.server.Serve(a.listener) }()
	return nil
}

func (a *alertScenario) stop() { _ = a.server.Close() }

func (a *alertScenario) url(path string) string { return "http://" + a.listener.Addr().String() + path }

// apiCaller is a client of the API.
type apiCaller struct {
	api *part
	url string
	key string
}

// serveAPI starts the API and creates an account.
func (s *cluster) serveAPI(ctx context.Context, o AlertOptions) (*apiCaller, error) {
	var config net.ListenConfig
	free, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	c := &apiCaller{url: "http://" + address}
	env := append([]string{
		"VIGIL_LISTEN=" + address, "VIGIL_SIGNUP_TIER=enterprise",
		fmt.Sprintf("VIGIL_STREAMS_PER_KEY=%d", o.Subscribers+1), fmt.Sprintf("VIGIL_STREAMS_PER_ORGANIZATION=%d", o.Subscribers+1),
	}, s.env...)
	if c.api, err = spawn(ctx, "api", env, nil, "api"); err != nil {
		return nil, err
	}
	var account struct {
		APIKey string `json:"api_key"`
	}
	for range 100 {
		err = c.call(ctx, &account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "bench@vigil.test", "org_name": "bench"})
		if err == nil {
			c.key = account.APIKey
			return c, nil
		}
		if err := timing.Sleep(ctx, 100*time.Millisecond); err != nil {
			break
		}
	}
	c.api.stop()
	return nil, fmt.Errorf("the API did not become ready: %w", err)
}

func (c *apiCaller) call(ctx context.Context, out any, method, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer := struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}{Data: out}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return errors.New(answer.Error)
	}
	return nil
}

// prepare creates the channel, the checks and their rules.
func (c *apiCaller) prepare(ctx context.Context, scenario *alertScenario, o AlertOptions) error {
	var channel, check struct {
		ID string `json:"id"`
	}
	err := c.call(ctx, &channel, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "hook", "type": "webhook", "config": map[string]any{"url": scenario.url("/hook"), "secret": "bench"},
	})
	for i := 0; err == nil && i < o.Checks; i++ {
		err = c.call(ctx, &check, http.MethodPost, "/v1/checks", map[string]any{
			"name": fmt.Sprintf("bench %d", i), "type": "http", "interval_seconds": int(o.Interval.Seconds()),
			"regions": []string{region}, "config": map[string]any{"url": scenario.url("/service")},
		})
		if err == nil {
			err = c.call(ctx, nil, http.MethodPost, "/v1/checks/"+check.ID+"/alerts", map[string]any{
				"name": "down", "condition": map[string]any{"failure_threshold": 1}, "notify_on": "both",
				"notification_channel_ids": []string{channel.ID},
			})
		}
	}
	return err
}

// subscribers are all clients of the alert stream together.
type subscribers struct {
	events      atomic.Int64 // received
	first, last atomic.Int64 // unix nanoseconds
}

// open opens n streams and returns once all of them are open.
func (u *subscribers) open(ctx context.Context, c *apiCaller, n int) error {
	transport := &http.Transport{MaxConnsPerHost: 0}
	client := &http.Client{Transport: transport}
	var opening sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		opening.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/v1/stream/alerts", nil)
			if err != nil {
				failed <- err
				return
			}
			request.Header.Set("Authorization", "Bearer "+c.key)
			response, err := client.Do(request) //nolint:bodyclose // listen closes it
			if err != nil {
				failed <- err
				return
			}
			if response.StatusCode != http.StatusOK {
				failed <- fmt.Errorf("the stream answered %s", response.Status)
			}
			go u.listen(response)
		})
	}
	opening.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (u *subscribers) listen(response *http.Response) {
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 128<<10)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "event: incident.") {
			continue
		}
		now := time.Now().UnixNano()
		u.first.CompareAndSwap(0, now)
		u.last.Store(now)
		u.events.Add(1)
	}
}

func (u *subscribers) await(ctx context.Context, want int64) error {
	for u.events.Load() < want {
		if err := timing.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// awaitDelivered waits until that many deliveries were accepted.
func (s *cluster) awaitDelivered(ctx context.Context, want int) error {
	for {
		var delivered int
		if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE status = 'delivered'`).Scan(&delivered); err != nil {
			return err
		}
		if delivered >= want {
			return nil
		}
		at(ctx, "waiting for deliveries, %d of %d", delivered, want)
		if err := timing.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// reportAlerts prints the times, as Postgres has them. A failure is detected when its
// probe ends.
func (s *cluster) reportAlerts(ctx context.Context, o AlertOptions, received *subscribers) error {
	var p50, p99, worst, took float64
	var delivered int
	err := s.db.QueryRowContext(ctx, `
		WITH detected AS (
			SELECT r.check_id, min(r.time + r.response_time_ms * interval '1 ms') AS at
			FROM results AS r WHERE NOT r.success GROUP BY 1
		), alerted AS (
			SELECT 1000 * extract(epoch FROM a.started_at - w.at) AS ms
			FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id JOIN detected AS w ON w.check_id = d.check_id
			WHERE a.number = 1 AND d.event_type = 'incident.triggered'
		)
		SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), max(ms) FROM alerted`).
		Scan(&p50, &p99, &worst)
	if err != nil {
		return err
	}
	err = s.db.QueryRowContext(ctx, `
		SELECT count(*), extract(epoch FROM max(a.finished_at) - min(a.started_at))
		FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id WHERE d.event_type = 'incident.triggered'`).
		Scan(&delivered, &took)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(
		&b, "%d checks, interval %v, fail and recover at once; %d subscribers; %d cores\n", o.Checks, o.Interval, o.Subscribers,
		runtime.NumCPU(),
	)
	fmt.Fprintf(&b, "  detection to first attempt   p50 %.0f ms, p99 %.0f ms, worst %.0f ms\n", p50, p99, worst)
	fmt.Fprintf(
		&b, "  deliveries                   %d in %.1f s, as the failures were detected: %.0f /s\n", delivered, took, float64(delivered)/took,
	)
	all := time.Duration(received.last.Load() - received.first.Load())
	fmt.Fprintf(&b, "  stream                       %d events to %d subscribers: %d received in %.1f s, %.0f /s\n\n",
		2*o.Checks, o.Subscribers, received.events.Load(), all.Seconds(), float64(received.events.Load())/all.Seconds())
	_, err = io.WriteString(o.Out, b.String())
	return err
}
