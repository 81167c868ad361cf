// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/storage"
)

// drillRun is a drill of a channel that a test leads through its steps, as its loop, its incident
// and its delivery do.
type drillRun struct {
	*alerts
	drill drills.Drill
	slot  time.Time
}

func (a *alerts) createDrill(request drills.Request) drills.Drill {
	a.Helper()
	if request.ExpectWithin == 0 {
		request.ExpectWithin = drills.DefaultExpect
	}
	drill, err := a.store.CreateDrill(a.Context(), drills.Drill{OrgID: a.org.ID, Request: request, RequestedBy: "Ada"}, newark)
	if err != nil {
		a.Fatal(err)
	}
	return drill
}

// stagedDrill returns a drill of a channel whose check fails.
func stagedDrill(a *alerts) *drillRun {
	a.Helper()
	run := &drillRun{alerts: a, slot: epoch().Add(time.Minute)}
	a.clock.Set(run.slot)
	run.drill = a.createDrill(drills.Request{ChannelIDs: []uuid.UUID{a.channels[vigil.ChannelWebhook].ID}})
	loops, err := a.store.StageDrill(a.Context(), run.drill.ID)
	if err != nil {
		a.Fatal(err)
	}
	if len(loops) != 1 || loops[0].Region != newark || !loops[0].Active {
		a.Fatalf("the loops are %+v", loops)
	}
	if err := a.store.MarkApplied(a.Context(), loops[0]); err != nil {
		a.Fatal(err)
	}
	// It is the database's clock that says when, and the test has another one.
	if _, err := a.store.DB().NewRaw("UPDATE check_regions SET applied_at = ? WHERE check_id = ? AND applied_at IS NOT NULL",
		run.slot, run.drill.ID).Exec(a.Context()); err != nil {
		a.Fatal(err)
	}
	return run
}

// probe stores a result and the vote that follows from it.
func (r *drillRun) probe(success bool) vigil.Vote {
	r.Helper()
	r.slot = r.slot.Add(drills.Interval)
	r.clock.Set(r.slot)
	def, err := r.store.Definition(r.Context(), r.drill.ID)
	if err != nil {
		r.Fatal(err)
	}
	observed := vigil.Observation{Success: success}
	vote := vigil.Vote{Region: newark, Revision: def.Check.Revision, Slot: r.slot}
	if !success {
		observed.Error = "this is a drill"
		vote.Failures, vote.Firing = 1, []uuid.UUID{def.Rules[0].ID}
	}
	row := vigil.ResultRow{Result: vigil.Result{CheckID: r.drill.ID, Region: newark, Slot: r.slot, Time: r.slot, Observation: observed}}
	if _, err := newWriter(r.T, r.store, storage.WriterOptions{}).Write(r.Context(), row); err != nil {
		r.Fatal(err)
	}
	if _, err := r.store.SaveVote(r.Context(), r.drill.ID, vote); err != nil {
		r.Fatal(err)
	}
	return vote
}

func (r *drillRun) open() uuid.UUID {
	r.Helper()
	vote := r.probe(false)
	out, err := r.store.OpenIncident(r.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: r.drill.ID, Rules: vote.Firing, Votes: []vigil.Vote{vote}, PublicURL: "https://vigil.example.com",
	})
	if err != nil || !out.Drill {
		r.Fatalf("open: %+v, %v", out, err)
	}
	return out.Incident.ID
}

// deliver makes the attempt that is due, which succeeds or fails.
func (r *drillRun) deliver(incident uuid.UUID, ok bool) vigil.NextAttempt {
	r.Helper()
	next, err := r.store.ClaimAttempt(r.Context(), incident, r.channels[vigil.ChannelWebhook].ID)
	if err != nil || next.State != vigil.NextAttemptReady {
		r.Fatalf("the attempt is %s, %v", next.State, err)
	}
	outcome := vigil.AttemptOutcome{Attempt: next.Attempt, Delivered: ok}
	outcome.Attempt.StatusCode = 200
	if !ok {
		outcome.Attempt.StatusCode, outcome.Attempt.ErrorCode, outcome.Attempt.Error = 500, "http_status", "the receiver answered 500"
		outcome.NextAttemptAt = new(r.clock.Now().Add(time.Hour))
	}
	if _, err := r.store.RecordOutcome(r.Context(), outcome); err != nil {
		r.Fatal(err)
	}
	return next
}

func (r *drillRun) follow() drills.Step {
	r.Helper()
	step, err := r.store.FollowDrill(r.Context(), r.drill.ID)
	if err != nil {
		r.Fatal(err)
	}
	return step
}

