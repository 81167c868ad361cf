// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/telemetry/telemetrytest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// tracedReceiver is a webhook receiver that keeps the traceparent of every request, and
// refuses them while it fails.
type tracedReceiver struct {
	*httptest.Server
	failing atomic.Bool

	mu      sync.Mutex
	parents []string
}

func newTracedReceiver(t *testing.T) *tracedReceiver {
	t.Helper()
	r := &tracedReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.parents = append(r.parents, req.Header.Get("Traceparent"))
		r.mu.Unlock()
		if r.failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *tracedReceiver) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.parents...)
}

// tracedIncident is what the API says of an incident and of its attempts.
type tracedIncident struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	TraceID string `json:"trace_id"`
}

func attemptTraces(c client, incident string) (traces []string) {
	var deliveries []struct {
		ID string `json:"id"`
	}
	c.into(&deliveries, http.MethodGet, "/v1/deliveries?incident_id="+incident, nil)
	for _, delivery := range deliveries {
		var attempts []struct {
			TraceID string `json:"trace_id"`
		}
		c.into(&attempts, http.MethodGet, "/v1/deliveries/"+delivery.ID+"/attempts", nil)
		for _, attempt := range attempts {
			traces = append(traces, attempt.TraceID)
		}
	}
	return traces
}

// TestOneTraceOfAnIncident lets an incident open while its receiver fails, kills the platform
// with SIGKILL, lets the receiver and the service recover, and follows the trace of the
// incident through the API, the log, the header of the webhook and what was exported. The
// endpoint of the export hangs at first.
func TestOneTraceOfAnIncident(t *testing.T) {
	timingtest.Parallel(t)
	otlp, hook, site := telemetrytest.Start(t), newTracedReceiver(t), newSwitchable(t)
	hook.failing.Store(true)
	otlp.Hang(true)
	dir := dataDir(t)
	env := []string{
		"DATABASE_URL=" + database(t), "VIGIL_REGIONS=eu-central-fra", "VIGIL_OTLP_ENDPOINT=" + otlp.URL, "VIGIL_OTLP_INTERVAL=1s",
		"VIGIL_OTLP_HEADERS=authorization=Bearer%20hunter2", fastSchedule,
	}
	p := up(t, dir, env...)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	var channel, made struct {
		ID string `json:"id"`
	}
	c.into(&channel, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "hook", "type": "webhook", "config": map[string]any{"url": hook.URL, "traceparent": true},
	})
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("traced", site.URL, 1, "eu-central-fra"))
	c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
		"name": "down", "condition": map[string]any{"failure_threshold": 2},
		"notification_channel_ids": []string{channel.ID}, "notify_on": "both",
	})
	site.broken.Store(true)
	var list []tracedIncident
	eventually(t, "an incident is open and an attempt has failed", func() bool {
		c.into(&list, http.MethodGet, "/v1/incidents", nil)
		return len(list) == 1 && len(hook.seen()) > 0
	})
	first := list[0]
	// The line is written after the commit, which the API may show first.
	for _, line := range []string{"the firing rules of a region changed", "open incident"} {
		eventually(t, "the log says: "+line, func() bool { return hasLine(p.stderr.String(), line, "trace_id="+first.TraceID) })
	}
	if strings.Contains(p.stderr.String(), "hunter2") {
		t.Error("the log has the credential of the export")
	}
	otlp.Hang(false)
	// A killed process exports nothing more, so each of its steps is waited for.
	for _, step := range []string{"turn", "report vote", "open incident"} {
		eventually(t, "exported: "+step, func() bool { return len(spansOf(otlp, first.TraceID, step)) > 0 })
	}
	p.kill()

	hook.failing.Store(false)
	p = up(t, dir, env...)
	c.url = p.ready.APIURL
	eventually(t, "the opening is delivered", func() bool { return hasLine(p.stderr.String(), "delivery attempt", "status=delivered") })
	site.broken.Store(false)
	eventually(t, "the incident is resolved and its recovery delivered", func() bool {
		c.into(&list, http.MethodGet, "/v1/incidents", nil)
		return list[0].Status == "resolved" && strings.Count(p.stderr.String(), "status=delivered") >= 2
	})
	if len(list) != 1 || list[0].TraceID != first.TraceID {
		t.Errorf("the incident has the trace %+v, it was %s", list, first.TraceID)
	}
	traces, parents := attemptTraces(c, first.ID), hook.seen()
	for _, trace := range traces {
		if trace != first.TraceID {
			t.Errorf("an attempt has the trace %s, the incident %s", trace, first.TraceID)
		}
	}
	for _, parent := range parents {
		if !strings.HasPrefix(parent, "00-"+first.TraceID+"-") {
			t.Errorf("a webhook has the traceparent %q, the incident the trace %s", parent, first.TraceID)
		}
	}
	eventually(t, "every step is exported", func() bool {
		for _, step := range []string{"turn", "report vote", "open incident", "resolve incident"} {
			if len(spansOf(otlp, first.TraceID, step)) == 0 {
				return false
			}
		}
		return len(spansOf(otlp, first.TraceID, "delivery attempt")) >= 2
	})
	turn, open := spansOf(otlp, first.TraceID, "turn")[0], spansOf(otlp, first.TraceID, "open incident")[0]
	if turn.Parent != "" || open.Parent != turn.ID || open.Attributes["vigil.incident_id"] != first.ID ||
		open.Attributes["temporal.workflow_id"] != "incident/"+made.ID || turn.Attributes["vigil.check_id"] != made.ID {
		t.Errorf("the turn is %+v, the opening %+v", turn, open)
	}
	for _, attempt := range spansOf(otlp, first.TraceID, "delivery attempt") {
		if attempt.Parent != open.ID {
			t.Errorf("an attempt is below %s, not below the opening %s", attempt.Parent, open.ID)
		}
	}
	eventually(t, "the check is exported as up", func() bool {
		up, ok := otlp.Gauge("vigil_check_up", "check", made.ID)
		return ok && up == 1
	})
	if _, ok := otlp.Gauge("vigil_build_info", "", ""); !ok {
		t.Error("the metrics of the process are not exported")
	}
	t.Logf("%d attempts, %d requests of the webhook and %d spans have the trace %s",
		len(traces), len(parents), len(spansOf(otlp, first.TraceID, "")), first.TraceID)
	otlp.Hang(true)
	figure(t, "how long a platform takes to stop whose endpoint hangs", p.stop(), 12*time.Second, 0)
}

// spansOf are the spans of a trace that have been received; an empty name selects all.
func spansOf(r *telemetrytest.Receiver, trace, name string) (found []telemetrytest.Span) {
	for _, span := range r.Spans() {
		if span.TraceID == trace && (name == "" || span.Name == name) {
			found = append(found, span)
		}
	}
	return found
}

// hasLine reports whether a line of a log contains both texts.
func hasLine(log, one, other string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, one) && strings.Contains(line, other) {
			return true
		}
	}
	return false
}
