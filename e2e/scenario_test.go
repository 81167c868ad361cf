// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// fastSchedule lets deliveries end within a test: the waits of 12 attempts.
const fastSchedule = "VIGIL_DELIVERY_SCHEDULE=200ms,500ms,1s,1s,2s,2s,3s,3s,5s,5s,5s"

// alertScenario is a set of checks with rules, a service that fails and recovers,
// and an unreliable receiver.
type alertScenario struct {
	t        *testing.T
	client   client
	dsn      string
	db       *sql.DB // Postgres answers even while the API is away
	service  *service
	receiver *receiver
	regions  int
	checks   []string // ids; check i probes path /i
}

// newAlertScenario creates a channel for the receiver, and checks of an interval (s) with one rule
// each. A region is silent after three intervals, and one that reports again later opens an
// incident of its own: scenarios of two regions and of kills take more than a second.
func newAlertScenario(t *testing.T, c client, dsn string, interval, checks, failing int, regions ...string) *alertScenario {
	t.Helper()
	d := &alertScenario{
		t: t, client: c, dsn: dsn, db: openDatabase(t, dsn), service: newService(t), receiver: newReceiver(t, failing), regions: len(regions),
	}
	var channel struct {
		ID string `json:"id"`
	}
	c.into(&channel, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "receiver", "type": "webhook", "config": map[string]any{"url": d.receiver.URL, "secret": receiverSecret},
	})
	for i := range checks {
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck(fmt.Sprintf("episode %d", i), d.service.URL+path(i), interval, regions...))
		c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
			// Two, because a single probe may time out on a busy machine.
			"name": "down", "condition": map[string]any{"failure_threshold": 2},
			"notification_channel_ids": []string{channel.ID}, "notify_on": "both",
		})
		d.checks = append(d.checks, made.ID)
	}
	return d
}

func path(check int) string { return fmt.Sprintf("/%d", check) }

// runEpisodes runs episodes on all checks in parallel: the service fails, an
// incident opens, the service recovers, the incident resolves.
func (d *alertScenario) runEpisodes(episodes int) {
	d.t.Helper()
	var all sync.WaitGroup
	for i := range d.checks {
		all.Go(func() {
			for n := range episodes {
				d.service.fail(path(i))
				if !d.awaitIncidents(i, n+1, "active") || !d.awaitVotes(i) {
					return
				}
				d.service.repair(path(i))
				if !d.awaitIncidents(i, n+1, "resolved") {
					return
				}
			}
		})
	}
	all.Wait()
}

