// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// product is a receiver of one format. It answers as the product does and keeps which incidents it
// shows as begun and as ended.
type product struct {
	*httptest.Server

	mu           sync.Mutex
	began, ended map[string]bool // by incident
	odd          []string        // requests that name no incident
}

// storyOf finds in a message what its title says, which the channel has as a template.
var storyOf = regexp.MustCompile(`(active|resolved) ([0-9a-f]{32})`)

const (
	// storyTitle is the title of the channels of chats and pushes: the format may mark or fold what is around it.
	storyTitle = "{{incident_status}} {{incident_id}}"
	idForm     = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
)

// pagerStory says how a product of pagers knows an incident, and its end, by the path and body of a request.
type pagerStory struct{ incident, end *regexp.Regexp }

func pagerStories() map[string]pagerStory {
	return map[string]pagerStory{
		"pagerduty":     {regexp.MustCompile(`"dedup_key":"(` + idForm + `)"`), regexp.MustCompile(`"event_action":"resolve"`)},
		"opsgenie":      {regexp.MustCompile(`(?:"alias":"|alerts/)(` + idForm + `)`), regexp.MustCompile(`/close\?`)},
		"jsm":           {regexp.MustCompile(`(?:"alias":"|alerts/)(` + idForm + `)`), regexp.MustCompile(`/close\?`)},
		"incident_io":   {regexp.MustCompile(`"deduplication_key":"(` + idForm + `)"`), regexp.MustCompile(`"status":"resolved"`)},
		"alertmanager":  {regexp.MustCompile(`"incident_id":"(` + idForm + `)"`), regexp.MustCompile(`"summary":"Resolved: `)},
		"splunk_oncall": {regexp.MustCompile(`"entity_id":"(` + idForm + `)"`), regexp.MustCompile(`"message_type":"RECOVERY"`)},
	}
}

func newProduct(t *testing.T, format string) *product {
	t.Helper()
	p := &product{began: make(map[string]bool), ended: make(map[string]bool)}
	pager, isPager := pagerStories()[format]
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // its process died with the request
		}
		text := r.URL.RequestURI() + " " + r.Header.Get("Title") + " " + string(body)
		incident, end := "", false
		if isPager {
			if found := pager.incident.FindStringSubmatch(text); found != nil {
				incident, end = found[1], pager.end.MatchString(text)
			}
		} else {
			if decoded, err := url.QueryUnescape(text); err == nil && r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
				text = decoded
			}
			// Marks, and the hyphens that some formats escape, are no part of a story.
			plain := strings.NewReplacer("\\", "", "-", "", "\u200b", "", "*", "", "_", "").Replace(text)
			if found := storyOf.FindStringSubmatch(plain); found != nil {
				id := found[2]
				incident, end = strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-"), found[1] == "resolved"
			}
		}
		p.mu.Lock()
		switch {
		case incident == "":
			p.odd = append(p.odd, r.Method+" "+text)
		case end:
			p.ended[incident] = true
		default:
			p.began[incident] = true
		}
		p.mu.Unlock()
		answerAs(w, format)
	}))
	t.Cleanup(p.Close)
	return p
}

