// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// streamEvent is what the test reads of an event of the alert stream.
type streamEvent struct {
	Type string `json:"type"`
	Data struct {
		Unobserved struct {
			ID      string     `json:"id"`
			Since   time.Time  `json:"since"`
			EndedAt *time.Time `json:"ended_at"`
			End     *string    `json:"end"`
		} `json:"unobserved"`
		Check   struct{ ID string } `json:"check"`
		Regions []string            `json:"regions"`
	} `json:"data"`
}

// streamReader keeps the events of one connection to the alert stream, from its beginning.
type streamReader struct {
	mu     sync.Mutex
	events []streamEvent
}

func readStream(t *testing.T, c client) *streamReader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/v1/stream/alerts?since=0-0", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %d", response.StatusCode)
	}
	s := &streamReader{}
	var reading sync.WaitGroup
	reading.Go(func() {
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 256<<10)
		for lines.Scan() {
			text, has := strings.CutPrefix(lines.Text(), "data: ")
			var event streamEvent
			if !has || json.Unmarshal([]byte(text), &event) != nil || event.Type == "" {
				continue
			}
			s.mu.Lock()
			s.events = append(s.events, event)
			s.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
		reading.Wait()
	})
	return s
}

// of returns the events of a type, in the order of the stream.
func (s *streamReader) of(kind string) []streamEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e streamEvent) bool { return e.Type != kind })
}

// types returns the types of all events, sorted.
func (s *streamReader) types() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var types []string
	for _, e := range s.events {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	return types
}

// watchedCheck is a check with a rule and a public page, of a platform with one worker.
type watchedCheck struct {
	t        *testing.T
	s        *cluster
	c        client
	id       string
	interval time.Duration
	receiver *receiver
}

// regionState is what the tests read of the state of a check in a region.
type regionState struct {
	State, Source string
	HealthStatus  string    `json:"health_status"`
	LastSlot      time.Time `json:"last_slot"`
	Missed        int
}

// newWatchedCheck leaves the cluster one worker, and makes a check of the URL. Its interval
// makes the 12 s after which it is unobserved three times the worst lateness of a slot that was
// seen beside a load of 35.
func newWatchedCheck(t *testing.T, s *cluster, url string) *watchedCheck {
	t.Helper()
	w := &watchedCheck{t: t, s: s, c: client{t: t, url: s.apiURL}, interval: 3 * time.Second, receiver: newReceiver(t, 0)}
	eventually(t, "the control process serves its metrics", s.control.servesMetrics)
	s.workers[1].stop()
	eventually(t, "the API answers", func() bool { _, err := w.c.try(http.MethodGet, "/health", nil); return err == nil })
	var account struct {
		APIKey string `json:"api_key"`
	}
	w.c.into(&account, http.MethodPost, "/v1/auth/quick-signup", object{"email": "watched@vigil.test", "org_name": "watched"})
	w.c.key = account.APIKey
	var channel struct{ ID string }
	w.c.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "receiver", "type": "webhook", "config": object{"url": w.receiver.URL, "secret": receiverSecret},
	})
	var made check
	w.c.into(&made, http.MethodPost, "/v1/checks", httpCheck("shop", url, int(w.interval.Seconds()), clusterRegion))
	w.id = made.ID
	w.c.into(nil, http.MethodPost, "/v1/checks/"+w.id+"/alerts", object{
		"name": "down", "condition": object{"failure_threshold": 2}, "notification_channel_ids": []string{channel.ID},
	})
	w.c.into(nil, http.MethodPost, "/v1/status-pages", object{"slug": "watched", "title": "Watched", "groups": []any{
		object{"name": "", "checks": []any{object{"check_id": w.id, "name": "Shop"}}},
	}})
	return w
}

// region returns the state of the check in its region.
func (w *watchedCheck) region() regionState {
	w.t.Helper()
	var rows []regionState
	w.c.into(&rows, http.MethodGet, "/v1/checks/"+w.id+"/regions", nil)
	if len(rows) != 1 {
		w.t.Fatalf("regions: %v, want one", rows)
	}
	return rows[0]
}

