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

	temporal "go.temporal.io/sdk/client"
)

// fastSchedule lets deliveries end within a test: the waits of 12 attempts.
const fastSchedule = "VIGIL_DELIVERY_SCHEDULE=200ms,500ms,1s,1s,2s,2s,3s,3s,5s,5s,5s"

// drama is checks with rules, a service that fails and recovers under them, and
// a receiver that fails too.
type drama struct {
	t       *testing.T
	client  client
	dsn     string
	service *flaky
	sink    *sink
	regions int
	checks  []string // ids; check i probes path /i
}

// newDrama makes a channel for the sink, and checks with a rule each.
func newDrama(t *testing.T, c client, dsn string, checks, failing int, regions ...string) *drama {
	t.Helper()
	d := &drama{t: t, client: c, dsn: dsn, service: newFlaky(t), sink: newSink(t, failing), regions: len(regions)}
	var channel struct {
		ID string `json:"id"`
	}
	c.into(&channel, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "sink", "type": "webhook", "config": map[string]any{"url": d.sink.URL, "secret": sinkSecret},
	})
	for i := range checks {
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck(fmt.Sprintf("episode %d", i), d.service.URL+path(i), 1, regions...))
		c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
			// Two, since on a busy machine a single probe may take longer than its second.
			"name": "down", "condition": map[string]any{"failure_threshold": 2},
			"notification_channel_ids": []string{channel.ID}, "notify_on": "both",
		})
		d.checks = append(d.checks, made.ID)
	}
	return d
}

func path(check int) string { return fmt.Sprintf("/%d", check) }

// play runs episodes on every check, side by side: the service breaks, an
// incident opens, it is mended, the incident resolves.
func (d *drama) play(episodes int) {
	d.t.Helper()
	var all sync.WaitGroup
	for i := range d.checks {
		all.Go(func() {
			for n := range episodes {
				d.service.breakDown(path(i))
				if !d.awaitIncidents(i, n+1, "active") || !d.awaitVotes(i) {
					return
				}
				d.service.mend(path(i))
				if !d.awaitIncidents(i, n+1, "resolved") {
					return
				}
			}
		})
	}
	all.Wait()
}

// awaitIncidents waits until a check has had so many incidents, the last of them
// in that status. Whatever is down meanwhile only makes it wait.
func (d *drama) awaitIncidents(check, count int, status string) bool {
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
	d.t.Errorf("check %d: %d incidents, the last %q, after three minutes; want %d, %s; %s", check, n, last, count, status, d.story(check))
	return false
}

// story is what Postgres knows of a check that got stuck.
func (d *drama) story(check int) string {
	told := d.counts(fmt.Sprintf(`SELECT to_jsonb(l)::text, 1 FROM check_regions AS l WHERE check_id = '%[1]s'
		UNION SELECT to_jsonb(v)::text, 2 FROM region_votes AS v WHERE check_id = '%[1]s'
		UNION SELECT to_jsonb(e)::text, 3 FROM (SELECT * FROM region_edges WHERE check_id = '%[1]s' ORDER BY slot DESC LIMIT 4) AS e
		UNION SELECT to_jsonb(r)::text, 4 FROM (SELECT slot, time, success FROM results WHERE check_id = '%[1]s' ORDER BY slot DESC LIMIT 4) AS r`, d.checks[check]))
	return strings.Join(slices.Sorted(maps.Keys(told)), "\n")
}

