// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// TestChangesHaveIncidentsSwept holds that what changes a check, its rules or its votes leaves its incident and its votes
// to the next pass of the sweep in the same transaction: the process may end before it signals the workflow.
func TestChangesHaveIncidentsSwept(t *testing.T) {
	t.Parallel()
	silence := func(a *alerts) vigil.RegionSilence {
		return vigil.RegionSilence{CheckID: a.check.ID, OrgID: a.org.ID, Region: frankfurt, Silent: true}
	}
	for name, test := range map[string]struct {
		change func(a *alerts) error
		votes  bool // remain
	}{
		"CheckDisabled": {func(a *alerts) error {
			update(a.T, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
			return nil
		}, false},
		"RegionRemoved": {func(a *alerts) error {
			update(a.T, a.store, a.check, func(c *vigil.Check) { c.Regions = []string{newark} })
			return nil
		}, true},
		"RuleCreated": {func(a *alerts) error {
			rule := a.rule
			rule.ID, rule.Name = uuid.New(), "Looser"
			_, err := a.store.CreateRule(a.Context(), rule)
			return err
		}, true},
		"RuleChanged": {func(a *alerts) error {
			_, err := a.store.UpdateRule(a.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error {
				r.Enabled = false
				return nil
			})
			return err
		}, true},
		"RuleDeleted": {func(a *alerts) error {
			return a.store.DeleteRule(a.Context(), a.org.ID, a.check.ID, a.rule.ID, nil)
		}, true},
		"ChannelDeleted": {func(a *alerts) error {
			_, err := a.store.DeleteChannel(a.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, true, nil)
			return err
		}, true},
		"RegionSilent": {func(a *alerts) error { return a.store.MarkSilence(a.Context(), a.lease(), silence(a)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
			other := newAlertsOn(t, a.store, a.clock, vigil.NotifyBoth, vigil.ChannelWebhook)
			id := a.open(a.fails(newark)).Incident.ID
			other.open(other.fails(newark))
			a.clock.Set(epoch().Add(time.Hour))
			for _, table := range []string{"incidents", "region_votes"} {
				execute(t, a.store, "UPDATE "+table+" SET swept_at = ?, sweep_wait_ms = 600000", a.clock.Now())
			}
			if err := test.change(a); err != nil {
				t.Fatal(err)
			}
			found, err := a.store.StalledIncidents(t.Context(), a.clock.Now(), fleet.EverySweepShard(), 10)
			if err != nil || len(found) != 1 || found[0].ID != id {
				t.Errorf("due are %+v, %v; want the incident of the check alone", found, err)
			}
			const due = "SELECT count(*) FROM region_votes WHERE check_id = ? AND swept_at = 'epoch' AND sweep_wait_ms = 0"
			if n := count(t, a.store, due, a.check.ID); n != 1 == test.votes {
				t.Errorf("%d votes of the check are due", n)
			}
			if n := count(t, a.store, due, other.check.ID); n != 0 {
				t.Errorf("%d votes of the other check are due", n)
			}
		})
	}

	t.Run("NotByAnOlderFence", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.fails(newark)
		a.fails(frankfurt)
		stale := a.lease()
		stale.Fence--
		if err := a.store.MarkSilence(t.Context(), stale, silence(a)); err != nil {
			t.Fatal(err)
		}
		if n := count(t, a.store, "SELECT count(*) FROM region_votes WHERE silent OR swept_at = 'epoch'"); n != 0 {
			t.Errorf("%d votes are changed", n)
		}
	})
}

// TestChangesAndSilencesLockInOneOrder changes, disables and votes for a check while its regions become silent: none of it
// ends in a deadlock.
func TestChangesAndSilencesLockInOneOrder(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	a.open(a.fails(newark), a.fails(frankfurt))
	lease, before := a.lease(), deadlocks(t, a.store)
	revision := func(region string) vigil.Vote {
		return vigil.Vote{Region: region, Revision: 1_000_000, Slot: a.slot.Add(time.Hour), Failures: 1, Firing: a.fails(region).Firing}
	}
	votes := map[string]vigil.Vote{newark: revision(newark), frankfurt: revision(frankfurt)}
	var group sync.WaitGroup
	for region, vote := range votes {
		group.Go(func() {
			for i := range 40 {
				silent := vigil.RegionSilence{CheckID: a.check.ID, OrgID: a.org.ID, Region: region, Silent: i%2 == 0}
				if err := a.store.MarkSilence(t.Context(), lease, silent); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 40 {
				_, err := a.store.SaveVote(t.Context(), a.check.ID, vote)
				if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound { // while it is disabled
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() { toggle(t, a.store, a.check) })
	group.Go(func() {
		for range 40 {
			if err := a.store.SweepIncidentSoon(t.Context(), a.check.ID); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	if after := deadlocks(t, a.store); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
}

// toggle disables and enables a check, and changes its regions, many times.
func toggle(t *testing.T, s *storage.Store, check vigil.Check) {
	t.Helper()
	for i := range 40 {
		_, err := s.UpdateCheck(t.Context(), check.OrgID, check.ID, unlimited(), func(c *vigil.Check) error {
			switch i % 4 {
			case 0:
				c.Enabled = false
			case 1:
				c.Enabled = true
			case 2:
				c.Regions = []string{frankfurt}
			default:
				c.Regions = []string{newark, frankfurt}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
