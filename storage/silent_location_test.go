// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/agents"
)

// TestSilentRegionOfAgents proves that a public region whose agents are all silent is none that is probed: its votes do not
// count, its loops are not nudged, and it is no event of an organization. A worker without a line says nothing about it.
func TestSilentRegionOfAgents(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := a.store
	region := newark
	served := func(want map[string][]vigil.CheckType) {
		t.Helper()
		found, err := s.ServedRegions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, found, want)
	}
	served(map[string][]vigil.CheckType{})
	in, token, err := s.SetRegionToken(t.Context(), region, "Region")
	if err != nil {
		t.Fatal(err)
	}
	served(map[string][]vigil.CheckType{region: nil})
	session := connectedWith(t, s, agents.TokenHash(token), vigil.TypeHTTP)
	if _, err := s.ReportOf(t.Context(), location.Seen{Session: session, Report: &agentlink.Report{}}); err != nil {
		t.Fatal(err)
	}
	if found, err := s.ServedRegions(t.Context()); err != nil || !slices.Equal(found[region], []vigil.CheckType{vigil.TypeHTTP}) {
		t.Errorf("with an agent it is served by %v, %v", found, err)
	}
	voted := func() (silent bool) {
		t.Helper()
		read, err := s.IncidentContext(t.Context(), a.check.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range read.Regions {
			if one.Region == region {
				silent = one.Silent
			}
		}
		return silent
	}
	a.fails(region)
	now := loopOf(t, s, a.check, region).NextDue // it is not overdue
	a.clock.Set(now)
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	long := time.Now().Add(-time.Hour)
	pass := func() {
		t.Helper()
		if _, err := s.PublishSilentLocations(t.Context(), lease, long, 100); err != nil {
			t.Fatal(err)
		}
		silences, err := s.Silences(t.Context(), now, epoch(), fleet.EverySweepShard(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range silences {
			if err := s.MarkSilence(t.Context(), lease, one); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass()
	equal(t, voted(), false)
	for _, table := range []string{"locations", "agents"} {
		column := map[string]string{"locations": "id", "agents": "location_id"}[table]
		sql := "UPDATE " + table + " SET seen_at = clock_timestamp() - interval '31 s' WHERE " + column + " = ?"
		if _, err := s.DB().NewRaw(sql, in.ID).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	served(map[string][]vigil.CheckType{region: nil})
	pass()
	equal(t, voted(), true)
	if _, err := s.ReportOf(t.Context(), location.Seen{Session: session, Report: &agentlink.Report{}}); err != nil {
		t.Fatal(err)
	}
	pass()
	equal(t, voted(), false)
	for _, event := range a.events() {
		if event.Type == vigil.EventLocationSilent || event.Type == vigil.EventLocationBack {
			t.Errorf("an event of an organization: %v", event.Type)
		}
	}
}

// TestSilentLocations proves that the silence of a location and its end are events, each once, and that one begins
// 30 s after the last report, unless no agent could report.
func TestSilentLocations(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := a.store
	org := a.check.OrgID
	in, hash := placed(t, s, org, office)
	placed(t, s, org, "loc-unused") // no agent has ever connected
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	long := time.Now().Add(-time.Hour)
	publish := func(since time.Time, want int) {
		t.Helper()
		for _, n := range []int{want, 0} {
			if got, err := s.PublishSilentLocations(t.Context(), lease, since, 100); err != nil || got != n {
				t.Fatalf("published %d, %v; want %d", got, err, n)
			}
		}
	}
	session := connected(t, s, hash)
	report := func() {
		t.Helper()
		if _, err := s.ReportOf(t.Context(), location.Seen{Session: session, Report: &agentlink.Report{}}); err != nil {
			t.Fatal(err)
		}
	}
	age := func(by string) {
		t.Helper()
		const sql = "UPDATE locations SET seen_at = clock_timestamp() - ?::interval WHERE id = ?"
		if _, err := s.DB().NewRaw(sql, by, in.ID).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	publish(long, 0)
	report()
	publish(long, 0)
	age("20 s")
	publish(long, 0)
	age("31 s")
	publish(time.Now(), 0) // the platform was away
	stale := lease
	stale.Fence--
	if _, err := s.PublishSilentLocations(t.Context(), stale, long, 100); err != nil {
		t.Fatal(err)
	}
	equal(t, len(a.events()), 0)
	publish(long, 1)
	report()
	publish(long, 1)

	events := a.events()
	equal(t, len(events), 2)
	equal(t, events[0].Type, vigil.EventLocationSilent)
	equal(t, events[1].Type, vigil.EventLocationBack)
	equal(t, events[0].IncidentID, events[1].IncidentID)
	equal(t, events[0].Variables["region"], office)
	var body struct {
		Data struct {
			Location struct{ Key, Name string } `json:"location"`
			BackAt   *time.Time                 `json:"back_at"`
		} `json:"data"`
	}
	if err := json.Unmarshal(events[1].Envelope, &body); err != nil || body.Data.Location.Key != office || body.Data.BackAt == nil {
		t.Errorf("%s, %v", events[1].Envelope, err)
	}
}