// awaitVotes waits until every region of a check has said that it fails. One that
// is told of only after the others have recovered is rightly another incident.
func (d *drama) awaitVotes(check int) bool {
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		if d.counts(`SELECT check_id::text, count(*) FROM region_votes WHERE cardinality(firing) > 0 GROUP BY 1`)[d.checks[check]] == d.regions {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Errorf("check %d: not every region says that it fails after three minutes", check)
	return false
}

// incidents reads from Postgres, which an observer can ask while the API is down.
func (d *drama) incidents(check int) (count int, last string) {
	db, err := sql.Open("pgx", d.dsn)
	if err != nil {
		return -1, ""
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(d.t.Context(), `SELECT count(*), coalesce((array_agg(status ORDER BY started_at DESC, id DESC))[1], '')
		FROM incidents WHERE check_id = $1`, d.checks[check]).Scan(&count, &last)
	if err != nil {
		return -1, ""
	}
	return count, last
}

// settle waits until every delivery has ended.
func (d *drama) settle() {
	d.t.Helper()
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

func (d *drama) counts(query string) map[string]int {
	counts := map[string]int{}
	db, err := sql.Open("pgx", d.dsn)
	if err != nil {
		return counts
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(d.t.Context(), query)
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

// judge prints the account of a run and holds it to the promises.
func (d *drama) judge(episodes int) {
	d.t.Helper()
	want := episodes * len(d.checks)
	ends := d.counts(`SELECT status, count(*) FROM deliveries GROUP BY 1`)
	kinds := d.counts(`SELECT type, count(*) FROM events GROUP BY 1`)
	opened := d.counts(`SELECT 'all', count(*) FROM incidents`)["all"]
	resolved := d.counts(`SELECT 'all', count(*) FROM incidents WHERE status = 'resolved'`)["all"]
	seen := d.sink.tally()
	lost := ends["delivered"] - (seen.opened + seen.resolved)
	d.t.Logf("episodes %d, opened %d, resolved %d, events %v, deliveries %v, lost %d, duplicate incidents %d, repeated POSTs (same id) %d, out of order %d",
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
	t.Parallel()
	dsn := database(t)
	p := up(t, dataDir(t), "DATABASE_URL="+dsn, "VIGIL_REGIONS=eu-central-fra,na-east-ewr", fastSchedule)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	d := newDrama(t, c, dsn, 10, 30, "eu-central-fra", "na-east-ewr")
	const episodes = 3
	d.play(episodes)
	d.settle()
	d.judge(episodes)
	if *record != "" {
		d.keepHistories(p)
	}
	p.stop()
}

// keepHistories keeps those of an incident and of a delivery.
func (d *drama) keepHistories(p *process) {
	c, err := temporal.Dial(temporal.Options{HostPort: p.ready.TemporalAddress, Namespace: p.ready.Namespace, Logger: silent{}})
	if err != nil {
		d.t.Fatal(err)
	}
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
}

// TestEpisodesUnderFire plays episodes while the processes that carry them are
// killed, one after the other and at random.
func TestEpisodesUnderFire(t *testing.T) { // not parallel: it needs the machine for itself
	checks, episodes, kills := 20, 12, 20
	if full() {
		checks, episodes, kills = 50, 200, 300
	}
	const subscribers = 50
	s := newStage(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule,
		fmt.Sprintf("VIGIL_STREAMS_PER_KEY=%d", 2*subscribers), fmt.Sprintf("VIGIL_STREAMS_PER_ORGANIZATION=%d", 2*subscribers))
	var account struct {
		APIKey string `json:"api_key"`
	}
	c := client{t: t, url: s.apiURL}
	eventually(t, "the API answers", func() bool { _, err := c.try(http.MethodGet, "/health", nil); return err == nil })
	c.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "fire@vigil.invalid", "org_name": "fire"})
	c.key = account.APIKey
	d := newDrama(t, c, s.dsn, checks, 30, stageRegion)
	heard, hangUp := listeners(c, subscribers)
	defer hangUp()

	done := make(chan struct{})
	var firing sync.WaitGroup
	killed := map[string]int{}
	firing.Go(func() { s.fire(done, kills, killed) })
	d.play(episodes)
	close(done)
	firing.Wait()
	d.settle()
	var told []string
	for part, n := range killed {
		told = append(told, fmt.Sprintf("%s %d", part, n))
	}
	slices.Sort(told)
	t.Logf("killed: %s", strings.Join(told, ", "))
	d.judge(episodes)
	d.judgeListeners(heard)
}

// fire kills a part at random and starts it again, until it is told to stop or
// has killed enough.
func (s *stage) fire(done <-chan struct{}, kills int, killed map[string]int) {
	parts := []string{"worker", "control", "temporal", "api", "postgres"}
	for n := range kills {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(500+rand.IntN(1000)) * time.Millisecond):
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
			s.cluster.Start(s.t)
		}
	}
}
