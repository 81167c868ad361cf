// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// unprobed is a check with rules that notify when it is not probed.
type unprobed struct {
	*alerts
	slots []time.Time
}

// newUnprobed stores a check in regions with one result in each, whose rule notifies a webhook. The
// clock is that of maintenance, too.
func newUnprobed(t *testing.T, policy vigil.RegionPolicy, regions ...string) *unprobed {
	t.Helper()
	s, clk := newMaintenanceStore(t)
	u := &unprobed{alerts: newAlertsOn(t, s, clk, vigil.NotifyUnhealthy, vigil.ChannelWebhook)}
	u.check = update(t, s, u.check, func(c *vigil.Check) { c.Regions = regions })
	u.changeRule(func(r *vigil.Rule) { r.Unobserved, r.Policy = vigil.UnobservedNotify, policy })
	u.slots = firstSlots(t, s, u.check, 60)
	for _, region := range regions {
		u.result(region, 0)
	}
	return u
}

func (u *unprobed) changeRule(change func(*vigil.Rule)) {
	u.Helper()
	_, err := u.store.UpdateRule(u.Context(), u.org.ID, u.check.ID, u.rule.ID, func(r *vigil.Rule) error {
		r.UpdatedAt = u.clock.Now()
		change(r)
		return nil
	})
	if err != nil {
		u.Fatal(err)
	}
}

func (u *unprobed) result(region string, slot int) {
	u.Helper()
	write(u.T, newWriter(u.T, u.store, storage.WriterOptions{}), ok(u.check, region, u.slots[slot]))
}

// pass is a pass of the sweep at a slot, each step of it twice, as after a crash.
func (u *unprobed) pass(slot int) {
	u.Helper()
	u.clock.Set(u.slots[slot])
	lease := leaseOf(u.T, u.store, u.check.ID)
	for range 2 {
		ended, err := u.store.ObservedAgain(u.Context(), u.clock.Now(), fleet.EverySweepShard(), 10)
		if err != nil {
			u.Fatal(err)
		}
		begun, err := u.store.Unobserved(u.Context(), u.clock.Now(), epoch(), fleet.EverySweepShard(), 10)
		if err != nil {
			u.Fatal(err)
		}
		for _, one := range ended {
			for range 2 {
				if _, err := u.store.EndUnobserved(u.Context(), lease, one.CheckID, "https://vigil.example"); err != nil {
					u.Fatal(err)
				}
			}
		}
		for _, one := range begun {
			for range 2 {
				if _, err := u.store.BeginUnobserved(u.Context(), lease, one.CheckID, epoch(), "https://vigil.example"); err != nil {
					u.Fatal(err)
				}
			}
		}
	}
	// A pass after that finds nothing, or it would never end.
	ended, err := u.store.ObservedAgain(u.Context(), u.clock.Now(), fleet.EverySweepShard(), 10)
	begun, other := u.store.Unobserved(u.Context(), u.clock.Now(), epoch(), fleet.EverySweepShard(), 10)
	if err != nil || other != nil || len(ended)+len(begun) > 0 {
		u.Errorf("the next pass finds %v and %v, %v, %v", ended, begun, err, other)
	}
}

// sent are the messages to a channel in the order in which they were made, the ends with why.
func (u *unprobed) sent(channel uuid.UUID) []string {
	u.Helper()
	var rows []string
	err := u.store.DB().NewRaw(`SELECT e.type || coalesce(' ' || (e.envelope::jsonb->'data'->'unobserved'->>'end'), '')
		FROM deliveries AS d JOIN events AS e ON e.id = d.event_id WHERE d.channel_id = ? ORDER BY e.seq`, channel).Scan(u.Context(), &rows)
	if err != nil {
		u.Fatal(err)
	}
	return rows
}

