// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// otherRegion is where the checks move whose region is removed.
const otherRegion = "na-east-ewr"

// endings are the ways in which an incident ends.
func endings() []string {
	return []string{"recovers", "resolved by hand", "check disabled", "check deleted", "region removed", "rule deleted"}
}

// endsDrill has a check for each episode. Its three rules fire together and notify a webhook
// each, by one value of notify_on; the rule with both notifies a pager as well.
type endsDrill struct {
	t         *testing.T
	s         *cluster
	c         client
	service   *service
	receivers map[string]*receiver // by notify_on
	pager     *pagerReceiver
	checks    []string
	rules     [][]string // by check
}

// pagerReceiver keeps which alerts were triggered and resolved. An alert that it does not
// acknowledge is kept all the same: its answer may be lost.
type pagerReceiver struct {
	*httptest.Server

	mu                  sync.Mutex
	triggered, resolved map[string]bool // by dedup_key
}

func newPagerReceiver(t *testing.T, failing int) *pagerReceiver {
	t.Helper()
	p := &pagerReceiver{triggered: make(map[string]bool), resolved: make(map[string]bool)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var event struct {
			Action string `json:"event_action"`
			Key    string `json:"dedup_key"`
		}
		if err != nil || json.Unmarshal(body, &event) != nil {
			return
		}
		p.mu.Lock()
		map[string]map[string]bool{"trigger": p.triggered, "resolve": p.resolved}[event.Action][event.Key] = true
		p.mu.Unlock()
		if rand.IntN(100) < failing {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(p.Close)
	return p
}

func newEndsDrill(t *testing.T, s *cluster, episodes int) *endsDrill {
	t.Helper()
	d := &endsDrill{t: t, s: s, service: newService(t), receivers: make(map[string]*receiver), pager: newPagerReceiver(t, 20)}
	var account struct {
		APIKey string `json:"api_key"`
	}
	d.c = client{t: t, url: s.apiURL}
	eventually(t, "the API answers", func() bool { _, err := d.c.try(http.MethodGet, "/health", nil); return err == nil })
	d.c.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "ends@vigil.test", "org_name": "ends"})
	d.c.key = account.APIKey
	channel := func(kind string, config map[string]any) string {
		var made struct{ ID string }
		d.c.into(&made, http.MethodPost, "/v1/notification-channels", map[string]any{"name": kind, "type": kind, "config": config})
		return made.ID
	}
	channels := make(map[string][]string)
	for _, on := range []string{"unhealthy", "healthy", "both"} {
		d.receivers[on] = newReceiver(t, 20)
		channels[on] = []string{channel("webhook", map[string]any{"url": d.receivers[on].URL, "secret": receiverSecret})}
	}
	channels["both"] = append(channels["both"], channel("pager", map[string]any{"url": d.pager.URL, "routing_key": "key"}))
	for i := range episodes {
		d.service.fail(path(i))
		body := httpCheck(fmt.Sprintf("end %d", i), d.service.URL+path(i), 1, clusterRegion)
		body["enabled"] = false // until its rules are complete
		var made check
		d.c.into(&made, http.MethodPost, "/v1/checks", body)
		d.checks, d.rules = append(d.checks, made.ID), append(d.rules, nil)
		for on, ids := range channels {
			var rule struct{ ID string }
			d.c.into(&rule, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
				"name": on, "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": ids, "notify_on": on,
			})
			d.rules[i] = append(d.rules[i], rule.ID)
		}
	}
	return d
}

