package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
)

func (a *alerts) standing() vigil.IncidentContext {
	a.Helper()
	standing, err := a.store.IncidentContext(a.Context(), a.check.ID)
	if err != nil {
		a.Fatal(err)
	}
	return standing
}

func TestKeepVote(t *testing.T) {
	t.Parallel()

	t.Run("TheNewestOfARegionStands", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		fires := []uuid.UUID{a.rule.ID}
		a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: epoch().Add(time.Minute), Firing: fires, Failures: 3})
		a.vote(vigil.Vote{Region: newark, Revision: 2, Slot: epoch()})
		a.vote(vigil.Vote{Region: newark, Revision: 1, Slot: epoch().Add(time.Hour)})
		standing := a.standing()
		r := standing.Regions[1]
		if len(standing.Regions) != 2 || standing.Regions[0].Voted || r.Region != newark || !r.Voted || len(r.Vote.Firing) != 1 || r.Vote.Failures != 3 {
			t.Errorf("regions %+v", standing.Regions)
		}
		if !standing.Enabled || standing.Revision != 2 || len(standing.Rules) != 1 || standing.Rules[0].Policy != vigil.AnyRegion {
			t.Errorf("standing %+v", standing)
		}
	})

	t.Run("MattersWhenARuleFiresOrAnIncidentIsOpen", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		matters := func(v vigil.Vote) bool {
			t.Helper()
			a.slot = a.slot.Add(time.Second)
			v.Region, v.Revision, v.Slot = newark, 2, a.slot
			heard, err := a.store.SaveVote(t.Context(), a.check.ID, v)
			if err != nil || heard.OrgID != a.org.ID || heard.CheckName != a.check.Name {
				t.Fatalf("heard %+v, %v", heard, err)
			}
			return heard.Relevant
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
		if vigil.ErrorCode(err) != vigil.CodeNotFound || len(a.standing().Regions) != 1 {
			t.Errorf("%v, regions %+v", err, a.standing().Regions)
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
		a.clock.set(epoch().Add(time.Minute))
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
		if code := keep(late); code != vigil.CodeNotFound {
			t.Errorf("while it is disabled: %q", code)
		}
		again := update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = true })
		if code := keep(late); code != vigil.CodeNotFound || a.standing().Regions[1].Voted {
			t.Errorf("when it is enabled again: %q, regions %+v", code, a.standing().Regions)
		}
		late.Slot, late.Revision = epoch().Add(time.Minute), again.Revision
		if code := keep(late); code != "" || !a.standing().Regions[1].Voted {
			t.Errorf("the first vote since: %q, regions %+v", code, a.standing().Regions)
		}
	})

	t.Run("DisablingTakesThemAll", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.fails(newark)
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = false })
		if standing := a.standing(); standing.Enabled || len(standing.Regions) != 0 {
			t.Errorf("disabled: %+v", standing)
		}
		update(t, a.store, a.check, func(c *vigil.Check) { c.Enabled = true })
		for _, r := range a.standing().Regions {
			if r.Voted {
				t.Errorf("%s still has the vote of before", r.Region)
			}
		}
	})
}

func TestUnheardVotes(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	at := epoch()
	unheard := func(later time.Duration) []vigil.UnhandledVote {
		t.Helper()
		at = at.Add(later)
		a.clock.set(at)
		found, err := a.store.UnhandledVotes(t.Context(), at, 10)
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
	if found := unheard(29 * time.Second); len(found) != 0 {
		t.Errorf("too early: %+v", found)
	}
	enable(false)
	if found := unheard(2 * time.Second); len(found) != 0 {
		t.Errorf("of a rule that is disabled: %+v", found)
	}
	enable(true)
	found := unheard(0)
	if len(found) != 1 || found[0] != (vigil.UnhandledVote{CheckID: a.check.ID, Region: newark, OrgID: a.org.ID, CheckName: a.check.Name, Target: a.check.Target}) {
		t.Fatalf("found %+v", found)
	}
	for _, wait := range []time.Duration{30 * time.Second, time.Minute} { // it doubles
		if err := a.store.MarkVoteSwept(t.Context(), found[0], at); err != nil {
			t.Fatal(err)
		}
		if found := unheard(wait - time.Second); len(found) != 0 {
			t.Errorf("told again before %v: %+v", wait, found)
		}
		if found := unheard(time.Second); len(found) != 1 {
			t.Errorf("not told again after %v", wait)
		}
	}
	vote := a.fails(newark) // a new vote has its time again
	if found := unheard(29 * time.Second); len(found) != 0 {
		t.Errorf("too early: %+v", found)
	}
	if found := unheard(time.Second); len(found) != 1 {
		t.Errorf("not after its time: %+v", found)
	}
	id := a.open(vote).Incident.ID
	if found := unheard(0); len(found) != 0 {
		t.Errorf("with an incident: %+v", found)
	}
	a.resolve(id, vigil.ResolvedAutomatically)
	at = at.Add(time.Hour)
	for _, silent := range []bool{true, false} {
		if err := a.store.MarkSilence(t.Context(), vigil.RegionSilence{CheckID: a.check.ID, OrgID: a.org.ID, Region: newark, Silent: silent}); err != nil {
			t.Fatal(err)
		}
		if found := unheard(0); len(found) == 0 != silent {
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
		a.clock.set(now)
		found, err := a.store.Silences(t.Context(), now, since, 10)
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
	if err := a.store.MarkSilence(t.Context(), found[0]); err != nil {
		t.Fatal(err)
	}
	if again := silences(overdue, epoch()); len(again) != 0 {
		t.Errorf("told twice: %+v", again)
	}
	if r := a.standing().Regions[1]; !r.Silent {
		t.Errorf("region %+v is not silent", r)
	}
	a.slot = overdue.Truncate(time.Second)
	back := a.fails(newark)
	if r := a.standing().Regions[1]; r.Silent || !back.NewerThan(vote) {
		t.Errorf("region %+v is silent though it was heard", r)
	}
}

func TestDefinitionRules(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	def, err := a.store.Definition(t.Context(), a.check.ID)
	if err != nil || len(def.Rules) != 1 || def.Rules[0].ID != a.rule.ID || def.Rules[0].Condition.FailureThreshold != 1 || def.Check.Revision != 2 {
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
	list, n, err := a.store.Rules(t.Context(), a.org.ID, a.check.ID, vigil.Page{Limit: 10})
	if err != nil || n != 1 || len(list) != 1 {
		t.Errorf("rules %+v of %d, %v", list, n, err)
	}

	t.Run("RefusesChannelsOfAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		other, _ := newOrg(t, a.store)
		channel, err := a.store.CreateChannel(t.Context(), vigil.Channel{OrgID: other.ID, Name: "x", Type: vigil.ChannelWebhook, Config: []byte(`{}`), Enabled: true})
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
		_, _, errList := a.store.Rules(t.Context(), other, a.check.ID, vigil.Page{Limit: 1})
		errDelete := a.store.DeleteRule(t.Context(), other, a.check.ID, a.rule.ID)
		for _, err := range []error{err, errList, errDelete} {
			if vigil.ErrorCode(err) != vigil.CodeNotFound {
				t.Errorf("got %v", err)
			}
		}
	})
}
