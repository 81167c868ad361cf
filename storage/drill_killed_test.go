// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// killedDrill is a drill whose workflow, loop and deliveries stop permanently after a transaction.
type killedDrill struct {
	// lead makes the transactions until then.
	lead func(r *drillRun)
	// missing is the hop that a receipt names then; empty: none is missing.
	missing drills.Hop
	// unstaged: its check was not stored yet.
	unstaged bool
}

// killedDrills are drills that end after each of their transactions.
func killedDrills() map[string]killedDrill {
	opened := func(r *drillRun) uuid.UUID {
		incident := r.open()
		r.follow()
		return incident
	}
	healed := func(r *drillRun) uuid.UUID {
		incident := opened(r)
		r.deliver(incident, true)
		r.follow()
		r.heal()
		return incident
	}
	return map[string]killedDrill{
		"Asked":    {func(*drillRun) {}, drills.HopStored, true},
		"Stored":   {func(*drillRun) {}, drills.HopProbed, false},
		"Voted":    {func(r *drillRun) { r.probe(false) }, drills.HopOpened, false},
		"Opened":   {func(r *drillRun) { opened(r) }, drills.HopFirstAttempt, false},
		"Tried":    {func(r *drillRun) { r.claim(opened(r), vigil.ChannelWebhook) }, drills.HopDelivered, false},
		"Notified": {func(r *drillRun) { r.deliver(opened(r), true) }, drills.HopRedefined, false},
		"Healed":   {func(r *drillRun) { healed(r) }, drills.HopVoteWithdrawn, false},
		"Withdrawn": {func(r *drillRun) {
			healed(r)
			r.probe(true)
			r.follow()
		}, drills.HopResolved, false},
		"Resolved": {func(r *drillRun) { r.end(healed(r)) }, drills.HopRecoveryDelivered, false},
		"Over": {func(r *drillRun) {
			incident := healed(r)
			r.end(incident)
			r.deliver(incident, true)
		}, "", false},
	}
}

// start leads a drill up to its last transaction.
func (k killedDrill) start(t *testing.T) *drillRun {
	t.Helper()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	if !k.unstaged {
		r := stagedDrill(a)
		k.lead(r)
		return r
	}
	r := &drillRun{alerts: a, slot: epoch().Add(time.Minute)}
	r.clock.Set(r.slot)
	r.drill = a.createDrill(drills.Request{ChannelIDs: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}})
	return r
}

// silent sets the clock to an instant after the last trace of the workflow.
func (r *drillRun) silent(since time.Duration) {
	r.Helper()
	var progress time.Time
	if err := r.store.DB().NewRaw("SELECT progress_at FROM drills").Scan(r.Context(), &progress); err != nil {
		r.Fatal(err)
	}
	r.clock.Set(progress.UTC().Add(since))
}

// stalled holds whether the sweep finds the drill, and as one that should have ended.
func (r *drillRun) stalled(when string, want, old bool) {
	r.Helper()
	found, err := r.store.StalledDrills(r.Context(), 10)
	if err != nil || len(found) > 0 != want || want && (found[0].ID != r.drill.ID || found[0].OrgID != r.org.ID || found[0].Old != old) {
		r.Errorf("%s the sweep finds %+v, %v", when, found, err)
	}
}

// ended holds what is left of a drill: one receipt, and nothing that is to be sent. Where the opening
// did not arrive, nothing has made the check healthy either.
func (r *drillRun) ended(missing drills.Hop) {
	r.Helper()
	receipt := r.close().Receipt
	named := drills.Hop("")
	if len(receipt.Failures) > 0 {
		named = receipt.Failures[0].Hop
	}
	unhealed := len(receipt.Failures) == 2 && receipt.Failures[1].Hop == drills.HopRedefined
	if named != missing || len(receipt.Failures) > 1 && !unhealed || (receipt.Verdict == drills.Passed) != (missing == "") {
		r.Errorf("the drill has %s and names %+v, want the hop %q", receipt.Verdict, receipt.Failures, missing)
	}
	r.stalled("closed,", false, false)
	for what, query := range map[string]string{
		"messages are to be sent": "SELECT count(*) FROM deliveries WHERE status = 'pending'",
		"checks run":              "SELECT count(*) FROM checks WHERE drill_id IS NOT NULL AND enabled",
	} {
		if n := r.count(query); n != 0 {
			r.Errorf("after the receipt %d %s", n, what)
		}
	}
	if n := r.count("SELECT count(*) FROM events WHERE type LIKE 'drill.%'"); n != 1 {
		r.Errorf("%d events are about the end of the drill", n)
	}
}