// insist repeats a request until it is answered with one of the statuses.
func (d *endsDrill) insist(method, path string, body any, statuses ...int) bool {
	deadline := time.Now().Add(endsLimit())
	for {
		a, err := d.c.try(method, path, body)
		switch {
		case err == nil && slices.Contains(statuses, a.Status):
			return true
		case time.Now().After(deadline):
			d.t.Errorf("%s %s: %d %s, %v in time", method, path, a.Status, a.Error, err)
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// awaitIncident waits until the incident of a check has the status, and returns its id.
func (d *endsDrill) awaitIncident(episode int, status string) (id string, ok bool) {
	deadline := time.Now().Add(endsLimit())
	for {
		var is string
		err := d.s.db.QueryRowContext(d.t.Context(), "SELECT id, status FROM incidents WHERE check_id = $1", d.checks[episode]).Scan(&id, &is)
		switch {
		case err == nil && is == status:
			return id, true
		case time.Now().After(deadline):
			d.t.Errorf("episode %d (%s): the incident is %q (%v) in time, want %s", episode, endingOf(episode), is, err, status)
			return "", false
		case err != nil && errors.Is(err, sql.ErrNoRows) && d.t.Context().Err() != nil:
			return "", false
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// endsLimit is how long an episode may wait: in the long form a part is killed each second.
func endsLimit() time.Duration {
	if full() {
		return 20 * time.Minute
	}
	return 3 * time.Minute
}

func endingOf(episode int) string { return endings()[episode%len(endings())] }

// run has one episode: the check is enabled, fails, and its incident ends.
func (d *endsDrill) run(episode int) {
	here := "/v1/checks/" + d.checks[episode]
	if !d.insist(http.MethodPut, here, map[string]any{"enabled": true}, http.StatusOK) {
		return
	}
	incident, ok := d.awaitIncident(episode, "active")
	if !ok || !d.end(episode, here, incident) || endingOf(episode) == "check deleted" {
		return
	}
	if _, ok := d.awaitIncident(episode, "resolved"); ok {
		d.insist(http.MethodPut, here, map[string]any{"enabled": false}, http.StatusOK) // no load for the rest of the drill
	}
}

func (d *endsDrill) end(episode int, here, incident string) bool {
	switch endingOf(episode) {
	case "recovers":
		d.service.repair(path(episode))
	case "resolved by hand":
		return d.insist(http.MethodPost, "/v1/incidents/"+incident+"/resolve", nil, http.StatusOK)
	case "check disabled":
		return d.insist(http.MethodPut, here, map[string]any{"enabled": false}, http.StatusOK)
	case "check deleted":
		return d.insist(http.MethodDelete, here, nil, http.StatusNoContent, http.StatusNotFound)
	case "region removed": // what fires is not seen from the other region
		return d.insist(http.MethodPut, here, map[string]any{
			"regions": []string{otherRegion}, "config": map[string]any{"url": d.service.URL + "/up"},
		}, http.StatusOK)
	case "rule deleted":
		for _, rule := range d.rules[episode] {
			if !d.insist(http.MethodDelete, here+"/alerts/"+rule, nil, http.StatusNoContent, http.StatusNotFound) {
				return false
			}
		}
	}
	return true
}

// verify compares what the receivers got with what their channels ask for.
func (d *endsDrill) verify() {
	d.t.Helper()
	episodes := len(d.checks)
	for on, want := range map[string]receiverSummary{
		"both":      {opened: episodes, resolved: episodes},
		"unhealthy": {opened: episodes},
		"healthy":   {resolved: episodes},
	} {
		got := d.receivers[on].summarize()
		d.t.Logf("%s: %d beginnings, %d ends, %d repeated (same id)", on, got.opened, got.resolved, got.repeated)
		if got.opened != want.opened || got.resolved != want.resolved || got.unsigned != 0 || got.changed != 0 ||
			on == "both" && got.outOfOrder != 0 {
			d.t.Errorf("%s: got %+v, want %+v; %s", on, got, want, d.missing(on))
		}
	}
	d.verifyPager()
}

// verifyPager checks that each alert of the pager is resolved. One that it knows only as resolved
// was handed over by an attempt that did not reach it, such as that of a process that died: the
// pager may have had it, so its end was sent.
func (d *endsDrill) verifyPager() {
	d.t.Helper()
	// Each attempt of an opening leaves the address that it goes to, which its end takes over.
	const untried = `SELECT count(*) FROM deliveries AS d
		WHERE d.incident_id = $1 AND d.event_type = 'incident.resolved' AND d.channel_type = 'pager'
			AND NOT EXISTS (SELECT FROM delivery_addresses AS a WHERE a.delivery_id = d.id)`
	for incident := range d.pager.triggered {
		if !d.pager.resolved[incident] {
			d.t.Errorf("the alert of the incident %s is open at the pager for ever", incident)
		}
	}
	for incident := range d.pager.resolved {
		if d.pager.triggered[incident] {
			continue
		}
		var ends int
		if err := d.s.db.QueryRowContext(d.t.Context(), untried, incident).Scan(&ends); err != nil || ends != 0 {
			d.t.Errorf("the end of the incident %s was sent to the pager, and its beginning never tried (%v): %s", incident, err, d.sent(incident))
		}
	}
	d.t.Logf("pager: %d alerts, each resolved, and %d ends of alerts whose beginning was tried without reaching it",
		len(d.pager.triggered), len(d.pager.resolved)-len(d.pager.triggered))
}

// sent describes the attempts to send messages about an incident to the pager, one a line.
func (d *endsDrill) sent(incident string) string {
	rows, err := d.s.db.QueryContext(d.t.Context(), `SELECT concat_ws(' ', d.event_type, d.status, d.attempts, 'created', d.created_at,
			'address kept', (SELECT min(da.created_at) FROM delivery_addresses AS da WHERE da.delivery_id = d.id),
			'attempt', a.number, a.started_at, a.finished_at, a.status_code, a.error_code, a.error)
		FROM deliveries AS d LEFT JOIN attempts AS a ON a.delivery_id = d.id
		WHERE d.incident_id = $1 AND d.channel_type = 'pager' ORDER BY d.created_at, a.number`, incident)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err.Error()
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, fmt.Sprint(rows.Err())), "\n")
}

// missing counts, by how the incident ended, the messages of a receiver by kind.
func (d *endsDrill) missing(on string) string {
	ending := make(map[string]string)
	rows, err := d.s.db.QueryContext(d.t.Context(), "SELECT DISTINCT incident_id, check_id FROM events")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var incident, check string
		if err := rows.Scan(&incident, &check); err != nil {
			return err.Error()
		}
		ending[incident] = endingOf(max(0, slices.Index(d.checks, check)))
	}
	if err := rows.Err(); err != nil {
		return err.Error()
	}
	seen, counts := make(map[string]bool), make(map[string]int)
	for _, p := range d.receivers[on].posts {
		if p.accepted && !seen[p.id] {
			seen[p.id] = true
			counts[ending[p.incident]+" "+p.kind]++
		}
	}
	return fmt.Sprint(counts)
}

// TestEndsWithProcessesKilled ends incidents in every way while the parts of the platform are
// killed: each channel gets what its rules ask for, once.
func TestEndsWithProcessesKilled(t *testing.T) {
	timingtest.Parallel(t)
	episodes, atOnce, kills := 24, 12, 10
	if full() {
		episodes, atOnce, kills = 1002, 50, 500
	}
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule)
	launch(t, s.env, "worker", "--region", otherRegion)
	d := newEndsDrill(t, s, episodes)
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
	d.verify()
}
