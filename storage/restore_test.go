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

func TestLastVote(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	last := func() vigil.LastVote {
		t.Helper()
		vote, err := s.LastVote(t.Context(), c.ID, newark)
		if err != nil {
			t.Fatal(err)
		}
		return vote
	}
	if got := last(); got != (vigil.LastVote{}) {
		t.Errorf("%+v without a vote", got)
	}
	for _, want := range []vigil.LastVote{
		{Slot: epoch().Add(time.Minute)},
		{Slot: epoch().Add(2 * time.Minute), Fires: true},
		{Slot: epoch().Add(3 * time.Minute), Fires: true},
	} {
		vote := vigil.Vote{Region: newark, Revision: 1, Slot: want.Slot}
		if want.Fires {
			vote.Firing = []uuid.UUID{uuid.New()}
		}
		if _, err := s.SaveVote(t.Context(), c.ID, vote); err != nil {
			t.Fatal(err)
		}
		if got := last(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestRestored(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	s := a.store
	incident := a.open(a.fails(newark)).Incident.ID
	head := func() vigil.Position {
		t.Helper()
		heads, err := s.StreamHeads(t.Context(), []uuid.UUID{a.check.OrgID})
		if err != nil {
			t.Fatal(err)
		}
		return heads[a.check.OrgID]
	}
	before := head()
	applyAll(t, s)

	// Temporal has an epoch that Postgres does not know: this one is found once.
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	known := epochOf(t, s)
	for _, want := range []bool{true, false} {
		if found, err := s.FoundRestore(t.Context(), lease, known, 7000, fleet.DatabaseOlder); err != nil || found != want {
			t.Fatalf("found %v (%v), want %v", found, err, want)
		}
		if n := count(t, s, "SELECT count(*) FROM restores"); n != 1 {
			t.Fatalf("%d restores, want 1", n)
		}
	}
	if now := epochOf(t, s); now.Number != 7001 || now.Floor != 0 {
		t.Errorf("the epoch is %+v, want 7001, and none of Temporal", now)
	}
	def, err := s.Definition(t.Context(), a.check.ID)
	if err != nil || def.Restored != 7001 || def.Check.Revision <= a.check.Revision+100_000 {
		t.Errorf("restored %d, revision %d (%v), want the epoch and a revision that is new to all", def.Restored, def.Check.Revision, err)
	}
	after := head()
	if after.MS < before.MS+time.Minute.Milliseconds() || after.Seq <= before.Seq+100_000 {
		t.Errorf("the stream goes on at %v after %v, want it a minute and many numbers later", after, before)
	}
	if lagging, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 10); err != nil || len(lagging) == 0 {
		t.Errorf("%d loops are to be applied (%v), want all", len(lagging), err)
	}
	if stalled, err := s.StalledIncidents(t.Context(), epoch(), fleet.EverySweepShard(), 10); err != nil || len(stalled) != 1 {
		t.Errorf("%d incidents are to be swept (%v), want 1", len(stalled), err)
	}
	if stalled, err := s.StalledDeliveries(
		t.Context(),
		epoch().Add(time.Minute),
		fleet.EverySweepShard(),
		10,
	); err != nil ||
		len(stalled) != 1 {
		t.Errorf("%d deliveries are to be swept (%v), want 1", len(stalled), err)
	}

	// What an operator says is done every time.
	if err := s.Restored(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := epochOf(t, s); now.Number <= 100_000 || now.Floor != 0 {
		t.Errorf("the epoch is %+v, want one that Temporal does not have", now)
	}
	if again := head(); again.MS <= after.MS || again.Seq <= after.Seq {
		t.Errorf("the stream goes on at %v after %v", again, after)
	}
	a.resolve(incident, vigil.ResolvedAutomatically)
	events, err := s.EventsAfter(t.Context(), a.check.OrgID, after, epoch(), 10)
	if err != nil || len(events) != 1 {
		t.Errorf("%d events after the restore (%v), want 1", len(events), err)
	}
}

// applyAll marks every loop as applied.
func applyAll(t *testing.T, s *storage.Store) {
	t.Helper()
	lagging, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range lagging {
		if err := s.MarkApplied(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
	}
}
