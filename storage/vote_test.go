// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func (a *alerts) context() vigil.IncidentContext {
	a.Helper()
	context, err := a.store.IncidentContext(a.Context(), a.check.ID)
	if err != nil {
		a.Fatal(err)
	}
	return context
}

func TestSaveVote(t *testing.T) {
	t.Parallel()

	t.Run("TheNewestOfARegionStands", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		fires := []uuid.UUID{a.rule.ID}
		a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: epoch().Add(time.Minute), Firing: fires, Failures: 3})
		a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: epoch()})
		a.vote(vigil.Vote{Region: newark, Revision: 1, Slot: epoch().Add(time.Hour)})
		context := a.context()
		r := context.Regions[1]
		if len(context.Regions) != 2 || context.Regions[0].Voted || r.Region != newark || !r.Voted || len(r.Vote.Firing) != 1 ||
			r.Vote.Failures != 3 {
			t.Errorf("regions %+v", context.Regions)
		}
		if !context.Enabled || context.Revision != 2 || len(context.Rules) != 1 || context.Rules[0].Policy != vigil.AnyRegion {
			t.Errorf("context %+v", context)
		}
	})

	t.Run("MattersWhenARuleFiresOrAnIncidentIsOpen", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		matters := func(v vigil.Vote) bool {
			t.Helper()
			a.slot = a.slot.Add(time.Second)
			v.Region, v.Revision, v.Slot = newark, 2, a.slot
			ack, err := a.store.SaveVote(t.Context(), a.check.ID, v)
			if err != nil || ack.OrgID != a.org.ID || ack.CheckName != a.check.Name {
				t.Fatalf("acknowledged %+v, %v", ack, err)
			}
			return ack.Relevant
		}
		if matters(vigil.Vote{}) {
			t.Error("a quiet region matters")
		}
		if !matters(vigil.Vote{Firing: []uuid.UUID{a.rule.ID}}) {
			t.Error("a firing rule does not matter")
		}
		a.open(a.fails(newark))
		if !matters(vigil.Vote{}) {
			t.Error("a recovery does not matter while an incident is open")
		}
	})

	t.Run("ARegionThatWasRemovedHasNone", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.fails(newark)
		update(t, a.store, a.check, func(c *vigil.Check) { c.Regions = []string{frankfurt} })
		_, err := a.store.SaveVote(t.Context(), a.check.ID, vigil.Vote{Region: newark, Revision: 2, Slot: epoch()})
		if vigil.ErrorCode(err) != vigil.CodeNotFound || len(a.context().Regions) != 1 {
			t.Errorf("%v, regions %+v", err, a.context().Regions)
		}
	})

	t.Run("OneFromBeforeItWasEnabledAgainDoesNotCount", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		late := vigil.Vote{Region: newark, Revision: 2, Slot: epoch().Add(10 * time.Second), Firing: []uuid.UUID{a.rule.ID}}
		keep := func(v vigil.Vote) vigil.Code {
			t.Helper()
			_, err := a.store.SaveVote(t.Context(), a.check.ID, v)
			return vigil.ErrorCode(err)
		}
		a.clock.Set(epoch().Add(time.Minute))
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
		if code := keep(late); code != vigil.CodeNotFound {
			t.Errorf("while it is disabled: %q", code)
		}
		again := update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = true })
		if code := keep(late); code != vigil.CodeNotFound || a.context().Regions[1].Voted {
			t.Errorf("when it is enabled again: %q, regions %+v", code, a.context().Regions)
		}
		late.Slot, late.Revision = epoch().Add(time.Minute), again.Revision
		if code := keep(late); code != "" || !a.context().Regions[1].Voted {
			t.Errorf("the first vote since: %q, regions %+v", code, a.context().Regions)
		}
	})

	t.Run("DisablingTakesThemAll", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.fails(newark)
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
		if context := a.context(); context.Enabled || len(context.Regions) != 0 {
			t.Errorf("disabled: %+v", context)
		}
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = true })
		for _, r := range a.context().Regions {
			if r.Voted {
				t.Errorf("%s still has the vote of before", r.Region)
			}
		}
	})
}

