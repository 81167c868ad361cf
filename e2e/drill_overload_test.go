// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

// TestDrillOverload: more slots are due than can be probed, then almost none. The long form
// needs the whole machine; in the short one the places for probes are scarce, of which a slow
// target takes each for most of a second.
func TestDrillOverload(t *testing.T) {
	timingtest.Parallel(t)
	first, more, measured, window := 15, 150, 12*time.Second, "16s" // turns end, and could time out, meanwhile
	places, slow := 64, 600*time.Millisecond
	if full() {
		first, more, measured, window = 1000, 3000, 90*time.Second, "1m"
		places, slow = 4096, 0
	}
	site := newSwitchable(t)
	site.slow = slow
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", "VIGIL_QUIET_WINDOW="+window, "VIGIL_TURN_RATE=0.001",
		fmt.Sprintf("VIGIL_MAX_PROBES=%d", places))
	s.workers[1].stop()
	c, org := s.signUp("overload")
	load := group{org, "load", first, time.Second, 1, []string{site.URL}}
	s.seedGroups(load)
	s.began = time.Now().Truncate(time.Microsecond)
	most := s.throughput(measured)
	load.checks = more
	total := first
	for round := 1; round == 1 || s.overloaded() == 0; round++ { // how much is too much depends on the machine
		if round > 6 {
			t.Fatalf("the region is not overloaded with %d loops every second", total)
		}
		s.addGroups(load) // an overloaded machine need not start all of them
		total += more
		for tries := 0; tries < 100 && s.overloaded() == 0; tries++ {
			time.Sleep(200 * time.Millisecond) // sleep: between two looks, and no failure when it is not overloaded yet
		}
	}
	s.refusesLoad(c)
	rate := s.throughput(measured)
	t.Logf("%.0f results a second with %d loops, %.0f with %d", most, first, rate, total)
	figure(t, "throughput lost to overload, percent", 100*(1-rate/max(most, rate)), 10, 0)

	began := time.Now()
	left := min(first, 100)
	s.disable(org, total-left)
	t.Logf("%d checks disabled in %v", total-left, time.Since(began).Round(time.Millisecond))
	// The end of so many loops is load as well, which falls when Temporal knows of each.
	eventuallyWithin(t, 4*waitLimit, "Temporal has accepted every end", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE desired > applied") == 0
	})
	fell := time.Now()
	t.Logf("the end of every loop accepted after %v", fell.Sub(began).Round(time.Millisecond))
	eventuallyWithin(t, time.Minute, "the region is calm", func() bool { return s.overloaded() == 0 })
	p := notePauses(t)
	figure(t, "calm after the load fell", time.Since(fell), 30*time.Second, p.longest())
	wait(t, "the end of what was late when the load fell", 10*time.Second)
	calm := time.Now()
	wait(t, "slots of the calm time", 5*time.Second)
	late, worst, _ := s.lateness(group{org: org, name: "load"}, calm, 0.99)
	t.Logf("then slots are late by %v at p99, %v at most", late, worst)
	figure(t, "late at p99 when calm", late, time.Second, p.longest())
	figure(t, "turns that timed out", s.timedOut(), 0, 0)
	l := s.audit(time.Now())
	t.Logf("%s", &l)
	l.exact(t)
}

// signUp makes an organization through the API.
func (s *cluster) signUp(name string) (client, uuid.UUID) {
	s.t.Helper()
	c := client{t: s.t, url: s.apiURL}
	eventually(s.t, "the API answers", func() bool { _, err := c.try(http.MethodGet, "/health", nil); return err == nil })
	var account struct {
		APIKey string `json:"api_key"`
	}
	c.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": name + "@vigil.test", "org_name": name})
	c.key = account.APIKey
	var org uuid.UUID
	if err := s.db.QueryRowContext(s.t.Context(), "SELECT id FROM organizations WHERE name = $1", name).Scan(&org); err != nil {
		s.t.Fatal(err)
	}
	return c, org
}

