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

// adoption is a worker that was lost with the turns of three loops, and the loops.
type adoption struct {
	*testing.T
	store  *storage.Store
	writer *storage.ResultWriter
	checks []vigil.Check
	turns  []vigil.TurnActivity
}

func newAdoption(t *testing.T) *adoption {
	t.Helper()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	a := &adoption{T: t, store: s, writer: newWriter(t, s, storage.WriterOptions{})}
	a.renew("lost")
	for i := range 3 {
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		turn := vigil.TurnActivity{RunID: uuid.New(), ActivityID: "5", Ends: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)}
		a.checks, a.turns = append(a.checks, c), append(a.turns, turn)
		a.write(vigil.ResultRow{Result: ok(c, newark, epoch().Add(time.Duration(3-i)*time.Hour)), Worker: "lost", TurnSlots: 7, Turn: &turn})
	}
	return a
}

func (a *adoption) write(row vigil.ResultRow) vigil.StoredResult {
	a.Helper()
	stored, err := a.writer.Write(a.Context(), row)
	if err != nil {
		a.Fatal(err)
	}
	return stored
}

func (a *adoption) renew(worker string) fleet.Grant {
	a.Helper()
	grant, err := a.store.RenewLease(a.Context(), fleet.Renewal{Worker: worker, Regions: []string{newark}})
	if err != nil {
		a.Fatal(err)
	}
	return grant
}

func (a *adoption) revoke() {
	a.Helper()
	a.exec("UPDATE worker_leases SET renewed_at = renewed_at - interval '1 h' WHERE worker = 'lost'")
	if revoked, err := a.store.RevokeLease(a.Context(), fleet.Lease{Worker: "lost", Region: newark}, time.Minute); err != nil || !revoked {
		a.Fatalf("revoked %v, %v", revoked, err)
	}
}

func (a *adoption) exec(query string, args ...any) {
	a.Helper()
	if _, err := a.store.DB().ExecContext(a.Context(), query, args...); err != nil {
		a.Fatal(err)
	}
}

// adoption is a request of an unversioned worker.
func (*adoption) adoption(limit int) fleet.Adoption {
	return fleet.Adoption{Lease: fleet.Lease{Worker: "next", Region: newark}, Builds: []string{""}, ID: uuid.New(), Limit: limit}
}

func (a *adoption) adopt(limit int) []vigil.OpenTurn {
	a.Helper()
	turns, err := a.store.AdoptTurns(a.Context(), a.adoption(limit), time.Minute)
	if err != nil {
		a.Fatal(err)
	}
	return turns
}

func (a *adoption) abandoned() int {
	a.Helper()
	loops, err := a.store.AbandonedLoops(a.Context(), fleet.Lease{Worker: "lost", Region: newark}, time.Minute, fleet.EverySweepShard(), 10)
	if err != nil {
		a.Fatal(err)
	}
	return len(loops)
}