func TestUnhandledVotes(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	at := epoch()
	unhandled := func(later time.Duration) []vigil.UnhandledVote {
		t.Helper()
		at = at.Add(later)
		a.clock.Set(at)
		found, err := a.store.UnhandledVotes(t.Context(), at, fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	enable := func(enabled bool) {
		t.Helper()
		_, err := a.store.UpdateRule(t.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error { r.Enabled = enabled; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	a.fails(newark)
	if found := unhandled(29 * time.Second); len(found) != 0 {
		t.Errorf("too early: %+v", found)
	}
	enable(false)
	if found := unhandled(2 * time.Second); len(found) != 0 {
		t.Errorf("of a rule that is disabled: %+v", found)
	}
	enable(true)
	found := unhandled(0)
	if len(found) != 1 ||
		found[0] != (vigil.UnhandledVote{CheckID: a.check.ID, Region: newark, OrgID: a.org.ID, CheckName: a.check.Name, Target: a.check.Target}) {
		t.Fatalf("found %+v", found)
	}
	for _, wait := range []time.Duration{30 * time.Second, time.Minute} { // it doubles
		if err := a.store.MarkVoteSwept(t.Context(), a.lease(), found[0], at); err != nil {
			t.Fatal(err)
		}
		if found := unhandled(wait - time.Second); len(found) != 0 {
			t.Errorf("reported again before %v: %+v", wait, found)
		}
		if found := unhandled(time.Second); len(found) != 1 {
			t.Errorf("not reported again after %v", wait)
		}
	}
	if err := a.store.MarkVoteSwept(t.Context(), a.lease(), found[0], at); err != nil {
		t.Fatal(err)
	}
	if err := a.store.SweepIncidentSoon(t.Context(), a.check.ID); err != nil {
		t.Fatal(err)
	}
	if found := unhandled(0); len(found) != 1 {
		t.Error("not at once although its rules may have changed")
	}
	vote := a.fails(newark) // a new vote has its time again
	if found := unhandled(29 * time.Second); len(found) != 0 {
		t.Errorf("too early: %+v", found)
	}
	if found := unhandled(time.Second); len(found) != 1 {
		t.Errorf("not after its time: %+v", found)
	}
	id := a.open(vote).Incident.ID
	if found := unhandled(0); len(found) != 0 {
		t.Errorf("with an incident: %+v", found)
	}
	a.resolve(id, vigil.ResolvedAutomatically)
	at = at.Add(time.Hour)
	for _, silent := range []bool{true, false} {
		silence := vigil.RegionSilence{CheckID: a.check.ID, OrgID: a.org.ID, Region: newark, Silent: silent}
		err := a.store.MarkSilence(t.Context(), a.lease(), silence)
		if err != nil {
			t.Fatal(err)
		}
		if found := unhandled(0); len(found) == 0 != silent {
			t.Errorf("of a region that is silent (%v): %+v", silent, found)
		}
	}
}

func TestSilences(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	vote := a.fails(newark)
	silences := func(now, since time.Time) []vigil.RegionSilence {
		t.Helper()
		a.clock.Set(now)
		found, err := a.store.Silences(t.Context(), now, since, fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// Overdue by two intervals of 10 s and the deadline of a minute.
	due := loopOf(t, a.store, a.check, newark).NextDue
	overdue := due.Add(80*time.Second + time.Millisecond)
	if found := silences(due.Add(80*time.Second), epoch()); len(found) != 0 {
		t.Errorf("too early: %+v", found)
	}
	if found := silences(overdue, overdue.Add(-time.Minute)); len(found) != 0 {
		t.Errorf("silent while the platform was away: %+v", found)
	}
	found := silences(overdue, epoch())
	if len(found) != 1 || found[0].Region != newark || !found[0].Silent || found[0].OrgID != a.org.ID {
		t.Fatalf("found %+v", found)
	}
	if err := a.store.MarkSilence(t.Context(), a.lease(), found[0]); err != nil {
		t.Fatal(err)
	}
	if again := silences(overdue, epoch()); len(again) != 0 {
		t.Errorf("reported twice: %+v", again)
	}
	if r := a.context().Regions[1]; !r.Silent {
		t.Errorf("region %+v is not silent", r)
	}
	a.slot = overdue.Truncate(time.Second)
	back := a.fails(newark)
	if r := a.context().Regions[1]; r.Silent || !back.NewerThan(vote) {
		t.Errorf("region %+v is silent though it has voted", r)
	}
}

func TestDefinitionRules(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	def, err := a.store.Definition(t.Context(), a.check.ID)
	if err != nil || len(def.Rules) != 1 || def.Rules[0].ID != a.rule.ID || def.Rules[0].Condition.FailureThreshold != 1 ||
		def.Check.Revision != 2 {
		t.Fatalf("definition %+v, %v", def, err)
	}
	loop := loopOf(t, a.store, a.check, newark)
	if loop.Desired != 2 {
		t.Errorf("the loop is to know revision %d, want 2", loop.Desired)
	}
	_, err = a.store.UpdateRule(t.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error {
		r.Condition, r.ID, r.CheckID = vigil.Condition{StatusCode: 500}, uuid.New(), uuid.New()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := a.store.Rule(t.Context(), a.org.ID, a.check.ID, a.rule.ID)
	if err != nil || changed.Condition.StatusCode != 500 || loopOf(t, a.store, a.check, newark).Desired != 3 {
		t.Errorf("rule %+v, %v", changed, err)
	}
	list, n, err := a.store.CheckRules(t.Context(), a.org.ID, a.check.ID, listing.Page{Limit: 10})
	if err != nil || n.Total != 1 || len(list) != 1 {
		t.Errorf("rules %+v of %d, %v", list, n.Total, err)
	}

	t.Run("RefusesChannelsOfAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		other, _ := newOrg(t, a.store)
		channel, err := a.store.CreateChannel(
			t.Context(), vigil.Channel{OrgID: other.ID, Name: "x", Type: vigil.ChannelWebhook, Config: []byte(`{}`), Enabled: true},
		)
		if err != nil {
			t.Fatal(err)
		}
		rule := a.rule
		rule.ID, rule.Channels = uuid.Nil, []uuid.UUID{channel.ID}
		if _, err := a.store.CreateRule(t.Context(), rule); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("got %v", err)
		}
	})

	t.Run("IsNotFoundByAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		other := uuid.New()
		_, err := a.store.Rule(t.Context(), other, a.check.ID, a.rule.ID)
		_, _, errList := a.store.CheckRules(t.Context(), other, a.check.ID, listing.Page{Limit: 1})
		errDelete := a.store.DeleteRule(t.Context(), other, a.check.ID, a.rule.ID, nil)
		for _, err := range []error{err, errList, errDelete} {
			if vigil.ErrorCode(err) != vigil.CodeNotFound {
				t.Errorf("got %v", err)
			}
		}
	})
}