// shows waits until the API has the health, and the pages of the public have the words.
func (w *watchedCheck) shows(health, state, headline, badge string) {
	w.t.Helper()
	eventually(w.t, "the health is "+health, func() bool {
		var shown check
		w.c.into(&shown, http.MethodGet, "/v1/checks/"+w.id, nil)
		return shown.HealthStatus == health
	})
	eventually(w.t, "the list has it by its health "+health, func() bool {
		var list []check
		w.c.into(&list, http.MethodGet, "/v1/checks?health="+health, nil)
		return len(list) == 1 && list[0].ID == w.id && list[0].HealthStatus == health
	})
	eventually(w.t, "the region is "+state, func() bool {
		at := w.region()
		return at.State == state && at.HealthStatus == health
	})
	for path, want := range map[string]string{
		"/status/watched": "<h1>" + headline + "</h1>", "/badge/" + w.id + ".svg": "Shop: " + badge,
	} {
		eventuallyWithin(w.t, 2*waitLimit, path+" says "+want, func() bool { // a page is kept for 30 s
			status, text := fetch(w.t, w.s.apiURL+path)
			return status == http.StatusOK && strings.Contains(text, want)
		})
	}
}

// overdue is vigil_loops_overdue of the control process.
func (w *watchedCheck) overdue() float64 {
	w.t.Helper()
	return scrape(w.t, w.s.control).value("vigil_loops_overdue", "region", clusterRegion)
}

// missesToNow checks that what was due since the newest result counts as missed, without a
// worker that counts it. The newest two slots may still be within their deadlines.
func (w *watchedCheck) missesToNow() {
	w.t.Helper()
	for range 2 {
		asked := time.Now()
		at := w.region()
		due := int(asked.Sub(at.LastSlot) / w.interval)
		if at.Missed < due-2 || at.Source != "stored" {
			w.t.Errorf("missed is %d (%s) when %d slots were due since %v", at.Missed, at.Source, due, at.LastSlot)
		}
		eventually(w.t, "another slot is missed", func() bool { return w.region().Missed > at.Missed })
	}
}

// TestUnobserved kills the only worker of a region, and then its target fails without a probe
// that could find it: the health is unknown wherever it is shown, and the stream says so once. A
// new worker finds the failure.
func TestUnobserved(t *testing.T) {
	timingtest.Parallel(t)
	const path = "/shop"
	site := newService(t)
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", "VIGIL_METRICS_LISTEN=127.0.0.1:0", "VIGIL_LOG_LEVEL=info", fastSchedule)
	w := newWatchedCheck(t, s, site.URL+path)
	w.shows("healthy", "running", "Everything works", "working")
	stream := readStream(t, w.c)

	s.workers[0].kill()
	asked := site.hits(path)
	site.fail(path)
	w.shows("unknown", "unobserved", "No recent data", "no data")
	w.missesToNow()
	eventually(t, "the stream says it", func() bool { return len(stream.of("check.unobserved")) > 0 })
	eventually(t, "the metrics show the loop", func() bool { return w.overdue() == 1 })
	began := stream.of("check.unobserved")[0].Data
	if at := w.region(); began.Check.ID != w.id || !slices.Equal(began.Regions, []string{clusterRegion}) ||
		!began.Unobserved.Since.Equal(at.LastSlot) || began.Unobserved.EndedAt != nil {
		t.Errorf("check.unobserved has %+v, the newest result is of %v", began, at.LastSlot)
	}
	if more := site.hits(path) - asked; more > 0 {
		t.Errorf("%d probes without a worker", more)
	}

	s.startWorker(0)
	w.shows("unhealthy", "running", "Shop is failing", "failing")
	eventually(t, "the stream says that it is probed, and failing", func() bool {
		return len(stream.of("check.observed")) > 0 && len(stream.of("incident.triggered")) > 0
	})
	eventually(t, "the metrics show no loop", func() bool { return w.overdue() == 0 })
	ended := stream.of("check.observed")[0].Data.Unobserved
	if ended.ID != began.Unobserved.ID || ended.EndedAt == nil || ended.End == nil || *ended.End != "result" {
		t.Errorf("check.observed has %+v, of %+v", ended, began.Unobserved)
	}
	eventually(t, "the channel gets the incident", func() bool { return w.receiver.summarize().opened == 1 })
	asked = site.hits(path)
	eventually(t, "it is probed again and again", func() bool { return site.hits(path) >= asked+3 })
	var incidents []struct{ Status string }
	w.c.into(&incidents, http.MethodGet, "/v1/incidents", nil)
	if len(incidents) != 1 || incidents[0].Status != "active" {
		t.Errorf("incidents: %v, want one that is active", incidents)
	}
	if got, want := stream.types(), []string{"check.observed", "check.unobserved", "incident.triggered"}; !slices.Equal(got, want) {
		t.Errorf("the stream has %v, want %v", got, want)
	}
}