func (r *drillRun) heal() {
	r.Helper()
	for range 2 { // the second changes nothing
		if _, err := r.store.HealDrill(r.Context(), r.drill.ID); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *drillRun) close() drills.Drill {
	r.Helper()
	signed := 0
	sign := func([]byte) (string, error) {
		signed++
		return "signature", nil
	}
	drill, closed, err := r.store.CloseDrill(r.Context(), r.drill.ID, "v1", sign)
	if err != nil || !closed {
		r.Fatal(err)
	}
	again, closed, err := r.store.CloseDrill(r.Context(), r.drill.ID, "v2", sign)
	if err != nil || closed || signed != 1 || !reflect.DeepEqual(again.Receipt, drill.Receipt) {
		r.Fatalf("closed again, it is %+v, %v, after %d signatures", again.Receipt, err, signed)
	}
	return drill
}

// TestDrill leads a drill from its beginning to its receipt.
func TestDrill(t *testing.T) {
	t.Parallel()
	r := stagedDrill(newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook))
	equal(t, r.follow(), drills.Wait)
	incident := r.open()
	equal(t, r.follow(), drills.Wait)
	opening := r.deliver(incident, true)
	if opening.Event.Title != events.DrillMark+"Drill is failing" || opening.Event.Variables[events.VariableDrill] != r.drill.ID.String() ||
		opening.Event.Variables["incident_url"] != "" {
		t.Errorf("the opening is %q with the variables %v", opening.Event.Title, opening.Event.Variables)
	}
	var envelope struct {
		Data struct {
			Drill struct{ ID uuid.UUID }
		}
	}
	if err := json.Unmarshal(opening.Event.Envelope, &envelope); err != nil || envelope.Data.Drill.ID != r.drill.ID {
		t.Errorf("the envelope has the drill %v, %v", envelope.Data.Drill, err)
	}
	equal(t, r.follow(), drills.Heal)
	r.heal()
	equal(t, r.follow(), drills.Wait)
	r.probe(true)
	if _, err := r.store.ResolveIncident(
		t.Context(),
		vigil.ResolveRequest{ID: incident, Resolution: vigil.ResolvedAutomatically},
	); err != nil {
		t.Fatal(err)
	}
	recovery := r.deliver(incident, true)
	if recovery.Event.Title != events.DrillMark+"Resolved: Drill is failing" {
		t.Errorf("the recovery is %q", recovery.Event.Title)
	}
	equal(t, r.follow(), drills.Close)
	drill := r.close()
	var hops []drills.Hop
	for _, hop := range drill.Receipt.Hops {
		hops = append(hops, hop.Name)
	}
	equal(t, hops, []drills.Hop{
		drills.HopAsked,
		drills.HopStored,
		drills.HopLoopStarted,
		drills.HopSlot,
		drills.HopProbed,
		drills.HopVoted,
		drills.HopOpened,
		drills.HopFirstAttempt,
		drills.HopDelivered,
		drills.HopRedefined,
		drills.HopVoteWithdrawn,
		drills.HopResolved,
		drills.HopRecoveryDelivered,
	})
	if drill.Receipt.Verdict != drills.Passed || len(drill.Receipt.Failures) > 0 || drill.Signature != "signature" {
		t.Errorf("the receipt is %+v, signed %q", drill.Receipt, drill.Signature)
	}
	events := r.events()
	if last := events[len(events)-1]; last.Type != vigil.EventDrillPassed || last.IncidentID != drill.ID {
		t.Errorf("the last event is %s of %s", last.Type, last.IncidentID)
	}
	if n := r.count("SELECT count(*) FROM checks WHERE id = ? AND NOT enabled AND expires_at IS NOT NULL", drill.ID); n != 1 {
		t.Error("the hidden check runs on")
	}
	r.clock.Set(r.slot.Add(8 * 24 * time.Hour))
	if n, err := r.store.ExpireChecks(t.Context(), r.clock.Now()); n != 1 || err != nil {
		t.Errorf("%d hidden checks expire, %v", n, err)
	}
	if kept, err := r.store.Drill(t.Context(), r.org.ID, drill.ID); err != nil || kept.Receipt == nil {
		t.Errorf("without its check the drill is %+v, %v", kept, err)
	}
}

// TestDrillNamesTheHop stops drills at different places.
func TestDrillNamesTheHop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lead func(r *drillRun)
		hop  drills.Hop
	}{
		"NoWorker":         {func(*drillRun) {}, drills.HopProbed},
		"NoIncident":       {func(r *drillRun) { r.probe(false) }, drills.HopOpened},
		"NoDeliveryWorker": {func(r *drillRun) { r.open() }, drills.HopFirstAttempt},
		"Receiver500":      {func(r *drillRun) { r.deliver(r.open(), false) }, drills.HopDelivered},
		"NoEnd":            {func(r *drillRun) { r.deliver(r.open(), true) }, drills.HopVoteWithdrawn},
		"ChannelDeleted": {func(r *drillRun) {
			if _, err := r.store.DeleteChannel(r.Context(), r.org.ID, r.channels[vigil.ChannelWebhook].ID, true, nil); err != nil {
				r.Fatal(err)
			}
			r.open()
		}, drills.HopOpened},
		"Late": {func(r *drillRun) {
			incident := r.open()
			r.clock.Set(r.slot.Add(3 * time.Minute))
			r.deliver(incident, true)
		}, drills.HopFirstAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stagedDrill(newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook))
			test.lead(r)
			r.follow()
			r.clock.Set(r.drill.AskedAt.Add(drills.DefaultExpect + time.Minute))
			equal(t, r.follow(), drills.Heal)
			r.heal()
			r.clock.Set(r.clock.Now().Add(drills.DefaultExpect))
			equal(t, r.follow(), drills.Close)
			receipt := r.close().Receipt
			if receipt.Verdict != drills.Failed || len(receipt.Failures) == 0 || receipt.Failures[0].Hop != test.hop {
				t.Errorf("the verdict is %s with %+v, want the hop %s", receipt.Verdict, receipt.Failures, test.hop)
			}
			if n := r.count("SELECT count(*) FROM deliveries WHERE check_id = ? AND status = 'pending'", r.drill.ID); n != 0 {
				t.Errorf("%d messages are still to be sent", n)
			}
		})
	}
}

