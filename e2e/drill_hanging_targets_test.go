// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

// hangable are HTTP targets that answer until they hang: then they accept connections and
// never answer.
type hangable struct {
	urls    []string
	hanging atomic.Bool
	open    atomic.Int64 // requests that wait for an answer
	most    atomic.Int64
}

func newHangable(t *testing.T, targets int) *hangable {
	t.Helper()
	h := &hangable{}
	over := make(chan struct{})
	for range targets {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if !h.hanging.Load() {
				return
			}
			h.most.Store(max(h.most.Load(), h.open.Add(1)))
			defer h.open.Add(-1)
			select {
			case <-r.Context().Done():
			case <-over:
			}
		}))
		t.Cleanup(server.Close)
		h.urls = append(h.urls, server.URL)
	}
	t.Cleanup(func() { close(over) }) // first: the servers wait for their requests
	return h
}

// group is some checks of one organization that are probed alike.
type group struct {
	org      uuid.UUID
	name     string
	checks   int
	interval time.Duration
	timeout  int // seconds
	urls     []string
}

// organization makes an organization.
func (s *cluster) organization(name string) (id uuid.UUID) {
	s.t.Helper()
	s.withStore(func(store *storage.Store) { id = s.createOrganization(store, name) })
	return id
}

// seedGroups makes the checks of groups and waits until every loop has a result.
func (s *cluster) seedGroups(groups ...group) {
	s.t.Helper()
	total := s.addGroups(groups...)
	// More than the usual limit: an overloaded machine starts loops slowly.
	eventuallyWithin(s.t, 3*waitLimit, "every loop has a result", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_slot IS NOT NULL") >= total
	})
}

// addGroups makes the checks of groups, and returns how many loops there are then.
func (s *cluster) addGroups(groups ...group) int {
	s.t.Helper()
	total := s.number("SELECT count(*) FROM check_regions")
	s.withStore(func(store *storage.Store) {
		for _, g := range groups {
			total += g.checks
			for i := range g.checks {
				url := fmt.Sprintf("%s/%s/%d", g.urls[i%len(g.urls)], g.name, i)
				s.createCheck(store, g.org, g.name, url, g.timeout, g.interval)
			}
		}
	})
	return total
}

// lateness returns how late the slots of a group were probed at a quantile and at most, and how
// many of them were missed, from an instant on.
func (s *cluster) lateness(g group, from time.Time, quantile float64) (late, worst time.Duration, missed int) {
	s.t.Helper()
	var at, most float64
	err := s.db.QueryRowContext(s.t.Context(), `SELECT
			coalesce(percentile_cont($3::float8) WITHIN GROUP (ORDER BY extract(epoch FROM r.time - r.slot)::float8), 0),
			coalesce(max(extract(epoch FROM r.time - r.slot)::float8), 0)
		FROM results AS r JOIN checks AS c ON c.id = r.check_id
		WHERE c.org_id = $1 AND c.name = $2 AND NOT r.manual AND r.slot >= $4`, g.org, g.name, quantile, from).Scan(&at, &most)
	if err != nil {
		s.t.Fatal(err)
	}
	missed = s.number(`SELECT coalesce(sum(x.count), 0) FROM result_gaps AS x JOIN checks AS c ON c.id = x.check_id
		WHERE c.org_id = $1 AND c.name = $2 AND x.last_slot >= $3`, g.org, g.name, from)
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	return seconds(at), seconds(most), missed
}

// TestDrillHangingTargets: 600 checks whose targets begin to hang all at once, beside good
// checks of the same organization and of another one, in one worker.
func TestDrillHangingTargets(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 600, rounds: 3}, drill{checks: 600, rounds: 12})
	const timeout = 10 * time.Second
	variants := map[string]int{"ManyPlaces": 4096}
	if full() {
		variants["FewPlaces"] = 256 // most of the hanging checks wait for a place
	}
	for name, places := range variants {
		t.Run(name, func(t *testing.T) {
			site := newSwitchable(t)
			targets := newHangable(t, 6)
			s := newCluster(t, fmt.Sprintf("VIGIL_MAX_PROBES=%d", places))
			s.workers[1].stop() // all of it in one process
			one, two := s.organization("one"), s.organization("two")
			hanging := group{one, "hanging", d.checks, timeout, int(timeout.Seconds()), targets.urls}
			good := map[string]group{
				"the same organization": {one, "good", 20, 2 * time.Second, 2, []string{site.URL}},
				"another organization":  {two, "good", 20, 2 * time.Second, 2, []string{site.URL}},
			}
			s.seedGroups(hanging, good["the same organization"], good["another organization"])
			wait(t, "the first turns of all loops, which are a load of their own", timeout)
			p := notePauses(t)
			s.began = time.Now().Truncate(time.Microsecond)
			targets.hanging.Store(true)
			wait(t, "slots of targets that hang", time.Duration(d.rounds)*timeout)
			until := time.Now()
			targets.hanging.Store(false)
			l := s.audit(until)
			_, _, missed := s.lateness(hanging, s.began, 0.99)
			t.Logf("%d checks hang for %v each in %d places, %d probes waited at once, %d slots of them missed: %s; %v",
				d.checks, timeout, places, targets.most.Load(), missed, &l, p)
			l.exact(t)
			for whose, g := range good {
				late, worst, missed := s.lateness(g, s.began, 0.99)
				t.Logf("good checks of %s: late %v at p99, %v at most, %d missed", whose, late, worst, missed)
				figure(t, "good checks of "+whose+": late at p99", late, 250*time.Millisecond, p.longest())
				figure(t, "good checks of "+whose+": missed", missed, 0, g.checks*p.slots(g.interval))
			}
			if probed := s.number(
				"SELECT count(DISTINCT check_id) FROM results WHERE NOT success AND slot >= $1",
				s.began,
			); full() &&
				probed < d.checks {
				t.Errorf("%d of %d hanging checks were probed", probed, d.checks)
			}
		})
	}
}
