// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// observedMessages are the messages about checks that are not probed, as a webhook and a pager got
// them. An attempt that is repeated has the event of the first, and counts once.
type observedMessages struct {
	*httptest.Server
	mu       sync.Mutex
	webhook  map[string][]string // by check: the events in the order in which they came, the ends with why
	seen     map[string]bool     // events
	pages    map[string][]string // by key: trigger, resolve
	unsigned int
}

func newObservedMessages(t *testing.T) *observedMessages {
	t.Helper()
	m := &observedMessages{webhook: map[string][]string{}, seen: map[string]bool{}, pages: map[string][]string{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.receive))
	t.Cleanup(m.Close)
	return m
}

func (m *observedMessages) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	if r.URL.Path == "/pager" {
		var page struct {
			Action string `json:"event_action"`
			Key    string `json:"dedup_key"`
		}
		_ = json.Unmarshal(body, &page) // an invalid body is a page without a key
		if !slices.Contains(m.pages[page.Key], page.Action) {
			m.pages[page.Key] = append(m.pages[page.Key], page.Action)
		}
		return
	}
	var event streamEvent
	_ = json.Unmarshal(body, &event)
	var id struct{ ID string }
	_ = json.Unmarshal(body, &id)
	if !signedBy(r, body) {
		m.unsigned++
	}
	if m.seen[id.ID] {
		return
	}
	m.seen[id.ID] = true
	kind := event.Type
	if event.Data.Unobserved.End != nil {
		kind += " " + *event.Data.Unobserved.End
	}
	m.webhook[event.Data.Check.ID] = append(m.webhook[event.Data.Check.ID], kind)
}

// of returns the messages about a check.
func (m *observedMessages) of(check string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.webhook[check], ", ")
}

// paged counts the alerts of the pager that were triggered, and those that were also resolved.
func (m *observedMessages) paged() (triggered, resolved int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, actions := range m.pages {
		if actions[0] == "trigger" {
			triggered++
		}
		if slices.Equal(actions, []string{"trigger", "resolve"}) {
			resolved++
		}
	}
	return triggered, resolved
}

// TestUnobservedChannels kills the only worker of a region: the channels of the rules that ask for it
// get one message for each check, and one of each way in which it ends, although the control process,
// which decides and delivers, is killed before and after each step.
func TestUnobservedChannels(t *testing.T) {
	timingtest.Parallel(t)
	site, messages := newService(t), newObservedMessages(t)
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", "VIGIL_METRICS_LISTEN=127.0.0.1:0", "VIGIL_LOG_LEVEL=info", fastSchedule)
	w := newWatchedCheck(t, s, site.URL+"/shop") // its rule does not ask
	var channels []string
	for kind, config := range map[string]object{
		"webhook": {"url": messages.URL + "/webhook", "secret": receiverSecret},
		"pager":   {"url": messages.URL + "/pager", "routing_key": "key-of-the-service"},
	} {
		var channel struct{ ID string }
		w.c.into(&channel, http.MethodPost, "/v1/notification-channels", object{"name": kind, "type": kind, "config": config})
		channels = append(channels, channel.ID)
	}
	checks, rules := map[string]string{}, map[string]string{}
	ends := []string{"result", "disabled", "deleted", "rule_changed", "rule deleted"}
	for _, end := range ends {
		var made check
		w.c.into(&made, http.MethodPost, "/v1/checks", httpCheck(end, site.URL+"/"+strings.ReplaceAll(end, " ", "-"), 3, clusterRegion))
		var rule struct{ ID, Unobserved string }
		w.c.into(&rule, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", object{
			"name": "down", "condition": object{"failure_threshold": 100}, "notification_channel_ids": channels, "unobserved": "notify",
		})
		checks[end], rules[end] = made.ID, rule.ID
	}
	eventually(t, "every check has a result", func() bool {
		return s.number("SELECT count(DISTINCT check_id) FROM results") == len(ends)+1
	})
	restart := func() {
		s.control.kill()
		s.startControl()
	}

	restart()
	s.workers[0].kill()
	all := func(want func(end string) string) func() bool {
		return func() bool {
			return !slices.ContainsFunc(ends, func(end string) bool { return messages.of(checks[end]) != want(end) })
		}
	}
	eventuallyWithin(t, 2*waitLimit, "each check has its beginning", all(func(string) string { return "check.unobserved" }))
	eventually(t, "the pager, too", func() bool { triggered, _ := messages.paged(); return triggered == len(ends) })
	var deliveries []struct {
		EventType    string  `json:"event_type"`
		IncidentID   *string `json:"incident_id"`
		UnobservedID *string `json:"unobserved_id"`
	}
	w.c.into(&deliveries, http.MethodGet, "/v1/deliveries?limit=100", nil)
	for _, d := range deliveries {
		if d.EventType != "check.unobserved" || d.IncidentID != nil || d.UnobservedID == nil {
			t.Errorf("the delivery %+v, want one without an incident", d)
		}
	}

	s.control.kill()
	w.c.into(nil, http.MethodPut, "/v1/checks/"+checks["disabled"], object{"enabled": false})
	w.c.into(nil, http.MethodDelete, "/v1/checks/"+checks["deleted"], nil)
	w.c.into(nil, http.MethodPut, "/v1/checks/"+checks["rule_changed"]+"/alerts/"+rules["rule_changed"], object{"unobserved": "ignore"})
	w.c.into(nil, http.MethodDelete, "/v1/checks/"+checks["rule deleted"]+"/alerts/"+rules["rule deleted"], nil)
	s.startControl()
	eventuallyWithin(t, 2*waitLimit, "the first end comes", func() bool { return messages.of(checks["deleted"]) != "check.unobserved" })
	restart()
	s.startWorker(0)
	eventuallyWithin(t, 2*waitLimit, "each check has its end", all(func(end string) string {
		return "check.unobserved, check.observed " + strings.ReplaceAll(end, "rule deleted", "rule_changed")
	}))
	eventually(t, "each alert of the pager is resolved", func() bool { _, resolved := messages.paged(); return resolved == len(ends) })
	if triggered, resolved := messages.paged(); triggered != len(ends) || resolved != len(ends) || messages.unsigned > 0 {
		t.Errorf("%d alerts, %d of them resolved, %d messages without a signature", triggered, resolved, messages.unsigned)
	}
	// The outcome of an attempt is stored after the receiver has the message.
	eventually(t, "no delivery is pending", func() bool {
		return s.number("SELECT count(*) FROM deliveries WHERE status = 'pending'") == 0
	})
	if n := s.number("SELECT count(*) FROM unobserved_channels") + s.number("SELECT count(*) FROM incidents"); n != 0 {
		t.Errorf("%d channels or incidents are open", n)
	}
	if got := messages.of(w.id); got != "" {
		t.Errorf("the channels of a rule that does not ask got %s", got)
	}
}
