// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/pgbin"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// Bounds of a restore, counted from the moment at which the restored database answers.
const (
	editBound   = 10 * time.Second // an edit made after the restore is probed
	resumeBound = 60 * time.Second // every loop has a new result
)

// restoreDrill is a platform one of whose stores is replaced by an older dump while all
// other parts run.
type restoreDrill struct {
	*alertScenario
	cluster *cluster
	dump    string        // directory of the dumps
	epoch   int           // of the dumps
	streams []*subscriber // clients that resume after the last event that they got
}

// checksOfRestore is how many checks the drill has. Each of them is in another state at
// the dump and at the restore.
const checksOfRestore = 7

func newRestoreDrill(t *testing.T) *restoreDrill {
	t.Helper()
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule)
	var account struct {
		APIKey string `json:"api_key"`
	}
	c := client{t: t, url: s.apiURL}
	eventually(t, "the API answers", func() bool { _, err := c.try(http.MethodGet, "/health", nil); return err == nil })
	c.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "restore@vigil.test", "org_name": "restore"})
	c.key = account.APIKey
	d := &restoreDrill{cluster: s, dump: dataDir(t)}
	d.alertScenario = newAlertScenario(t, c, s.dsn, 1, checksOfRestore, 0, clusterRegion)
	streams, stop := subscribe(c, 3)
	d.streams = streams
	t.Cleanup(stop)
	d.awaitResults(time.Time{})
	return d
}

// awaitResults waits until every enabled check has a result after an instant.
func (d *restoreDrill) awaitResults(after time.Time) {
	d.t.Helper()
	const late = "active AND (last_time IS NULL OR last_time <= $1)"
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.cluster.describeLoops(late, after)
		}
	})
	eventually(d.t, "every loop has a new result", func() bool {
		return d.cluster.number("SELECT count(*) FROM check_regions WHERE "+late, after) == 0
	})
}

func (d *restoreDrill) tool(name string) string {
	d.t.Helper()
	path, err := pgbin.Tool(d.t.Context(), nil, name, 0)
	if err != nil {
		d.t.Skip(err)
	}
	return path
}

func (d *restoreDrill) run(program string, args ...string) {
	d.t.Helper()
	if out, err := exec.CommandContext(d.t.Context(), program, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// on is the connection string of another database of the server.
func (d *restoreDrill) on(database string) string {
	return strings.Replace(d.dsn, "/vigil?", "/"+database+"?", 1)
}

const epochOf = "SELECT epoch FROM temporal_generation"

// save dumps databases with pg_dump.
func (d *restoreDrill) save(databases ...string) {
	d.t.Helper()
	defer func() { d.epoch = d.cluster.number(epochOf) }()
	for _, name := range databases {
		d.run(d.tool("pg_dump"), "--format=custom", "--dbname="+d.on(name), "--file="+filepath.Join(d.dump, name))
	}
}

// restore replaces databases by their dumps with pg_restore, and by nothing else.
func (d *restoreDrill) restore(databases ...string) time.Time {
	d.t.Helper()
	for _, name := range databases {
		query(d.t, d.on("postgres"), "DROP DATABASE "+name+" WITH (FORCE)", "CREATE DATABASE "+name+"_restored")
		d.run(d.tool("pg_restore"), "--single-transaction", "--dbname="+d.on(name+"_restored"), filepath.Join(d.dump, name))
	}
	for _, name := range databases {
		query(d.t, d.on("postgres"), "ALTER DATABASE "+name+"_restored RENAME TO "+name)
	}
	at := time.Now()
	eventually(d.t, "the restored database answers", func() bool { return d.cluster.number("SELECT 1") == 1 })
	return at
}

// edit changes a check through the API, which may just be connecting again.
func (d *restoreDrill) edit(check int, body object) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("check %d is edited", check), func() bool {
		a, err := d.client.try(http.MethodPut, "/v1/checks/"+d.checks[check], body)
		return err == nil && a.Status/100 == 2
	})
}

// open fails the target of checks and waits for their incidents and messages.
func (d *restoreDrill) open(nth int, checks ...int) {
	d.t.Helper()
	for _, i := range checks {
		d.service.fail(path(i))
	}
	for _, i := range checks {
		if !d.awaitIncidents(i, nth, "active") {
			d.t.FailNow()
		}
	}
	d.awaitDeliveries()
}

// end repairs the target of checks and waits until their incidents are resolved.
func (d *restoreDrill) end(nth int, checks ...int) {
	d.t.Helper()
	for _, i := range checks {
		d.service.repair(path(i))
	}
	for _, i := range checks {
		if !d.awaitIncidents(i, nth, "resolved") {
			d.t.FailNow()
		}
	}
	d.awaitDeliveries()
}

// resolveByHand resolves the open incident of a check.
func (d *restoreDrill) resolveByHand(check int) {
	d.t.Helper()
	d.client.act(nil, d.incident(check), "resolve", object{"note": "known"})
	d.awaitDeliveries()
}

