package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/storage"
)

func TestRaiseRevision(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	if err := s.Restored(t.Context()); err != nil { // the signs below belong to it
		t.Fatal(err)
	}
	org, _ := newOrg(t, s)
	raise := func(t *testing.T, id uuid.UUID, seen int64, why vigil.RestoreSign) int64 {
		t.Helper()
		revision, err := s.RaiseRevision(t.Context(), id, seen, why)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}

	t.Run("MakesItNewerThanWhatWasSeenForTheCheckAndItsLoops", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		if got := raise(t, c.ID, 7, vigil.TemporalOlder); got != 8 {
			t.Errorf("revision %d, want 8", got)
		}
		if stored, err := s.Definition(t.Context(), c.ID); err != nil || stored.Check.Revision != 8 {
			t.Errorf("revision %d is stored (%v), want 8", stored.Check.Revision, err)
		}
		for _, region := range []string{newark, frankfurt} {
			if loop := loopOf(t, s, c, region); loop.Desired != 8 || loop.Applied >= 8 {
				t.Errorf("the loop in %s has %d desired and %d applied, want 8 to be applied", region, loop.Desired, loop.Applied)
			}
		}
		if after := update(t, s, c, func(c *vigil.Check) { c.Name = "edited" }); after.Revision != 9 {
			t.Errorf("an edit makes revision %d, want 9", after.Revision)
		}
	})

	t.Run("ChangesNothingThatIsNewer", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		raise(t, c.ID, 7, vigil.TemporalOlder)
		if got := raise(t, c.ID, 7, vigil.TemporalOlder); got != 8 {
			t.Errorf("revision %d, want 8", got)
		}
	})

	t.Run("HasNoneOfAnUnknownCheck", func(t *testing.T) {
		t.Parallel()
		if got := raise(t, uuid.New(), 7, vigil.TemporalOlder); got != 0 {
			t.Errorf("revision %d, want 0", got)
		}
	})
}

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
		{Slot: epoch().Add(2 * time.Minute), Fires: true, TurnBegan: epoch().Add(time.Minute)},
		{Slot: epoch().Add(3 * time.Minute), Fires: true},
	} {
		vote := vigil.Vote{Region: newark, Revision: 1, Slot: want.Slot, TurnBegan: want.TurnBegan}
		if want.Fires {
			vote.Firing = []uuid.UUID{uuid.New()}
		}
		if _, err := s.SaveVote(t.Context(), c.ID, vote); err != nil {
			t.Fatal(err)
		}
		if got := last(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		// A worker of an earlier release leaves the column of the vote before.
		if _, err := s.DB().
			NewRaw("UPDATE region_votes SET slot = slot + interval '1 second' WHERE check_id = ?", c.ID).
			Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := last(); !got.TurnBegan.IsZero() {
			t.Errorf("%+v has the turn of an earlier vote", got)
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

	// The first sign of an older database prepares it, the next ones belong to it.
	for range 2 {
		if _, err := s.RaiseRevision(t.Context(), a.check.ID, 20, vigil.DatabaseOlder); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "SELECT count(*) FROM restores"); n != 1 {
			t.Fatalf("%d restores, want 1", n)
		}
	}
	after := head()
	if after.MS < before.MS+time.Minute.Milliseconds() || after.Seq <= before.Seq+100_000 {
		t.Errorf("the stream goes on at %v after %v, want it a minute and many numbers later", after, before)
	}
	if lagging, err := s.Lagging(t.Context(), vigil.EverySweepShard(), 10); err != nil || len(lagging) == 0 {
		t.Errorf("%d loops are to be applied (%v), want all", len(lagging), err)
	}
	if stalled, err := s.StalledIncidents(t.Context(), epoch(), vigil.EverySweepShard(), 10); err != nil || len(stalled) != 1 {
		t.Errorf("%d incidents are to be swept (%v), want 1", len(stalled), err)
	}
	if stalled, err := s.StalledDeliveries(
		t.Context(),
		epoch().Add(time.Minute),
		vigil.EverySweepShard(),
		10,
	); err != nil ||
		len(stalled) != 1 {
		t.Errorf("%d deliveries are to be swept (%v), want 1", len(stalled), err)
	}

	// What an operator says is done every time.
	if err := s.Restored(t.Context()); err != nil {
		t.Fatal(err)
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
	lagging, err := s.Lagging(t.Context(), vigil.EverySweepShard(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range lagging {
		if err := s.MarkApplied(t.Context(), loop); err != nil {
			t.Fatal(err)
		}
	}
}
