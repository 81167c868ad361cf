// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// fallen is what the receiver of a fallback has got.
type fallen struct {
	Type string
	Data struct {
		Check       struct{ Name string }
		Message     struct{ Body string }
		FallbackFor *struct {
			ChannelName string `json:"channel_name"`
			DeliveryID  string `json:"delivery_id"`
		} `json:"fallback_for"`
	}
}

// TestFallback holds that what a receiver never takes, and what one that is gone refuses, goes to
// the fallback of its channel with its end, once, and that the owner is mailed of each channel.
func TestFallback(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	answering := func(status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	var mu sync.Mutex
	var got []fallen
	last := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var one fallen
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, one)
	}))
	t.Cleanup(last.Close)
	count := func(check, kind string) (n int, first fallen) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range got {
			if one.Data.Check.Name == check && one.Type == kind {
				if n++; n == 1 {
					first = one
				}
			}
		}
		return n, first
	}
	type named struct {
		ID, Name string
		Delivery struct{ State string }
	}
	var backup named
	c.into(
		&backup,
		http.MethodPost,
		"/v1/notification-channels",
		object{"name": "backup", "type": "webhook", "config": object{"url": last.URL}},
	)
	target := newSwitchable(t)
	channels := map[string]object{
		"refusing": {"name": "refusing", "type": "push", "config": object{"topic": "t", "server": answering(http.StatusInternalServerError)}},
		"gone":     {"name": "gone", "type": "webhook", "config": object{"url": answering(http.StatusGone)}},
	}
	made := make(map[string]named)
	for name, body := range channels {
		var channel named
		body["fallback_channel_id"] = backup.ID
		c.into(&channel, http.MethodPost, "/v1/notification-channels", body)
		made[name] = channel
		var probed check
		c.into(&probed, http.MethodPost, "/v1/checks", httpCheck(name, target.URL+"/"+name, 1, "eu-central-fra"))
		c.into(nil, http.MethodPost, "/v1/checks/"+probed.ID+"/alerts", object{
			"name": "down", "condition": object{"failure_threshold": 1}, "notify_on": "both", "notification_channel_ids": []string{channel.ID},
		})
	}
	target.broken.Store(true)
	for name := range channels {
		eventually(t, "the fallback of "+name+" has the opening", func() bool {
			n, _ := count(name, "incident.triggered")
			return n > 0
		})
	}
	target.broken.Store(false)
	for name, channel := range made {
		eventually(t, "the fallback of "+name+" has the end", func() bool {
			n, _ := count(name, "incident.resolved")
			return n > 0
		})
		for _, kind := range []string{"incident.triggered", "incident.resolved"} {
			n, one := count(name, kind)
			if n != 1 || one.Data.FallbackFor == nil || one.Data.FallbackFor.ChannelName != name ||
				!strings.HasSuffix(one.Data.Message.Body, "Sent here because the channel "+name+" could not be reached.") {
				t.Errorf("%d messages %s of %s: %+v", n, kind, name, one)
				continue
			}
			var first struct {
				ChannelID string `json:"channel_id"`
			}
			c.into(&first, http.MethodGet, "/v1/deliveries/"+one.Data.FallbackFor.DeliveryID, nil)
			if first.ChannelID != channel.ID {
				t.Errorf("%s of %s names a delivery to %s", kind, name, first.ChannelID)
			}
		}
		var now named
		c.into(&now, http.MethodGet, "/v1/notification-channels/"+channel.ID, nil)
		if now.Delivery.State != "down" {
			t.Errorf("the channel %s is %s", name, now.Delivery.State)
		}
		eventually(t, "the owner is mailed about "+name, func() bool { return mailsAbout(t, channel.ID) == 1 })
	}
	c.into(&backup, http.MethodGet, "/v1/notification-channels/"+backup.ID, nil)
	if backup.Delivery.State != "ok" || mailsAbout(t, backup.ID) != 0 {
		t.Errorf("the fallback is %s", backup.Delivery.State)
	}
}

// mailsAbout counts the mails to owners about a channel that the common platform wrote.
func mailsAbout(t *testing.T, channel string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(common.dir, "data", "mail", "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<channel-"+channel+"-") {
			n++
		}
	}
	return n
}