// answerAs answers as the product does where its answer says which message it became.
func answerAs(w http.ResponseWriter, format string) {
	w.Header().Set("Content-Type", "application/json")
	switch format {
	case "telegram":
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":7}}`)
	case "matrix":
		_, _ = io.WriteString(w, `{"event_id":"$e"}`)
	case "google_chat":
		_, _ = io.WriteString(w, `{"name":"spaces/a/messages/b"}`)
	case "pushover":
		_, _ = io.WriteString(w, `{"status":1,"request":"r"}`)
	case "pagerduty", "opsgenie", "jsm", "incident_io":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{}`)
	default:
		_, _ = io.WriteString(w, `{"id":1,"success":true}`)
	}
}

// formatConfigs are the configs of channels of each format at an address, by type.
func formatConfigs() map[string]map[string]func(at string) object {
	hook := func(format string) func(string) object {
		return func(at string) object { return object{"format": format, "webhook_url": at + "/api/webhooks/1/x"} }
	}
	key := func(config object) func(string) object {
		return func(at string) object { config["url"] = at; return config }
	}
	server := func(config object) func(string) object {
		return func(at string) object { config["server"] = at; return config }
	}
	return map[string]map[string]func(string) object{
		"chat": {
			"slack": hook("slack"), "discord": hook("discord"), "teams": hook("teams"), "google_chat": hook("google_chat"),
			"mattermost": hook("mattermost"), "rocketchat": hook("rocketchat"),
			"telegram": server(object{"format": "telegram", "token": "1:x", "chat_id": "1"}),
			"matrix":   server(object{"format": "matrix", "token": "x", "room_id": "!a:b.example"}),
			"zulip":    server(object{"format": "zulip", "token": "x", "email": "bot@zulip.example", "stream": "ops"}),
		},
		"push": {
			"ntfy":     server(object{"format": "ntfy", "topic": "ops"}),
			"gotify":   server(object{"format": "gotify", "token": "x"}),
			"pushover": server(object{"format": "pushover", "token": "x", "user_key": "u"}),
		},
		"pager": {
			"pagerduty": key(object{"format": "pagerduty", "routing_key": "x"}), "opsgenie": key(object{"format": "opsgenie", "api_key": "x"}),
			"jsm": key(object{"format": "jsm", "api_key": "x"}), "incident_io": key(object{"format": "incident_io", "api_key": "x"}),
			"alertmanager":  key(object{"format": "alertmanager"}),
			"splunk_oncall": key(object{"format": "splunk_oncall", "api_key": "x", "routing_key": "y"}),
		},
	}
}

// notifyByFormat gives each episode a rule that notifies a chat, a push and a pager, each of another
// format from one episode to the next, in every combination with the ways to end.
func (d *endsDrill) notifyByFormat(episodes int) map[string]*product {
	products, channels, names := make(map[string]*product), make(map[string]string), make(map[string][]string)
	for kind, formats := range formatConfigs() {
		for format, config := range formats {
			products[format] = newProduct(d.t, format)
			given := config(products[format].URL)
			if kind != "pager" {
				given["title_template"] = storyTitle
			}
			var made struct{ ID string }
			d.c.into(&made, http.MethodPost, "/v1/notification-channels", object{"name": format, "type": kind, "config": given})
			channels[format] = made.ID
			names[kind] = append(names[kind], format)
		}
		slices.Sort(names[kind])
	}
	ways := len(endings())
	for i := range episodes {
		d.service.fail(path(i))
		body := httpCheck(fmt.Sprintf("end %d", i), d.service.URL+path(i), 1, clusterRegion)
		body["enabled"] = false // until its rule is complete
		var made check
		d.c.into(&made, http.MethodPost, "/v1/checks", body)
		var to []string
		for _, kind := range []string{"chat", "push", "pager"} {
			to = append(to, channels[names[kind][(i/ways*5+i%ways)%len(names[kind])]])
		}
		var rule struct{ ID string }
		d.c.into(&rule, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", object{
			"name": "both", "condition": object{"failure_threshold": 1}, "notification_channel_ids": to, "notify_on": "both",
		})
		d.checks, d.rules = append(d.checks, made.ID), append(d.rules, []string{rule.ID})
	}
	return products
}

// verifyProducts holds that each product shows the end of each incident that it shows the beginning
// of. One whose beginning it does not know has one message for both, or a beginning that was tried
// and whose process died. The deliveries of a deleted check are deleted with it.
func (d *endsDrill) verifyProducts(products map[string]*product) {
	d.t.Helper()
	const known = `SELECT count(*) FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id WHERE c.name = $1 AND d.incident_id = $2`
	const together = `SELECT count(*) FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id
		WHERE c.name = $1 AND d.incident_id = $2 AND (d.merged OR d.event_type = 'incident.triggered' AND d.attempts > 0)`
	for format, p := range products {
		due := d.s.number(`SELECT count(DISTINCT d.incident_id) FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id
			WHERE c.name = $1 AND d.status = 'delivered'`, format)
		p.mu.Lock()
		both, shown := 0, 0
		for incident := range p.began {
			if p.ended[incident] {
				both++
			} else {
				d.t.Errorf("%s: the incident %s began and never ended", format, incident)
			}
		}
		for incident := range p.ended {
			if d.s.number(known, format, incident) == 0 {
				continue
			}
			shown++
			if !p.began[incident] && d.s.number(together, format, incident) == 0 {
				d.t.Errorf("%s: the incident %s ended and never began", format, incident)
			}
		}
		d.t.Logf("%s: %d beginnings, each ended, and %d with one message for both", format, both, len(p.ended)-both)
		if len(p.odd) > 0 {
			d.t.Errorf("%s: %d requests name no incident: %s", format, len(p.odd), p.odd[0])
		}
		if shown != due {
			d.t.Errorf("%s shows the end of %d incidents, and %d were delivered", format, shown, due)
		}
		p.mu.Unlock()
	}
}

// TestDrillEndsOfFormats ends incidents in every way while the parts of the platform are killed: each
// product shows as many ends as beginnings.
func TestDrillEndsOfFormats(t *testing.T) {
	timingtest.Parallel(t)
	episodes, atOnce, kills := 18, 9, 4
	if full() {
		episodes, atOnce, kills = 1002, 50, 200
	}
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule)
	launch(t, s.env, "worker", "--region", otherRegion)
	d := newEndsDrill(t, s, 0)
	products := d.notifyByFormat(episodes)
	done := make(chan struct{})
	var killing, running sync.WaitGroup
	killed := map[string]int{}
	killing.Go(func() { s.killRandomly(done, kills, killed) })
	next := make(chan int)
	for range atOnce {
		running.Go(func() {
			for episode := range next {
				d.run(episode)
			}
		})
	}
	for episode := range episodes {
		next <- episode
	}
	close(next)
	running.Wait()
	close(done)
	killing.Wait()
	eventually(t, "the API answers again", func() bool {
		s.restartEnded()
		_, err := d.c.try(http.MethodGet, "/health", nil)
		return err == nil
	})
	eventuallyWithin(t, 3*time.Minute, "no delivery is pending", func() bool {
		return s.number("SELECT count(*) FROM deliveries WHERE status = 'pending'") == 0
	})
	t.Logf("%d episodes, killed %v", episodes, killed)
	d.verifyProducts(products)
}