// TestNotifiedThatACheckIsNotProbed goes through each way in which it ends.
func TestNotifiedThatACheckIsNotProbed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end func(*unprobed)
		why string
	}{
		"Result":   {func(u *unprobed) { u.result(newark, 9) }, "result"},
		"Disabled": {func(u *unprobed) { update(u.T, u.store, u.check, func(c *vigil.Check) { c.Enabled = false }) }, "disabled"},
		"Deleted": {func(u *unprobed) {
			if _, err := u.store.DeleteCheck(u.Context(), u.org.ID, u.check.ID, nil); err != nil {
				u.Fatal(err)
			}
		}, "deleted"},
		"RegionRemoved": {func(u *unprobed) {
			update(u.T, u.store, u.check, func(c *vigil.Check) { c.Regions = []string{frankfurt} })
		}, "region_removed"},
		"Changed": {func(u *unprobed) { update(u.T, u.store, u.check, func(c *vigil.Check) { c.Interval = time.Minute }) }, "changed"},
		"Maintenance": {func(u *unprobed) {
			maintain(u.T, u.store, maintenanceDraft{org: u.org.ID, all: true, starts: u.slots[3], ends: u.slots[30], probing: "pause"})
		}, "changed"},
		"RuleIgnores":  {func(u *unprobed) { u.changeRule(func(r *vigil.Rule) { r.Unobserved = vigil.UnobservedIgnore }) }, "rule_changed"},
		"RuleDisabled": {func(u *unprobed) { u.changeRule(func(r *vigil.Rule) { r.Enabled = false }) }, "rule_changed"},
		"RuleDeleted": {func(u *unprobed) {
			if err := u.store.DeleteRule(u.Context(), u.org.ID, u.check.ID, u.rule.ID, nil); err != nil {
				u.Fatal(err)
			}
		}, "rule_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnprobed(t, vigil.AnyRegion, newark)
			channel := u.channels[vigil.ChannelWebhook].ID
			u.pass(2)
			equal(t, u.sent(channel), []string(nil))
			u.pass(9)
			u.pass(9)
			equal(t, u.sent(channel), []string{"check.unobserved"})
			row.end(u)
			u.pass(9)
			u.pass(9)
			equal(t, u.sent(channel), []string{"check.unobserved", "check.observed " + row.why})
			if n := u.count("SELECT count(*) FROM unobserved_channels") + u.count("SELECT count(*) FROM incidents"); n > 0 {
				t.Errorf("%d rows are left, or incidents opened", n)
			}
		})
	}
}

// TestUnobservedRegionsCountAsTheRuleAsks: the region policy of the rule decides.
func TestUnobservedRegionsCountAsTheRuleAsks(t *testing.T) {
	t.Parallel()
	const london = "eu-west-lhr"
	begun, over := "check.unobserved", "check.observed result"
	for name, row := range map[string]struct {
		policy vigil.RegionPolicy
		want   [3][]string // with one, two and three regions without results
		end    []string    // then two of them, one and none
	}{
		"Any":      {vigil.AnyRegion, [3][]string{{begun}, {begun}, {begun}}, []string{"", "", over}},
		"Majority": {vigil.MostRegions, [3][]string{nil, {begun}, {begun}}, []string{"", over, over}},
		"All":      {vigil.AllRegions, [3][]string{nil, nil, {begun}}, []string{over, over, over}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnprobed(t, row.policy, newark, frankfurt, london)
			channel, regions := u.channels[vigil.ChannelWebhook].ID, []string{newark, frankfurt, london}
			for n, want := range row.want {
				for _, region := range regions[n+1:] { // those that are probed go on
					u.result(region, 10*n+9)
				}
				u.pass(10*n + 9)
				equal(t, u.sent(channel), want)
			}
			for n, end := range row.end {
				for _, region := range regions[:n+1] {
					u.result(region, 40+n)
				}
				u.pass(40 + n)
				want := []string{begun}
				if end != "" {
					want = append(want, end)
				}
				equal(t, u.sent(channel), want)
			}
		})
	}
}

