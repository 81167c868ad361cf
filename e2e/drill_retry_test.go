// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

// TestDrillRetryKilled kills a worker while its checks are between two attempts. Every slot
// has one result or is recorded as missed, and no failure is stored without its retry,
// unless the next slot was too near for one.
func TestDrillRetryKilled(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 20, interval: 8 * time.Second, rounds: 1}, drill{checks: 100, interval: 8 * time.Second, rounds: 10})
	const delay = 3 * time.Second // so a third of the checks is between two attempts at any time
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, d.checks, d.interval)
	s.retry(vigil.Retry{Attempts: 1, Delay: delay})
	site.broken.Store(true)
	const retried = "NOT success AND jsonb_array_length(coalesce(metadata->'attempts', '[]')) = 1"
	eventually(t, "every check retries", func() bool {
		return s.number("SELECT count(DISTINCT check_id) FROM results WHERE "+retried) == d.checks
	})
	began := time.Now()
	p := notePauses(t)
	for range d.rounds {
		s.awaitWorkers()
		s.awaitResults(time.Now())
		wait(t, "a random instant, on which the outcome must not depend", rand.N(delay))
		i := rand.IntN(len(s.workers))
		s.workers[i].kill()
		s.startWorker(i)
	}
	wait(t, "an outage to show", outage)
	l := s.audit(time.Now())
	t.Logf("%d checks every %v: %s; %d probes reached the target; %v", d.checks, d.interval, &l, site.hits.Load(), p)
	l.exact(t)
	// The delay ends before the next slot when the first attempt ends early enough.
	soon := d.interval - delay - 500*time.Millisecond
	if n := s.number("SELECT count(*) FROM results WHERE NOT ("+retried+") AND slot > $1 AND time - slot < $2::bigint * interval '1 ms'",
		began, soon.Milliseconds()-p.longest().Milliseconds()); n != 0 {
		t.Errorf("%d failures are stored without a retry", n)
	}
	figure(t, "silence of a loop beyond its interval", l.silence, outage, p.longest())
}

// retry makes all checks of the cluster retry.
func (s *cluster) retry(retry vigil.Retry) {
	s.t.Helper()
	type stored struct{ id, org uuid.UUID }
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id, org_id FROM checks")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []stored
	for rows.Next() {
		var one stored
		if err := rows.Scan(&one.id, &one.org); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.withStore(func(store *storage.Store) {
		for _, one := range all {
			_, err := store.UpdateCheck(
				s.t.Context(),
				one.org,
				one.id,
				account.PlanOf(account.TierEnterprise, time.Second),
				func(c *vigil.Check) error {
					c.Retry = retry
					return nil
				},
			)
			if err != nil {
				s.t.Fatal(err)
			}
		}
	})
}