// awaitIncidents waits until a check has count incidents and the last one has the
// status. It tolerates outages of any part while it waits.
func (d *alertScenario) awaitIncidents(check, count int, status string) bool {
	defer timingtest.Waiting(d.t, fmt.Sprintf("check %d has %d incidents, the last is %s", check, count, status))()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		n, last := d.incidents(check)
		if n > count {
			d.t.Errorf("check %d has %d incidents in episode %d", check, n, count)
			return false
		}
		if n == count && last == status {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	n, last := d.incidents(check)
	d.t.Errorf("check %d: %d incidents, the last %q, after three minutes; want %d, %s; %s", check, n, last, count, status, d.dump(check))
	return false
}

// dump returns the rows of a check, to explain a timeout.
func (d *alertScenario) dump(check int) string {
	rows := d.counts(fmt.Sprintf(`SELECT to_jsonb(l)::text, 1 FROM check_regions AS l WHERE check_id = '%[1]s'
		UNION SELECT to_jsonb(v)::text, 2 FROM region_votes AS v WHERE check_id = '%[1]s'
		UNION SELECT to_jsonb(e)::text, 3 FROM (SELECT * FROM region_edges WHERE check_id = '%[1]s' ORDER BY slot DESC LIMIT 4) AS e
		UNION SELECT to_jsonb(r)::text, 4 FROM (
			SELECT slot, time, success FROM results WHERE check_id = '%[1]s' ORDER BY slot DESC LIMIT 4) AS r`, d.checks[check]))
	return strings.Join(slices.Sorted(maps.Keys(rows)), "\n")
}

// awaitVotes waits until every region of a check has reported a failure. A report
// that arrives after the other regions have recovered opens another incident.
func (d *alertScenario) awaitVotes(check int) bool {
	defer timingtest.Waiting(d.t, fmt.Sprintf("every region has reported a failure of check %d", check))()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		if d.counts(`SELECT check_id::text, count(*) FROM region_votes WHERE cardinality(firing) > 0 GROUP BY 1`)[d.checks[check]] == d.regions {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Errorf("check %d: not every region reported a failure within three minutes", check)
	return false
}

// incidents counts the incidents of a check; -1 while Postgres is away.
func (d *alertScenario) incidents(check int) (count int, last string) {
	err := d.db.QueryRowContext(d.t.Context(), `SELECT count(*), coalesce((array_agg(status ORDER BY started_at DESC, id DESC))[1], '')
		FROM incidents WHERE check_id = $1`, d.checks[check]).Scan(&count, &last)
	if err != nil {
		return -1, ""
	}
	return count, last
}

// awaitDeliveries waits until no delivery is pending.
func (d *alertScenario) awaitDeliveries() {
	d.t.Helper()
	defer timingtest.Waiting(d.t, "no delivery is pending")()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		ends := d.counts(`SELECT status, count(*) FROM deliveries GROUP BY 1`)
		if ends["pending"] == 0 && len(ends) > 0 {
			return
		}
		if time.Now().After(deadline) {
			d.t.Errorf("deliveries have not ended after three minutes: %v", ends)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (d *alertScenario) counts(query string) map[string]int {
	counts := map[string]int{}
	rows, err := d.db.QueryContext(d.t.Context(), query)
	if err != nil {
		return counts
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err == nil {
			counts[name] = n
		}
	}
	if rows.Err() != nil {
		return map[string]int{}
	}
	return counts
}

// verify logs the counts of a run and compares them with what is promised.
func (d *alertScenario) verify(episodes int) {
	d.t.Helper()
	want := episodes * len(d.checks)
	ends := d.counts(`SELECT status, count(*) FROM deliveries GROUP BY 1`)
	kinds := d.counts(`SELECT type, count(*) FROM events GROUP BY 1`)
	opened := d.counts(`SELECT 'all', count(*) FROM incidents`)["all"]
	resolved := d.counts(`SELECT 'all', count(*) FROM incidents WHERE status = 'resolved'`)["all"]
	seen := d.receiver.summarize()
	lost := ends["delivered"] - (seen.opened + seen.resolved)
	d.t.Logf("episodes %d, opened %d, resolved %d, events %v, deliveries %v, lost %d, duplicate incidents %d, "+
		"repeated POSTs (same id) %d, out of order %d",
		want, opened, resolved, kinds, ends, lost, opened-want, seen.repeated, seen.outOfOrder)
	facts := []struct {
		what      string
		got, want int
	}{
		{"incidents opened", opened, want},
		{"incidents resolved", resolved, want},
		{"triggered events", kinds["incident.triggered"], want},
		{"resolved events", kinds["incident.resolved"], want},
		{"deliveries delivered", ends["delivered"], 2 * want},
		{"triggers that the receiver accepted", seen.opened, want},
		{"recoveries that it accepted", seen.resolved, want},
		{"out of order", seen.outOfOrder, 0},
		{"unsigned", seen.unsigned, 0},
		{"bodies that changed between attempts", seen.changed, 0},
	}
	for _, f := range facts {
		if f.got != f.want {
			d.t.Errorf("%s: %d, want %d", f.what, f.got, f.want)
		}
	}
}

func TestEpisodes(t *testing.T) {
	timingtest.Parallel(t)
	dsn := database(t)
	p := up(t, dataDir(t), "DATABASE_URL="+dsn, "VIGIL_REGIONS=eu-central-fra,na-east-ewr", fastSchedule)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	d := newAlertScenario(t, c, dsn, 5, 10, 30, "eu-central-fra", "na-east-ewr")
	const episodes = 3
	d.runEpisodes(episodes)
	d.awaitDeliveries()
	d.verify(episodes)
	if *record != "" {
		d.keepHistories(p)
	}
	p.stop()
}

// keepHistories records the histories of a loop with news, an incident and a delivery.
func (d *alertScenario) keepHistories(p *process) {
	c := dialTemporal(d.t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	var incidents []struct {
		ID         string `json:"id"`
		WorkflowID string `json:"workflow_id"`
	}
	d.client.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+d.checks[0], nil)
	var deliveries []struct {
		WorkflowID string `json:"workflow_id"`
	}
	d.client.into(&deliveries, http.MethodGet, "/v1/deliveries?incident_id="+incidents[0].ID, nil)
	keepHistory(d.t, c, incidents[0].WorkflowID, "incident")
	keepHistory(d.t, c, deliveries[0].WorkflowID, "delivery")
	keepHistory(d.t, c, vigil.LoopID(uuid.MustParse(d.checks[0]), "eu-central-fra"), "check_loop_with_news")
}

// TestEpisodesWithProcessesKilled runs episodes while random processes of the
// platform are killed and restarted.
func TestEpisodesWithProcessesKilled(t *testing.T) {
	timingtest.Parallel(t)
	checks, episodes, kills := 20, 12, 20
	if full() {
		checks, episodes, kills = 50, 200, 300
	}
	const subscribers = 50
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule,
		fmt.Sprintf("VIGIL_STREAMS_PER_KEY=%d", 2*subscribers), fmt.Sprintf("VIGIL_STREAMS_PER_ORGANIZATION=%d", 2*subscribers))
	var account struct {
		APIKey string `json:"api_key"`
	}
	c := client{t: t, url: s.apiURL}
	eventually(t, "the API answers", func() bool { _, err := c.try(http.MethodGet, "/health", nil); return err == nil })
	c.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "episodes@vigil.test", "org_name": "episodes"})
	c.key = account.APIKey
	d := newAlertScenario(t, c, s.dsn, 2, checks, 30, clusterRegion)
	streams, closeStreams := subscribe(c, subscribers)
	defer closeStreams()

	done := make(chan struct{})
	var killing sync.WaitGroup
	killed := map[string]int{}
	killing.Go(func() { s.killRandomly(done, kills, killed) })
	d.runEpisodes(episodes)
	close(done)
	killing.Wait()
	eventually(t, "the API answers again", func() bool {
		s.restartEnded()
		_, err := c.try(http.MethodGet, "/health", nil)
		return err == nil
	})
	d.awaitDeliveries()
	var parts []string
	for part, n := range killed {
		parts = append(parts, fmt.Sprintf("%s %d", part, n))
	}
	slices.Sort(parts)
	t.Logf("killed: %s", strings.Join(parts, ", "))
	d.verify(episodes)
	d.verifyStreams(streams)
}

// restartEnded starts the parts again that have ended by themselves, as a service manager does:
// one that starts just when Postgres is killed gives up.
func (s *cluster) restartEnded() {
	restart := func(p *process, start func()) {
		select {
		case <-p.exited:
			start()
		default:
		}
	}
	restart(s.api, s.startAPI)
	restart(s.control, s.startControl)
	for i, w := range s.workers {
		restart(w, func() { s.startWorker(i) })
	}
}

// killRandomly kills and restarts one part after the other until the number of kills is reached,
// and starts parts that ended because another one was away again, until done is closed.
func (s *cluster) killRandomly(done <-chan struct{}, kills int, killed map[string]int) {
	parts := []string{"worker", "control", "temporal", "api", "postgres"}
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(500+rand.IntN(1000)) * time.Millisecond):
		}
		s.restartEnded()
		if n >= kills {
			continue
		}
		part := parts[n%len(parts)]
		killed[part]++
		switch part {
		case "worker":
			i := rand.IntN(len(s.workers))
			s.workers[i].kill()
			s.startWorker(i)
		case "control":
			s.control.kill()
			s.startControl()
		case "api":
			s.api.kill()
			s.startAPI()
		case "temporal":
			s.temporal.kill()
			s.startTemporal()
		case "postgres":
			s.killPostgres()
			s.postgres.Start(s.t)
		}
	}
}
