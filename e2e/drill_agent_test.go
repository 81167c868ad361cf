// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// wire is a way to the platform that can be cut: connections are neither closed nor refused then, and those that
// were open are lost.
type wire struct {
	url string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newWire listens for an agent.
func newWire(t *testing.T, platform string) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + listener.Addr().String()}
	t.Cleanup(func() {
		_ = listener.Close()
		w.set(true)
	})
	to := strings.TrimPrefix(platform, "http://")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(conn, to)
		}
	}()
	return w
}

// carry joins a connection with one to the platform while the wire is whole.
func (w *wire) carry(conn net.Conn, to string) {
	w.mu.Lock()
	cut := w.cut
	if !cut {
		w.conns = append(w.conns, conn)
	}
	w.mu.Unlock()
	if cut {
		return // it is never answered
	}
	platform, err := net.Dial("tcp", to) //nolint:noctx // closed with the wire
	if err != nil {
		_ = conn.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, platform)
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(platform, conn)
		_ = platform.Close()
	}()
	_, _ = io.Copy(conn, platform)
	_ = conn.Close()
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

// TestAgentCutOff cuts an agent off. It goes on probing and sends everything when it is back: each slot has its result
// once, nothing opens for what is over, and what would have been is in the list of the check. The full form has
// 1,000 checks of 10 s and ten minutes.
func TestAgentCutOff(t *testing.T) {
	timingtest.Parallel(t)
	checks, seconds, outage := 10, 2, 75*time.Second
	if full() {
		checks, seconds, outage = 1000, 10, 10*time.Minute
	}
	p, c := shared(t)
	up, down := newTarget(t), newTarget(t)
	office := newPlace(c, "Office")
	var channel struct{ ID string }
	c.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "ops", "type": "webhook", "config": object{"url": "http://127.0.0.1:9/"},
	})
	ids := make([]string, checks)
	paths := make(map[string]string, checks) // of the target
	for i := range checks {
		site := up
		if i%2 == 1 {
			site = down
		}
		var made check
		body := httpCheck(fmt.Sprintf("check %d", i), fmt.Sprintf("%s/%d", site.URL, i), seconds, office.Key)
		body["config"] = object{"url": fmt.Sprintf("%s/%d", site.URL, i), "timeout_seconds": 1}
		c.into(&made, http.MethodPost, "/v1/checks", body)
		c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", object{
			"name": "down", "notify_on": "both", "condition": object{"failure_threshold": 2},
			"notification_channel_ids": []string{channel.ID},
		})
		ids[i], paths[made.ID] = made.ID, fmt.Sprintf("/%d", i)
	}
	line := newWire(t, p.ready.APIURL)
	agent := runAgent(t, line.url, office)
	figure := func(id string) (f struct {
		Total  int `json:"total_checks"`
		Missed int `json:"missed"`
	},
	) {
		c.into(&f, http.MethodGet, "/v1/checks/"+id+"/uptime?period=24h", nil)
		return f
	}
	eventually(t, "each check has results", func() bool {
		for _, id := range ids {
			if figure(id).Total < 2 {
				return false
			}
		}
		return true
	})
	line.set(true)
	cut := time.Now()
	rest := func(part time.Duration) { // what happens when is what the drill is about
		time.Sleep(time.Until(cut.Add(part))) // sleep: the line is cut
	}
	rest(outage / 10)
	down.broken.Store(true)
	rest(outage / 2)
	down.broken.Store(false)
	rest(outage)
	line.set(false)

	eventually(t, "the location is back", func() bool {
		var at place
		c.into(&at, http.MethodGet, "/v1/locations/"+office.ID, nil)
		return at.State == "online"
	})
	agentStops := func() {
		if _, err := agent.interrupt(); err != nil {
			t.Error(err)
		}
	}
	eventuallyWithin(t, waitLimit+outage, "the agent has sent what it could not send", func() bool {
		var at struct {
			Agents []struct {
				Spool struct{ Results int }
			}
		}
		c.into(&at, http.MethodGet, "/v1/locations/"+office.ID, nil)
		return len(at.Agents) == 1 && at.Agents[0].Spool.Results == 0
	})
	t.Logf("%d results waited for the line; all were sent %v after it was back",
		checks*int(outage.Seconds())/seconds, time.Since(cut.Add(outage)).Round(time.Second))
	agentStops()
	for i, id := range ids {
		site := up
		if i%2 == 1 {
			site = down
		}
		var f struct {
			Total, Missed int
		}
		eventuallyWithin(t, waitLimit+outage, "every probe is a result", func() bool {
			now := figure(id)
			f.Total, f.Missed = now.Total, now.Missed
			return f.Total >= site.count(paths[id])
		})
		if probed := site.count(paths[id]); f.Total != probed {
			t.Errorf("check %d: %d probes and %d results", i, probed, f.Total)
		}
	}
	var incidents []object
	c.into(&incidents, http.MethodGet, "/v1/incidents?limit=1000", nil)
	if len(incidents) != 0 {
		t.Errorf("%d incidents opened for what was over: %v", len(incidents), incidents[0])
	}
	eventuallyWithin(t, waitLimit+outage, "what would have been is listed", func() bool {
		for i, id := range ids {
			var found []object
			c.into(&found, http.MethodGet, "/v1/checks/"+id+"/late-incidents", nil)
			if len(found) != i%2 {
				return false
			}
		}
		return true
	})
}
