// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// TestResultsAndVotesPastForeignLocks tests that results and votes of a check are stored while
// somebody else's transaction has a row that they belong to: a loop waits for its vote before it
// probes again.
func TestResultsAndVotesPastForeignLocks(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"Organization": "SELECT FROM organizations FOR UPDATE",
		"Check":        "SELECT FROM checks WHERE id IN (?) FOR UPDATE",
		"Loop":         "SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE",
		"Rule":         "SELECT FROM alert_rules WHERE check_id IN (?) FOR UPDATE",
		"Incident":     "SELECT FROM incidents WHERE check_id IN (?) FOR UPDATE",
		"Lease":        "SELECT FROM worker_leases FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
			a.open(a.fails(frankfurt))
			other := newCheck(t, a.store, draft(a.org.ID, newark))
			w := newWriter(t, a.store, storage.WriterOptions{Now: time.Now})
			unlock := locker{tb: t, s: a.store}.lock(sql, a.check, other)
			defer unlock()
			for what, c := range map[string]vigil.Check{"voted before": a.check, "is new": other} {
				began := time.Now()
				slots := slotsOf(scheduleOf(t, a.store, c, newark), epoch().Add(time.Hour), epoch().Add(3*time.Hour))
				for i := range 3 {
					write(t, w, ok(c, newark, slots[i]))
				}
				wrote := time.Since(began)
				for i, firing := range [][]uuid.UUID{nil, {a.rule.ID}, nil} {
					began := time.Now()
					vote := vigil.Vote{Region: newark, Revision: c.Revision, Slot: slots[i], Firing: firing}
					if _, err := a.store.SaveVote(t.Context(), c.ID, vote); err != nil {
						t.Errorf("the vote of a check that %s: %v after %v", what, err, time.Since(began))
					} else {
						t.Logf("results %v, vote %d of a check that %s: %v", wrote, i, what, time.Since(began))
					}
				}
			}
		})
	}
}

// TestVoteOfARemovedRegion tests that a vote that is stored while its region is removed does not
// count when the region is added again, and is deleted with the tombstone.
func TestVoteOfARemovedRegion(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	again, gone := newCheck(t, s, draft(org.ID, newark, frankfurt)), newCheck(t, s, draft(org.ID, newark, frankfurt))
	votes := func(c vigil.Check, want int64) {
		t.Helper()
		if n := count(t, s, "SELECT count(*) FROM region_votes WHERE check_id = ? AND region = ?", c.ID, frankfurt); n != want {
			t.Errorf("%d votes of the region, want %d", n, want)
		}
	}
	for _, c := range []vigil.Check{again, gone} {
		for _, region := range c.Regions {
			vote := vigil.Vote{Region: region, Revision: c.Revision, Slot: epoch().Add(time.Hour), Firing: []uuid.UUID{uuid.New()}}
			if _, err := s.SaveVote(t.Context(), c.ID, vote); err != nil {
				t.Fatal(err)
			}
		}
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark} })
		votes(c, 0)
		// As by a transaction that did not see the removal.
		if _, err := s.DB().NewRaw(`INSERT INTO region_votes (check_id, region, revision, slot, failures, firing)
			VALUES (?, ?, 1, now(), 1, ARRAY[gen_random_uuid()])`, c.ID, frankfurt).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, again, func(c *vigil.Check) { c.Regions = []string{newark, frankfurt} })
	votes(again, 0)
	stones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
	if err != nil || len(stones) != 1 {
		t.Fatalf("%d tombstones, %v", len(stones), err)
	}
	for done := false; !done; {
		if done, err = s.PurgeLoop(t.Context(), stones[0]); err != nil {
			t.Fatal(err)
		}
	}
	votes(gone, 0)
	for _, c := range []vigil.Check{again, gone} {
		if n := count(t, s, "SELECT count(*) FROM region_votes WHERE check_id = ? AND region = ?", c.ID, newark); n != 1 {
			t.Errorf("%d votes of the region that stays, want 1", n)
		}
	}
}