// incident returns the ID of the newest incident of a check.
func (d *restoreDrill) incident(check int) string {
	d.t.Helper()
	var id string
	err := d.cluster.db.QueryRowContext(d.t.Context(),
		"SELECT id::text FROM incidents WHERE check_id = $1 ORDER BY created_at DESC LIMIT 1", d.checks[check]).Scan(&id)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// triggered counts the incidents of which the receiver was notified, by their IDs.
func (d *restoreDrill) triggered() int {
	d.receiver.mu.Lock()
	defer d.receiver.mu.Unlock()
	ids := map[string]bool{}
	for _, p := range d.receiver.posts {
		if p.accepted && p.kind == "incident.triggered" {
			ids[p.incident] = true
		}
	}
	return len(ids)
}

// posts counts the requests to the receiver.
func (d *restoreDrill) posts() int {
	d.receiver.mu.Lock()
	defer d.receiver.mu.Unlock()
	return len(d.receiver.posts)
}

// accounts compares due slots with results and gaps of the time after a restore.
func (d *restoreDrill) accounts(from time.Time) {
	d.t.Helper()
	d.cluster.began = from.Truncate(time.Microsecond)
	a := d.cluster.audit(time.Now().Add(-2 * time.Second))
	figure(d.t, "slots neither stored nor missed, or both", a.unaccounted+a.stray, 0, 0)
	figure(d.t, "slots with two results", a.repeated, 0, 0)
}

// verifyStreams compares what the clients got with the events that were stored before
// the restore and are stored now: each once, in order, at a position of its own.
func (d *restoreDrill) verifyStreams(before []string) {
	d.t.Helper()
	want := before
	for _, id := range d.storedEvents() {
		if !slices.Contains(want, id) {
			want = append(want, id)
		}
	}
	wrong := 0
	for _, l := range d.streams {
		eventually(d.t, "a client has all events", func() bool { return l.count() >= len(want) })
		l.mu.Lock()
		if !slices.Equal(l.seen, want) {
			wrong++
			d.t.Logf("a client got %v, want %v", l.seen, want)
		}
		l.mu.Unlock()
	}
	figure(d.t, "clients of the stream that missed or repeated an event", wrong, 0, 0)
}

// settle waits until no message has reached the receiver for some slots.
func (d *restoreDrill) settle() {
	d.t.Helper()
	d.awaitDeliveries()
	last, since := d.posts(), time.Now()
	eventually(d.t, "the receiver gets nothing more", func() bool {
		if n := d.posts(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 4*time.Second
	})
}

// TestDrillRestore restores one store from an older dump while the other goes on: first
// Postgres, then Temporal. Nothing but pg_dump and pg_restore is used, so that the
// platform has to find out by itself.
func TestDrillRestore(t *testing.T) {
	t.Parallel()
	t.Run("OlderPostgres", restoreOlderPostgres)
	t.Run("OlderTemporal", restoreOlderTemporal)
}

func restoreOlderPostgres(t *testing.T) {
	timingtest.Parallel(t)
	pauses := notePauses(t)
	d := newRestoreDrill(t)
	d.open(1, 0, 2) // open at the dump
	d.save("vigil")

	d.open(1, 1, 3, 4) // unknown to the dump
	d.end(1, 2, 3)     // open in the dump, unknown to the dump
	d.resolveByHand(4) // its target still fails
	for n := range 3 { // revisions that the dump does not have
		d.edit(5, object{"name": fmt.Sprintf("edit %d", n)})
		d.edit(6, object{"name": fmt.Sprintf("edit %d", n)})
	}
	opened, late := d.incident(1), d.incident(4)
	eventually(t, "the loops run the edits", func() bool {
		return d.cluster.number("SELECT count(*) FROM check_regions WHERE desired > applied") == 0
	})
	d.awaitEpoch()
	events, known := d.storedEvents(), d.triggered()
	at := d.restore("vigil")

	// Edits after the restore apply, to workers that have newer definitions.
	d.edit(5, object{"config": object{"url": d.service.URL + "/moved"}})
	edited := time.Now()
	eventually(t, "the edited check is probed at its new path", func() bool { return d.service.hits("/moved") > 0 })
	figure(t, "an edit after the restore is probed after", time.Since(edited), editBound, pauses.longest())
	d.edit(6, object{"enabled": false})
	d.awaitResults(at)
	figure(t, "every loop has a result after", time.Since(at), resumeBound, pauses.longest())
	idle := d.service.hits("/6")

	// What is open in either store has one incident.
	for check, want := range map[int]string{0: "active", 1: "active", 2: "resolved", 4: "resolved"} {
		if !d.awaitIncidents(check, 1, want) {
			t.FailNow()
		}
	}
	d.settle()
	if d.incident(1) != opened || d.incident(4) != late {
		t.Errorf("incidents %s and %s, want %s and %s again", d.incident(1), d.incident(4), opened, late)
	}
	figure(t, "second incidents of an episode", d.triggered()-known, 0, 0)
	figure(t, "probes of a check that was disabled after the restore", d.service.hits("/6")-idle, 1, 0)

	// New episodes have incidents of their own.
	d.end(1, 0, 1)
	d.service.repair(path(4))
	eventually(t, "the latch is released", func() bool { return d.cluster.number("SELECT count(*) FROM incidents WHERE latched") == 0 })
	d.open(1, 3)
	d.end(1, 3)
	figure(t, "incidents of new episodes, one expected", d.triggered()-known, 1, 0)
	if d.triggered() != known+1 {
		t.Errorf("%d new incidents for one new episode", d.triggered()-known)
	}
	d.verifyReceiver()
	d.leaveOut(6)
	d.accounts(at)
	d.verifyStreams(events)
	if n := d.cluster.number("SELECT count(*) FROM restores"); n != 1 {
		t.Errorf("%d restores were found, want 1", n)
	}
}

// awaitEpoch waits until the dumps are of an earlier epoch. Later ones show no difference.
func (d *restoreDrill) awaitEpoch() {
	d.t.Helper()
	eventually(d.t, "the dumps are of an earlier epoch", func() bool { return d.cluster.number(epochOf) > d.epoch+1 })
}

// leaveOut removes the rows of a disabled check from what is compared: nothing is due.
func (d *restoreDrill) leaveOut(check int) {
	d.t.Helper()
	for _, table := range []string{"results", "result_gaps", "check_regions"} {
		query(d.t, d.dsn, fmt.Sprintf("DELETE FROM %s WHERE check_id = '%s'", table, d.checks[check]))
	}
}

// verifyReceiver: repeated messages have the IDs of the first ones, and none is out of
// order or unsigned.
func (d *restoreDrill) verifyReceiver() {
	d.t.Helper()
	a := d.receiver.summarize()
	d.t.Logf("the receiver accepted %d openings and %d recoveries; %d repeated with the same ID, %d of them with another text",
		a.opened, a.resolved, a.repeated, a.changed)
	figure(d.t, "messages out of order or unsigned", a.outOfOrder+a.unsigned, 0, 0)
	figure(d.t, "incidents whose end the receiver does not know, but for the one resolved by hand", a.opened-a.resolved-1, 0, 0)
}

func restoreOlderTemporal(t *testing.T) {
	timingtest.Parallel(t)
	pauses := notePauses(t)
	d := newRestoreDrill(t)
	d.open(1, 0, 2, 4) // open at the dump
	d.save("vigil_temporal", "vigil_temporal_visibility")

	d.open(1, 1, 3) // unknown to the dump
	d.end(1, 2, 3)
	d.open(2, 3) // a second episode that is over
	d.end(2, 3)
	d.resolveByHand(4) // its target still fails
	d.edit(5, object{"config": object{"url": d.service.URL + "/moved"}})
	var made check
	d.client.into(&made, http.MethodPost, "/v1/checks", httpCheck("made after the dump", d.service.URL+"/new", 1, clusterRegion))
	eventually(t, "the new check is probed", func() bool { return d.service.hits("/new") > 0 })
	d.settle()
	d.awaitEpoch()
	events, known, posts := d.storedEvents(), d.triggered(), d.posts()
	incidents := d.cluster.number("SELECT count(*) FROM incidents")

	d.cluster.temporal.kill()
	d.restore("vigil_temporal", "vigil_temporal_visibility")
	d.cluster.startTemporal()
	at := time.Now()
	d.awaitTurns(at)
	figure(t, "every loop has a turn of the restored Temporal after", time.Since(at), resumeBound, pauses.longest())
	d.settle()
	figure(t, "incidents opened for past episodes", d.cluster.number("SELECT count(*) FROM incidents")-incidents, 0, 0)
	figure(t, "messages sent again", d.posts()-posts, 0, 0)

	d.end(1, 0, 1)
	d.service.repair(path(4))
	eventually(t, "the latch is released", func() bool { return d.cluster.number("SELECT count(*) FROM incidents WHERE latched") == 0 })
	d.open(3, 3)
	d.end(3, 3)
	if d.triggered() != known+1 {
		t.Errorf("%d new incidents for one new episode", d.triggered()-known)
	}
	if a := d.receiver.summarize(); a.repeated > 0 {
		t.Errorf("%d messages were sent again", a.repeated)
	}
	d.verifyReceiver()
	d.accounts(at)
	d.verifyStreams(events)
}

// awaitTurns waits until Postgres has prepared for the restore and every loop has a
// result after that.
func (d *restoreDrill) awaitTurns(after time.Time) {
	d.t.Helper()
	eventually(d.t, "the restore is found", func() bool { return d.cluster.number("SELECT count(*) FROM restores") > 0 })
	eventually(d.t, "every loop has the new revision", func() bool {
		return d.cluster.number("SELECT count(*) FROM check_regions WHERE desired > applied") == 0
	})
	d.awaitResults(timing.Later(after, time.Now()))
}
