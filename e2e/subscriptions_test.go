// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// arrivals are the events that a webhook got, each once.
type arrivals struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]bool // by id
	list []string
}

func newArrivals(t *testing.T) *arrivals {
	t.Helper()
	a := &arrivals{seen: make(map[string]bool)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct{ ID, Type string }
		if json.NewDecoder(r.Body).Decode(&event) != nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.seen[event.ID] {
			a.seen[event.ID], a.list = true, append(a.list, event.Type)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// has waits until these events have arrived, in this order, and no others.
func (a *arrivals) has(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, "the events arrive", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.list) >= len(want)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.list, want) {
		t.Errorf("got %v, want %v", a.list, want)
	}
}

// TestSubscribedChannel follows an incident, and a check that is paused, at a channel that no rule
// names, and at one that a rule names as well.
func TestSubscribedChannel(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	site, only, both := newService(t), newArrivals(t), newArrivals(t)
	var watched check
	body := httpCheck("subscribed", site.URL+"/shop", 1, "eu-central-fra")
	body["labels"] = object{"team": "shop"}
	c.into(&watched, http.MethodPost, "/v1/checks", body)
	channel := func(name, url string) (id string) {
		var made struct{ ID string }
		c.into(&made, http.MethodPost, "/v1/notification-channels", object{"name": name, "type": "webhook", "config": object{"url": url}})
		return made.ID
	}
	subscribed, named := channel("only", only.URL), channel("both", both.URL)
	c.into(nil, http.MethodPost, "/v1/checks/"+watched.ID+"/alerts", object{
		"name": "down", "condition": object{"failure_threshold": 1}, "notification_channel_ids": []string{named}, "notify_on": "both",
	})
	for _, id := range []string{subscribed, named} {
		c.into(nil, http.MethodPost, "/v1/subscriptions", object{
			"name": "all of the shop", "channel_id": id, "events": []string{"*"}, "selector": object{"labels": []string{"team=shop"}},
		})
	}
	site.fail("/shop")
	only.has(t, "incident.triggered")
	var open []struct{ ID string }
	c.into(&open, http.MethodGet, "/v1/incidents?status=active", nil)
	if len(open) != 1 {
		t.Fatalf("%d incidents are open", len(open))
	}
	c.act(nil, open[0].ID, "acknowledge", nil)
	only.has(t, "incident.triggered", "incident.acknowledged")
	c.into(nil, http.MethodPost, "/v1/incidents/"+open[0].ID+"/updates", object{"text": "A fix is on its way.", "state": "identified"})
	only.has(t, "incident.triggered", "incident.acknowledged", "incident.updated")
	site.repair("/shop")
	all := []string{"incident.triggered", "incident.acknowledged", "incident.updated", "incident.resolved"}
	only.has(t, all...)
	c.into(nil, http.MethodPut, "/v1/checks/"+watched.ID, object{"enabled": false})
	only.has(t, append(all, "check.paused")...)
	both.has(t, append(all, "check.paused")...)
}
