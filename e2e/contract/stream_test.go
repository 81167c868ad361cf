// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
)

// stream is an open stream of server-sent events.
type stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	closes func()
}

// open opens a stream and returns when it is connected, so that it has all later events.
func (c caller) open(path, lastID string) *stream {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.credential)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := conforming(c.t).Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &stream{t: c.t, lines: bufio.NewScanner(res.Body), closes: func() {
		cancel()
		_ = res.Body.Close()
	}}
	c.t.Cleanup(s.closes)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		c.t.Fatalf("status %d, %s", res.StatusCode, kind)
	}
	return s
}

// frame reads frames until one contains all of the texts, and returns it.
func (s *stream) frame(holding ...string) string {
	s.t.Helper()
	defer s.closes()
	var frame strings.Builder
	for s.lines.Scan() {
		if s.lines.Text() != "" {
			frame.WriteString(s.lines.Text() + "\n")
			continue
		}
		found := true
		for _, text := range holding {
			found = found && strings.Contains(frame.String(), text)
		}
		if found {
			return frame.String()
		}
		frame.Reset()
	}
	s.t.Fatalf("no frame with %v: %v", holding, s.lines.Err())
	return ""
}

// idOf returns the id of a frame.
func idOf(frame string) string {
	for line := range strings.Lines(frame) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "id:"); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// TestStream tests section 4, Alert stream.
func TestStream(t *testing.T) {
	t.Parallel()
	service, hook := newTarget(t), newSink(t)
	c := newCaller(t)
	check := text(c.check(service.URL)["id"])
	c.rule("/v1/checks/"+check+"/alerts", []string{c.channel(hook.URL)})
	eventually(t, "the first result", func() bool {
		return c.want(http.StatusOK, "GET", "/v1/checks/"+check, nil).data()["health_status"] == "healthy"
	})

	live := c.open("/v1/stream/alerts", "")
	service.broken.Store(true)
	c.want(http.StatusOK, "POST", "/v1/checks/"+check+"/test", nil)
	triggered := live.frame("event: incident.triggered", check)
	if idOf(triggered) == "" {
		t.Fatalf("frame %q", triggered)
	}
	service.broken.Store(false)
	c.want(http.StatusOK, "POST", "/v1/checks/"+check+"/test", nil)

	// Last-Event-ID resumes after that event, since=0-0 replays the buffer.
	resolved := c.open("/v1/stream/alerts", idOf(triggered)).frame("event: incident.")
	if !strings.Contains(resolved, "event: incident.resolved") {
		t.Errorf("resumed with %q", resolved)
	}
	replayed := c.open("/v1/stream/alerts?since=0-0", "").frame("event: incident.")
	if idOf(replayed) != idOf(triggered) {
		t.Errorf("replay begins with %q", replayed)
	}
	c.want(http.StatusBadRequest, "GET", "/v1/stream/alerts?since=nonsense", nil)
	anonymous(t).want(http.StatusUnauthorized, "GET", "/v1/stream/alerts", nil)
}