// throughput returns how many results are stored in a second.
func (s *cluster) throughput(over time.Duration) float64 {
	s.t.Helper()
	const stored = "SELECT count(*) FROM results WHERE time >= $1"
	began := time.Now()
	before := s.number(stored, s.began)
	wait(s.t, "a span in which results are counted", over)
	return float64(s.number(stored, s.began)-before) / time.Since(began).Seconds()
}

// overloaded returns how many live workers say that they are overloaded.
func (s *cluster) overloaded() int {
	return s.number("SELECT count(*) FROM worker_leases WHERE overloaded AND renewed_at > clock_timestamp() - interval '3 s'")
}

// refusesLoad checks what the API does while its region is overloaded.
func (s *cluster) refusesLoad(c client) {
	s.t.Helper()
	check := httpCheck("one more", "http://127.0.0.1:1/", 1, clusterRegion)
	request := func(method, path string, body any, want int) {
		s.t.Helper()
		if a := c.do(method, path, body); a.Status != want {
			s.t.Errorf("%s %s answered %d %s, want %d", method, path, a.Status, a.Error, want)
		}
	}
	request(http.MethodPost, "/v1/checks", check, http.StatusServiceUnavailable)
	var listed []struct {
		ID string `json:"id"`
	}
	c.into(&listed, http.MethodGet, "/v1/checks?limit=1", nil)
	path := "/v1/checks/" + listed[0].ID
	request(http.MethodPost, path+"/test", nil, http.StatusServiceUnavailable)
	request(http.MethodPut, path, map[string]any{"name": "renamed"}, http.StatusOK)
	request(http.MethodPut, path, map[string]any{"enabled": false}, http.StatusOK)
	request(http.MethodPut, path, map[string]any{"enabled": true}, http.StatusServiceUnavailable)
	request(http.MethodDelete, path, nil, http.StatusNoContent)
	var ready struct {
		Probing string `json:"probing"`
	}
	c.into(&ready, http.MethodGet, "/ready", nil)
	if !strings.Contains(ready.Probing, clusterRegion) {
		s.t.Errorf("/ready says of probing: %s", ready.Probing)
	}
}

// disable disables that many of the enabled checks of an organization; the sweep stops
// their loops.
func (s *cluster) disable(org uuid.UUID, n int) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id FROM checks WHERE enabled ORDER BY id LIMIT $1", n)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var ids []uuid.UUID
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.withStore(func(store *storage.Store) {
		plan := account.PlanOf(account.TierEnterprise, time.Second)
		for _, id := range ids {
			_, err := store.UpdateCheck(s.t.Context(), org, id, plan, func(check *vigil.Check) error {
				check.Enabled = false
				return nil
			})
			if err != nil {
				s.t.Fatal(err)
			}
		}
	})
}

// timedOut returns how many turns of some loops timed out.
func (s *cluster) timedOut() int {
	s.t.Helper()
	return s.events(enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
}

// events returns how many events of a type are in the histories of the last runs of at most
// 300 loops that have probed: an overloaded region need not have started every loop.
func (s *cluster) events(kind enumspb.EventType) (count int) {
	s.t.Helper()
	c := dialTemporal(s.t, s.temporal.ready.TemporalAddress, s.temporal.ready.Namespace)
	defer c.Close()
	started := s.started(300)
	seen := 0
	for _, id := range started {
		events := c.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				s.t.Fatal(err)
			}
			seen++
			if event.GetEventType() == kind {
				count++
			}
		}
	}
	if seen == 0 {
		s.t.Error("no history was read")
	}
	s.t.Logf("%d events of %d loops were read", seen, len(started))
	return count
}

// started returns the workflow IDs of at most that many loops that have probed.
func (s *cluster) started(most int) (ids []string) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(),
		"SELECT check_id, region FROM check_regions WHERE last_slot IS NOT NULL ORDER BY check_id, region LIMIT $1", most)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var check uuid.UUID
		var region string
		if err := rows.Scan(&check, &region); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, vigil.LoopID(check, region))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return ids
}
