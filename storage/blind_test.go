// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func TestBlindRegions(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	ctx, s := t.Context(), a.store
	other, _ := newOrg(t, s)
	paused := draft(other.ID, newark)
	paused.Enabled = false
	newCheck(t, s, paused)
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	since := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	renew := func(worker string, blind time.Time, regions ...string) {
		t.Helper()
		if _, err := s.RenewLease(ctx, fleet.Renewal{Worker: worker, Regions: regions, BlindSince: blind}); err != nil {
			t.Fatal(err)
		}
	}
	record := func(want int) {
		t.Helper()
		for _, published := range []int{want, 0} {
			for range 2 {
				if err := s.RecordBlindRegions(ctx, lease, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			n, err := s.PublishBlindRegions(ctx, 100)
			if err != nil || n != published {
				t.Fatalf("published to %d organizations, %v; want %d", n, err, published)
			}
		}
	}
	blind := func(want map[string]time.Time) {
		t.Helper()
		got, err := s.BlindRegions(ctx, time.Minute)
		if err != nil || len(got) != len(want) {
			t.Fatalf("blind are %v, %v; want %v", got, err, want)
		}
		for region, at := range want {
			if !got[region].Equal(at) {
				t.Errorf("%s is blind since %v, want %v", region, got[region], at)
			}
		}
	}
	renew("w1", time.Time{}, newark, frankfurt)
	renew("w2", time.Time{}, newark)
	record(0)
	blind(nil)

	renew("w1", since.Add(time.Second), newark, singapore, vigil.HeartbeatRegion) // pings are judged without a line
	renew("w2", since, newark)
	blind(map[string]time.Time{newark: since, singapore: since.Add(time.Second)})
	stale := lease
	stale.Fence--
	if err := s.RecordBlindRegions(ctx, stale, time.Minute); err != nil {
		t.Fatal(err)
	}
	equal(t, count(t, s, "SELECT count(*) FROM blind_regions"), int64(0))
	record(1) // the check of the other organization is disabled, and none has one in Singapore
	renew("w2", time.Time{}, newark)
	record(0) // the other worker of the region is blind yet
	const dies = "UPDATE worker_leases SET renewed_at = renewed_at - interval '1 hour' WHERE worker = 'w1'"
	if _, err := s.DB().ExecContext(ctx, dies); err != nil {
		t.Fatal(err)
	}
	blind(nil) // it has died
	record(1)
	renew("w1", since, newark)
	renew("w1", time.Time{}, newark)
	record(0)

	events := a.events()
	equal(t, len(events), 2)
	equal(t, events[0].Type, vigil.EventRegionBlind)
	equal(t, events[1].Type, vigil.EventRegionSighted)
	equal(t, events[0].IncidentID, events[1].IncidentID)
	equal(t, events[0].Variables["region"], newark)
	var body struct {
		Data struct {
			Region     struct{ Key, Name string }
			BlindSince time.Time  `json:"blind_since"`
			SightedAt  *time.Time `json:"sighted_at"`
		}
	}
	for i, event := range events {
		if err := json.Unmarshal(event.Envelope, &body); err != nil {
			t.Fatal(err)
		}
		if body.Data.Region.Key != newark || !body.Data.BlindSince.Equal(since) || (body.Data.SightedAt != nil) != (i == 1) {
			t.Errorf("%s", event.Envelope)
		}
	}

	renew("w1", since, newark) // another time begins and ends before anybody publishes it
	for _, at := range []time.Time{since, {}} {
		renew("w1", at, newark)
		if err := s.RecordBlindRegions(ctx, lease, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	record(1)
	events = a.events()
	equal(t, len(events), 4)
	if events[2].IncidentID == events[0].IncidentID || events[2].Type != vigil.EventRegionBlind || events[3].Type != vigil.EventRegionSighted {
		t.Errorf("another time gives %s and %s of %s", events[2].Type, events[3].Type, events[2].IncidentID)
	}
	keep := storage.DefaultRetention()
	if err := s.DropExpired(ctx, time.Now().Add(keep.Incidents+time.Hour), keep); err != nil {
		t.Fatal(err)
	}
	equal(t, count(t, s, "SELECT count(*) FROM blind_regions"), int64(0))
	equal(t, count(t, s, "SELECT count(*) FROM blind_organizations"), int64(0))
}

// TestEventOfABlindRegionThatFails tests that one organization whose event is not stored keeps no other one from the end.
func TestEventOfABlindRegionThatFails(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	ctx, s := t.Context(), a.store
	other, _ := newOrg(t, s)
	newCheck(t, s, draft(other.ID, newark))
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	record := func(blind time.Time) {
		t.Helper()
		if _, err := s.RenewLease(ctx, fleet.Renewal{Worker: "w1", Regions: []string{newark}, BlindSince: blind}); err != nil {
			t.Fatal(err)
		}
		if err := s.RecordBlindRegions(ctx, lease, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	record(time.Now().Add(-time.Minute))
	if n, err := s.PublishBlindRegions(ctx, 100); err != nil || n != 2 {
		t.Fatalf("published to %d organizations, %v", n, err)
	}
	record(time.Time{})
	var first, second string // in the order in which they are published
	const order = "SELECT min(org_id::text), max(org_id::text) FROM blind_organizations"
	if err := s.DB().QueryRowContext(ctx, order).Scan(&first, &second); err != nil {
		t.Fatal(err)
	}
	execute(t, s, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	execute(t, s, `CREATE TRIGGER refuse BEFORE UPDATE ON blind_organizations FOR EACH ROW
		WHEN (NEW.org_id = '`+first+`') EXECUTE FUNCTION refuse()`)
	if _, err := s.PublishBlindRegions(ctx, 100); err == nil {
		t.Error("no error of the organization whose event is refused")
	}
	if n := count(t, s, "SELECT count(*) FROM blind_organizations WHERE org_id = ? AND ended", second); n != 1 {
		t.Error("the other organization is not notified of the end")
	}
}
