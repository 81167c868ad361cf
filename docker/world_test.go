// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// world is a network of containers, with a target and a receiver at its gateway.
type world struct {
	images
	network, subnet string
	url             string // of the target, at /target, and the receiver, at /hook

	failing, deaf atomic.Bool // the target answers 503; the receiver does
	mu            sync.Mutex
	events        map[string]string // event by webhook-id, of messages that the receiver took
}

// newWorld makes a network that ends with the test.
func newWorld(t *testing.T, made images) *world {
	t.Helper()
	w := &world{images: made, network: "vigil-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), events: map[string]string{}}
	w.run(t, "network", "create", w.network)
	t.Cleanup(func() { _, _ = w.try(context.WithoutCancel(t.Context()), nil, "network", "rm", w.network) })
	w.listen(t)
	return w
}

// listen serves the target and the receiver at the gateway of the network.
func (w *world) listen(t *testing.T) {
	t.Helper()
	at := strings.Fields(w.run(t, "network", "inspect", w.network, "--format", "{{range .IPAM.Config}}{{.Gateway}} {{.Subnet}}{{end}}"))
	listener, err := net.Listen("tcp", net.JoinHostPort(at[0], "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	w.subnet, w.url = at[1], server.URL
}

func (w *world) serve(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/target" {
		if w.failing.Load() {
			out.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	if w.deaf.Load() {
		out.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var message struct {
		Type string `json:"type"`
	}
	_ = json.NewDecoder(r.Body).Decode(&message)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events[r.Header.Get("webhook-id")] = message.Type
}

// got counts the messages of an event that the receiver took, each once.
func (w *world) got(event string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, one := range w.events {
		if one == event {
			n++
		}
	}
	return n
}

// api is the API of a platform in containers.
type api struct{ base, key string }

// call makes a request and decodes the member data of its answer.
func (a api) call(t *testing.T, method, path string, body, into any) error {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.base+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct {
		Data any `json:"data"`
	}{into})
}

// must is call for a request that must be answered well.
func (a api) must(t *testing.T, method, path string, body, into any) {
	t.Helper()
	if err := a.call(t, method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

// awaitReady waits until the platform answers /ready.
func (a api) awaitReady(t *testing.T) {
	t.Helper()
	await(t, "the platform is ready", func() bool { return a.call(t, http.MethodGet, "/ready", nil, nil) == nil })
}

// await waits for a condition of containers, which may start slowly beside other tests.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timingtest.Eventually(t, 3*time.Minute, what, holds)
}

type object = map[string]any

// watch makes a channel for the receiver and a check of the target with a rule, and returns its id.
func (w *world) watch(t *testing.T, a api, region string) string {
	t.Helper()
	var channel, check struct {
		ID string `json:"id"`
	}
	a.must(t, http.MethodPost, "/v1/notification-channels",
		object{"name": "receiver", "type": "webhook", "config": object{"url": w.url + "/hook"}}, &channel)
	a.must(t, http.MethodPost, "/v1/checks", object{
		"name": "target", "type": "http", "interval_seconds": 1, "regions": []string{region}, "config": object{"url": w.url + "/target"},
	}, &check)
	a.must(t, http.MethodPost, "/v1/checks/"+check.ID+"/alerts", object{
		"name": "down", "condition": object{"failure_threshold": 2}, "notification_channel_ids": []string{channel.ID}, "notify_on": "both",
	}, nil)
	return check.ID
}

// health is that of a check, empty where it cannot be read.
func (a api) health(t *testing.T, check string) string {
	t.Helper()
	var read struct {
		Health string `json:"health_status"`
	}
	_ = a.call(t, http.MethodGet, "/v1/checks/"+check, nil, &read)
	return read.Health
}

// incidents are how many a check has with a status, -1 where they cannot be read.
func (a api) incidents(t *testing.T, check, status string) int {
	t.Helper()
	var read []struct{}
	if a.call(t, http.MethodGet, "/v1/incidents?check_id="+check+"&status="+status, nil, &read) != nil {
		return -1
	}
	return len(read)
}