// TestOneMessageForSeveralRules: a channel of two rules gets one beginning, with the first of them,
// and one end, with the last.
func TestOneMessageForSeveralRules(t *testing.T) {
	t.Parallel()
	u := newUnprobed(t, vigil.AnyRegion, newark, frankfurt)
	webhook := u.channels[vigil.ChannelWebhook]
	pager, err := u.store.CreateChannel(
		t.Context(),
		vigil.Channel{OrgID: u.org.ID, Name: "pager", Type: vigil.ChannelPager, Config: []byte("{}"), Enabled: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	second := u.createRule(vigil.Rule{
		OrgID: u.org.ID, CheckID: u.check.ID, Name: "All", Condition: vigil.Condition{FailureThreshold: 1, Severity: vigil.Warning},
		Channels: []uuid.UUID{webhook.ID, pager.ID}, NotifyOn: vigil.NotifyBoth, Policy: vigil.AllRegions, Enabled: true,
		Unobserved: vigil.UnobservedNotify,
	})
	u.result(frankfurt, 9)
	u.pass(9)
	equal(t, u.sent(webhook.ID), []string{"check.unobserved"})
	equal(t, u.sent(pager.ID), []string(nil))
	u.pass(19)
	equal(t, u.sent(webhook.ID), []string{"check.unobserved"})
	equal(t, u.sent(pager.ID), []string{"check.unobserved"})
	u.result(frankfurt, 20)
	u.pass(20)
	equal(t, u.sent(webhook.ID), []string{"check.unobserved"})
	equal(t, u.sent(pager.ID), []string{"check.unobserved", "check.observed result"})
	u.result(newark, 21)
	u.result(frankfurt, 21)
	u.pass(21)
	equal(t, u.sent(webhook.ID), []string{"check.unobserved", "check.observed result"})

	events, err := u.store.EventsAfter(t.Context(), u.org.ID, vigil.Position{}, time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	severities := map[vigil.EventType][]string{}
	for _, e := range events {
		severities[e.Type] = append(severities[e.Type], e.Variables["severity"])
		if link := e.Variables["incident_url"]; link != "https://vigil.example/app/checks/"+u.check.ID.String() {
			t.Errorf("%s links to %s", e.Type, link)
		}
	}
	equal(t, severities, map[vigil.EventType][]string{
		vigil.EventUnobserved: {"critical", string(second.Severity())}, vigil.EventObserved: {"warning", "critical"},
	})
}

// TestRuleThatNotifiesFromNowOn: a rule that notifies from now on reports what is so now, and a
// channel that is notified again gets both ends.
func TestRuleThatNotifiesFromNowOn(t *testing.T) {
	t.Parallel()
	u := newUnprobed(t, vigil.AnyRegion, newark)
	channel := u.channels[vigil.ChannelWebhook].ID
	notify := func(how vigil.OnUnobserved) { u.changeRule(func(r *vigil.Rule) { r.Unobserved = how }) }
	notify(vigil.UnobservedIgnore)
	u.pass(9)
	equal(t, u.sent(channel), []string(nil))
	notify(vigil.UnobservedNotify)
	u.pass(10)
	notify(vigil.UnobservedIgnore)
	u.pass(11)
	notify(vigil.UnobservedNotify)
	u.pass(12)
	u.result(newark, 13)
	u.pass(13)
	equal(t, u.sent(channel), []string{
		"check.unobserved", "check.observed rule_changed", "check.unobserved", "check.observed result",
	})
	// The event of the check and those of the channel have ids of their own.
	if n := u.count("SELECT count(DISTINCT id) FROM events"); n != 6 {
		t.Errorf("%d events, want 6", n)
	}
}

// TestMaintenanceHoldsTheMessageThatACheckIsNotProbed, and not the end.
func TestMaintenanceHoldsTheMessageThatACheckIsNotProbed(t *testing.T) {
	t.Parallel()
	u := newUnprobed(t, vigil.AnyRegion, newark)
	channel := u.channels[vigil.ChannelWebhook].ID
	maintain(t, u.store, maintenanceDraft{org: u.org.ID, all: true, starts: u.slots[1], ends: u.slots[20]})
	u.pass(9)
	equal(t, u.sent(channel), []string(nil))
	u.pass(21)
	equal(t, u.sent(channel), []string{"check.unobserved"})
	maintain(t, u.store, maintenanceDraft{org: u.org.ID, all: true, starts: u.slots[22], ends: u.slots[40]})
	u.pass(24)
	equal(t, u.sent(channel), []string{"check.unobserved"})
	u.result(newark, 25)
	u.pass(25)
	equal(t, u.sent(channel), []string{"check.unobserved", "check.observed result"})
}

// purge deletes what a deleted check left.
func (u *unprobed) purge() {
	u.Helper()
	stones, err := u.store.Tombstones(u.Context(), fleet.EverySweepShard(), 10)
	if err != nil || len(stones) == 0 {
		u.Fatalf("tombstones %v, %v", stones, err)
	}
	for _, stone := range slices.Clone(stones) {
		for done := false; !done; {
			if done, err = u.store.PurgeLoop(u.Context(), stone); err != nil {
				u.Fatal(err)
			}
		}
	}
}
