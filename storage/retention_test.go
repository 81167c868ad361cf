// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

func TestIncidentRetention(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	resolved := func(how vigil.Resolution, deliver bool) (*alerts, vigil.IncidentHead) {
		a := newAlertsOn(t, s, clock, vigil.NotifyUnhealthy, vigil.ChannelWebhook)
		head := a.open(a.fails(newark)).Incident
		if deliver {
			a.deliver(head.ID, vigil.ChannelWebhook)
		}
		if how != "" {
			a.resolve(head.ID, how)
		}
		return a, head
	}
	ended, endedHead := resolved(vigil.ResolvedAutomatically, true)
	open, openHead := resolved("", true)
	latched, latchedHead := resolved(vigil.ResolvedManually, true)
	pending, pendingHead := resolved(vigil.ResolvedAutomatically, false)
	kept := func(a *alerts, head vigil.IncidentHead) bool {
		t.Helper()
		_, err := s.Incident(t.Context(), a.org.ID, head.ID)
		if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Fatal(err)
		}
		deliveries := a.count("SELECT count(*) FROM deliveries WHERE incident_id = ?", head.ID)
		if events := a.count("SELECT count(*) FROM events WHERE incident_id = ?", head.ID); err != nil && deliveries+events != 0 {
			t.Errorf("%d deliveries and %d events of a dropped incident are left", deliveries, events)
		}
		return err == nil
	}
	drop := func(age int) {
		t.Helper()
		keep := storage.Retention{Incidents: 400 * day, Events: 7 * day, Attempts: 30 * day}
		if err := s.DropExpired(t.Context(), clock.Now().Add(time.Duration(age)*day), keep); err != nil {
			t.Fatal(err)
		}
	}

	drop(399)
	if !kept(ended, endedHead) {
		t.Error("an incident of 399 days was dropped")
	}
	if n := ended.count("SELECT count(*) FROM attempts"); n != 0 {
		t.Errorf("%d attempts outlive their retention", n)
	}
	drop(401)
	if kept(ended, endedHead) {
		t.Error("an incident of 401 days is left")
	}
	for what, is := range map[string]bool{
		"open": kept(open, openHead), "latched": kept(latched, latchedHead), "pending": kept(pending, pendingHead),
	} {
		if !is {
			t.Errorf("the %s incident was dropped", what)
		}
	}
	if n := ended.count("SELECT count(*) FROM deliveries WHERE status = 'pending'"); n != 1 {
		t.Fatalf("%d pending deliveries, want the opening", n)
	}
	pending.deliver(pendingHead.ID, vigil.ChannelWebhook)
	if err := s.KeepLatch(t.Context(), vigil.Latch{IncidentID: latchedHead.ID}, true); err != nil {
		t.Fatal(err)
	}
	drop(401)
	if kept(pending, pendingHead) || kept(latched, latchedHead) || !kept(open, openHead) {
		t.Error("not exactly the incidents that have ended were dropped")
	}
}

func TestAuditRetention(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	_, err := s.DB().NewRaw(`INSERT INTO audit_log (id, org_id, at, action, key_prefix, members, request_id, address, user_agent)
		SELECT gen_random_uuid(), ?, ?::timestamptz - n * interval '1 hour', 'check.create', '', '{}', '', '', ''
		FROM generate_series(1, 12000) AS n`,
		org.ID, epoch()).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropExpired(t.Context(), epoch(), storage.DefaultRetention()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM audit_log"); n != 9600 {
		t.Errorf("%d entries are left, want those of 400 days, 9600", n)
	}
}

// TestRowsOfADeletedCheckThatAppearLateArePurged proves that a tombstone is not dropped
// before what its check left.
func TestRowsOfADeletedCheckThatAppearLateArePurged(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	if _, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil); err != nil {
		t.Fatal(err)
	}
	purgeCheck(t, s, c)
	_, err := s.DB().NewRaw(`INSERT INTO result_gaps
		SELECT ?0, ?1, ?2::timestamptz + n * interval '1 min', ?2::timestamptz + n * interval '1 min', 1000, 1
		FROM generate_series(1, 2500) AS n`, c.ID, newark, epoch()).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropExpired(t.Context(), now.Add(2*day), storage.Retention{Tombstones: day}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT (SELECT count(*) FROM result_gaps) + (SELECT count(*) FROM loop_tombstones)"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