// TestKilledDrillIsClosed stops drills after each of their transactions and never starts them again:
// the sweep finds each after 30 s, as one that should have ended after 15 min, and its receipt names
// the next hop.
func TestKilledDrillIsClosed(t *testing.T) {
	t.Parallel()
	for name, killed := range killedDrills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := killed.start(t)
			r.silent(29 * time.Second)
			r.stalled("after 29 s", false, false)
			r.silent(31 * time.Second)
			r.stalled("after 31 s", true, false)
			r.clock.Set(r.drill.AskedAt.Add(drills.MaxTime))
			r.stalled("after 15 min", true, true)
			r.ended(killed.missing)
		})
	}
}

// TestKilledDrillGoesOn stops drills after each of their transactions, and lets the workflow that the
// sweep starts lead them on from the beginning of it, as do their loop, incident and deliveries: what
// was done is not done again, and each passes.
func TestKilledDrillGoesOn(t *testing.T) {
	t.Parallel()
	for name, killed := range killedDrills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := killed.start(t)
			r.silent(31 * time.Second)
			r.slot = r.clock.Now()
			r.stalled("after 31 s", true, false)
			if _, err := r.store.StageDrill(t.Context(), r.drill.ID); err != nil {
				t.Fatal(err)
			}
			incident := r.reopen()
			for turn, step := 0, r.follow(); step != drills.Close; turn, step = turn+1, r.follow() {
				r.stalled("led on,", false, false)
				if r.advance(incident, step); turn == 10 {
					t.Fatal("the drill does not end")
				}
			}
			r.ended("")
			for what, want := range map[string]int{"incidents": 1, "deliveries": 2, "drills": 1} {
				if n := r.count("SELECT count(*) FROM " + what); n != want {
					t.Errorf("%d %s, want %d", n, what, want)
				}
			}
		})
	}
}

// reopen returns the incident of the drill, which is opened when there is none.
func (r *drillRun) reopen() uuid.UUID {
	r.Helper()
	var incident uuid.UUID
	if r.count("SELECT count(*) FROM incidents") == 0 {
		return r.open()
	}
	if err := r.store.DB().NewRaw("SELECT id FROM incidents").Scan(r.Context(), &incident); err != nil {
		r.Fatal(err)
	}
	return incident
}

// advance does what the parts of the platform do after a step of the workflow.
func (r *drillRun) advance(incident uuid.UUID, step drills.Step) {
	r.Helper()
	if step == drills.Heal {
		r.heal()
	}
	next, err := r.store.ClaimAttempt(r.Context(), incident, r.channels[vigil.ChannelWebhook].ID)
	if err != nil {
		r.Fatal(err)
	}
	outcome := vigil.AttemptOutcome{Attempt: next.Attempt, Delivered: true}
	outcome.Attempt.StatusCode = 200
	switch {
	case next.State == vigil.NextAttemptUnknown: // its process died with it
		outcome.Delivered, outcome.NextAttemptAt = false, new(r.clock.Now())
		outcome.Attempt.StatusCode, outcome.Attempt.ErrorCode = 0, vigil.AttemptUnknown
		r.recordOutcome(outcome)
	case next.State == vigil.NextAttemptReady:
		r.recordOutcome(outcome)
	case step == drills.Heal || r.count("SELECT count(*) FROM drills WHERE state = 'recovering'") == 1:
		r.end(incident)
	}
}

func (r *drillRun) recordOutcome(outcome vigil.AttemptOutcome) {
	r.Helper()
	if _, err := r.store.RecordOutcome(r.Context(), outcome); err != nil {
		r.Fatal(err)
	}
}