// TestDrillRefusals asks for drills that cannot be.
func TestDrillRefusals(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelPager)
	webhook, pager := a.channels[vigil.ChannelWebhook].ID, a.channels[vigil.ChannelPager].ID
	other := newAlertsOn(t, a.store, a.clock, vigil.NotifyBoth, vigil.ChannelWebhook)
	try := func(request drills.Request) error {
		request.ExpectWithin = drills.DefaultExpect
		_, err := a.store.CreateDrill(t.Context(), drills.Drill{OrgID: a.org.ID, Request: request}, newark)
		return err
	}
	for name, request := range map[string]drills.Request{
		"ChannelOfAnother": {ChannelIDs: []uuid.UUID{other.channels[vigil.ChannelWebhook].ID}},
		"RuleOfAnother":    {RuleIDs: []uuid.UUID{other.rule.ID}},
		"CheckOfAnother":   {CheckID: other.check.ID},
		"Pager":            {ChannelIDs: []uuid.UUID{pager}},
		"PagerOfRule":      {RuleIDs: []uuid.UUID{a.rule.ID}},
		"NoRule":           {CheckID: newCheck(t, a.store, draft(a.org.ID, newark)).ID},
	} {
		if err := try(request); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	drill := a.createDrill(drills.Request{RuleIDs: []uuid.UUID{a.rule.ID}, ConfirmPager: true})
	if !slices.Equal(drill.Regions, a.check.Regions) || len(drill.Channels) != 2 || drill.Rules[0].Severity() != vigil.Info {
		t.Errorf("the drill is %+v", drill)
	}
	if err := try(drills.Request{ChannelIDs: []uuid.UUID{webhook}}); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a second drill of a channel: %v", err)
	}
	if _, err := a.store.CancelDrill(t.Context(), other.org.ID, drill.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("another organization cancels it: %v", err)
	}
	if _, err := a.store.CancelDrill(t.Context(), a.org.ID, drill.ID); err != nil {
		t.Fatal(err)
	}
	run := &drillRun{alerts: a, drill: drill}
	equal(t, run.follow(), drills.Close)
	equal(t, run.close().Receipt.Verdict, drills.Canceled)
	if _, err := a.store.CancelDrill(t.Context(), a.org.ID, drill.ID); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a drill that has ended is canceled: %v", err)
	}
	for range 2 { // the plan allows three a day
		run.drill = a.createDrill(drills.Request{ChannelIDs: []uuid.UUID{webhook}})
		run.close()
	}
	if err := try(drills.Request{ChannelIDs: []uuid.UUID{webhook}}); vigil.ErrorCode(err) != vigil.CodePlanLimit {
		t.Errorf("a fourth drill within a day: %v", err)
	}
}

// TestStalledDrills finds drills whose workflow was lost, and those that should have ended.
func TestStalledDrills(t *testing.T) {
	t.Parallel()
	r := stagedDrill(newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook))
	for _, step := range []struct {
		after time.Duration
		found int
		old   bool
	}{{29 * time.Second, 0, false}, {31 * time.Second, 1, false}, {drills.MaxTime, 1, true}} {
		r.clock.Set(r.drill.AskedAt.Add(step.after))
		found, err := r.store.StalledDrills(t.Context(), 10)
		if err != nil || len(found) != step.found || step.found > 0 && (found[0].ID != r.drill.ID || found[0].Old != step.old) {
			t.Errorf("after %s: %+v, %v", step.after, found, err)
		}
	}
	r.close()
	if found, err := r.store.StalledDrills(t.Context(), 10); err != nil || len(found) > 0 {
		t.Errorf("at its end: %+v, %v", found, err)
	}
	if n := r.count("SELECT count(*) FROM drills"); n != 1 {
		t.Errorf("%d drills are stored", n)
	}
	keep := storage.DefaultRetention()
	if err := r.store.DropExpired(t.Context(), r.clock.Now().Add(91*24*time.Hour), keep); err != nil {
		t.Fatal(err)
	}
	if n := r.count("SELECT count(*) FROM drills"); n != 0 {
		t.Errorf("%d drills are stored after their retention", n)
	}
}