// TestAdoptTurns tests which turns of a lost worker another one adopts.
func TestAdoptTurns(t *testing.T) {
	t.Parallel()

	t.Run("ThoseDueFirstComeFirst", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		if got := a.adopt(10); len(got) > 0 || len(a.renew("next").Revoked) > 0 {
			t.Errorf("%d turns of a worker that has its lease", len(got))
		}
		a.revoke()
		equal(t, a.renew("next").Revoked, map[string][]string{newark: {""}})
		if n := a.abandoned(); n > 0 {
			t.Errorf("%d loops are nudged, want them left to be adopted", n)
		}
		want := func(i int) vigil.OpenTurn {
			return vigil.OpenTurn{CheckID: a.checks[i].ID, Region: newark, Slots: 7, TurnActivity: a.turns[i]}
		}
		equal(t, inUTC(a.adopt(2)), []vigil.OpenTurn{want(2), want(1)})
		equal(t, inUTC(a.adopt(2)), []vigil.OpenTurn{want(0)})
		if got := a.adopt(2); len(got) > 0 {
			t.Errorf("%d turns are adopted twice", len(got))
		}
		lease := fleet.Lease{Worker: "lost", Region: newark}
		if owns, err := a.store.OwnsLoop(t.Context(), a.checks[0].ID, lease); err != nil || owns {
			t.Errorf("the lost worker owns an adopted loop: %v, %v", owns, err)
		}
		lease.Worker = "next"
		if owns, err := a.store.OwnsLoop(t.Context(), a.checks[0].ID, lease); err != nil || !owns {
			t.Errorf("its new worker owns it: %v, %v", owns, err)
		}
		mine := []uuid.UUID{a.checks[0].ID}
		for worker, want := range map[string]int{"next": 1, "lost": 0} {
			owned, err := a.store.OwnedLoops(t.Context(), fleet.Lease{Worker: worker, Region: newark}, mine)
			if err != nil || len(owned) != want || want == 1 && owned[0] != mine[0] {
				t.Errorf("%s owns %v of %v, %v; want %d", worker, owned, mine, err, want)
			}
		}
		a.exec("UPDATE check_regions SET nudged_at = clock_timestamp()")
		if owns, err := a.store.OwnsLoop(t.Context(), a.checks[0].ID, lease); err != nil || owns {
			t.Errorf("the turn of a nudged loop is still the loop's: %v, %v", owns, err)
		}
	})

	t.Run("WhatCannotBeAdoptedIsNudged", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		a.write(vigil.ResultRow{Result: ok(a.checks[0], newark, epoch().Add(9*time.Hour)), Worker: "lost"}) // the last slot of its turn
		a.exec("UPDATE check_regions SET turn_ends = clock_timestamp() - interval '1 s' WHERE check_id = ?", a.checks[1].ID)
		a.revoke()
		if n := a.abandoned(); n != 2 {
			t.Errorf("%d loops are nudged, want 2", n)
		}
		a.exec("UPDATE check_regions SET nudged_at = clock_timestamp() WHERE check_id = ?", a.checks[2].ID)
		if got := a.adopt(10); len(got) > 0 {
			t.Errorf("turns %+v are adopted", got)
		}
	})

	t.Run("WhatNoWorkerAdoptsIsNudged", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		a.revoke()
		a.exec("UPDATE worker_leases SET revoked_at = revoked_at - interval '6 s' WHERE worker = 'lost'")
		a.renew("next")
		if n := a.abandoned(); n > 0 {
			t.Errorf("%d loops are nudged when the first worker is there again, want them left to it", n)
		}
		a.exec("UPDATE worker_leases SET granted_at = granted_at - interval '6 s' WHERE worker = 'next'")
		if n := a.abandoned(); n != 3 {
			t.Errorf("%d loops are nudged, want 3", n)
		}
	})

	t.Run("ThoseOfAWorkerThatStopsComeAtOnce", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		a.write(vigil.ResultRow{Result: ok(a.checks[0], newark, epoch().Add(9*time.Hour)), Worker: "lost"}) // it was handed over
		if err := a.store.GiveUpLease(t.Context(), "lost"); err != nil {
			t.Fatal(err)
		}
		equal(t, a.renew("next").Revoked, map[string][]string{newark: {""}})
		if n := a.abandoned(); n > 0 {
			t.Errorf("%d loops are nudged, want none", n)
		}
		if got := a.adopt(10); len(got) != 2 {
			t.Errorf("%d turns are adopted, want 2", len(got))
		}
		a.exec("UPDATE worker_leases SET revoked_at = revoked_at - interval '4 s' WHERE worker = 'lost'")
		if n := a.abandoned(); n != 1 { // no worker has claimed it
			t.Errorf("%d loops are nudged, want 1", n)
		}
	})

	t.Run("AnAnswerThatWasLostComesAgain", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		a.revoke()
		lost := a.adoption(2)
		if _, err := a.store.AdoptTurns(t.Context(), lost, time.Minute); err != nil {
			t.Fatal(err)
		}
		again := a.adoption(10)
		again.Builds, again.Unanswered = nil, []uuid.UUID{lost.ID, uuid.New()}
		if got, err := a.store.AdoptTurns(t.Context(), again, time.Minute); err != nil || len(got) != 2 {
			t.Errorf("%d turns of the first request, %v; want 2", len(got), err)
		}
		again.ID = uuid.New()
		if got, err := a.store.AdoptTurns(t.Context(), again, time.Minute); err != nil || len(got) > 0 {
			t.Errorf("%d turns came twice, %v", len(got), err)
		}
	})

	t.Run("AClaimEndsIt", func(t *testing.T) {
		t.Parallel()
		a := newAdoption(t)
		if err := a.store.ClaimLoops(t.Context(), fleet.Lease{Worker: "other", Region: newark}, []uuid.UUID{a.checks[0].ID}); err != nil {
			t.Fatal(err)
		}
		if n := count(t, a.store, "SELECT count(*) FROM check_regions WHERE turn_run IS NOT NULL"); n != 2 {
			t.Errorf("%d loops have open turns, want 2", n)
		}
	})
}

// TestWriteOfAMovedLoop tests that a worker that had a loop learns that another one has it,
// and does not take it back.
func TestWriteOfAMovedLoop(t *testing.T) {
	t.Parallel()
	a := newAdoption(t)
	row := func(worker string, hours int, owned bool) vigil.ResultRow {
		return vigil.ResultRow{Result: ok(a.checks[0], newark, epoch().Add(time.Duration(hours)*time.Hour)), Worker: worker, Owned: owned}
	}
	for i, step := range []struct {
		row   vigil.ResultRow
		moved bool
	}{
		{row("lost", 10, true), false},
		{row("next", 11, false), false}, // a new turn takes the loop over
		{row("lost", 11, true), true},   // the slot has a result
		{row("lost", 12, true), true},
		{row("next", 13, true), false},
	} {
		if got := a.write(step.row); got.Moved != step.moved {
			t.Errorf("write %d: moved %v", i, got.Moved)
		}
	}
	workers := count(t, a.store, "SELECT count(*) FROM check_regions WHERE worker = 'next'")
	if workers != 1 {
		t.Errorf("%d loops belong to the new worker, want 1", workers)
	}
}

// inUTC returns turns whose times can be compared.
func inUTC(turns []vigil.OpenTurn) []vigil.OpenTurn {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Ends, turns[i].Revision = turns[i].Ends.UTC(), 0
	}
	return turns
}
