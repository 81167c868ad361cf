// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// evaluated stores results of Newark and returns the vote that they lead to.
func (a *alerts) evaluated(observations ...vigil.Observation) vigil.Vote {
	a.Helper()
	def, err := a.store.Definition(a.Context(), a.check.ID)
	if err != nil {
		a.Fatal(err)
	}
	w := newWriter(a.T, a.store, storage.WriterOptions{})
	var state vigil.State
	for _, o := range observations {
		a.slot = a.slot.Add(10 * time.Second)
		row := vigil.Result{CheckID: a.check.ID, Region: newark, Slot: a.slot, Time: a.slot, Observation: o}
		if _, err := w.Write(a.Context(), vigil.ResultRow{Result: row}); err != nil {
			a.Fatal(err)
		}
		state, _ = vigil.Evaluate(def.Rules, state, row)
	}
	return a.vote(vigil.Vote{
		Region: newark, Revision: def.Check.Revision, Slot: state.Slot, Failures: state.Failures, Firing: state.Firing, Matches: state.Matches,
	})
}

// opened opens an incident by a vote and resolves it.
func (a *alerts) opened(v vigil.Vote) vigil.Incident {
	a.Helper()
	i := a.incident(a.open(v).Incident.ID)
	a.resolve(i.ID, vigil.ResolvedAutomatically)
	return i
}

func dnsAnswer(record string) vigil.Observation {
	return vigil.Observation{Success: true, Metadata: map[string]any{
		vigil.MetadataFingerprint: "A example.com:" + record, "answers": []any{record},
	}}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	failed := vigil.Observation{Error: "timeout"}
	certificate := func(days float64) vigil.Observation {
		return vigil.Observation{Success: true, Metadata: map[string]any{vigil.MetadataCertDays: days}}
	}
	for _, test := range []struct {
		name      string
		condition vigil.Condition
		results   []vigil.Observation
		title     string
		matched   []string
	}{
		{
			"OfFailures",
			vigil.Condition{FailureThreshold: 2},
			[]vigil.Observation{failed, failed},
			"home page is failing",
			[]string{vigil.KeyFailureThreshold},
		},
		{
			"OfACertificateSeenBefore",
			vigil.Condition{SSLDaysRemaining: new(14), StatusCode: 500},
			[]vigil.Observation{certificate(20), certificate(9), failed},
			"home page: the certificate expires in 9 days",
			[]string{vigil.KeySSLDaysRemaining},
		},
		{
			"OfAStatusAlthoughTheCertificateIsGood",
			vigil.Condition{SSLDaysRemaining: new(14), StatusCode: 500},
			[]vigil.Observation{certificate(20), {Error: "status 503", StatusCode: 503}},
			"home page answers with status 503",
			[]string{vigil.KeyStatusCode},
		},
		{
			"OfRecordsThatChanged",
			vigil.Condition{DNSChanged: true},
			[]vigil.Observation{dnsAnswer("192.0.2.1"), failed, dnsAnswer("192.0.2.2")},
			"home page: the DNS records changed",
			[]string{vigil.KeyDNSChanged},
		},
		{
			"OfFailuresBeforeAHeldRule",
			vigil.Condition{FailureThreshold: 2, StatusCode: 500, RecoveryThreshold: 4},
			[]vigil.Observation{failed, failed, {Success: true}, {Success: true}},
			"home page is failing",
			[]string{vigil.KeyFailureThreshold},
		},
		{
			"OfTheNewestMatchOfAHeldRule",
			vigil.Condition{FailureThreshold: 2, StatusCode: 500, RecoveryThreshold: 4},
			[]vigil.Observation{{Error: "status 503", StatusCode: 503}, failed, {Success: true}, failed},
			"home page is failing",
			[]string{vigil.KeyFailureThreshold},
		},
		{
			"OfRecordsThatChangedBeforeAHeldRule",
			vigil.Condition{DNSChanged: true, RecoveryThreshold: 3},
			[]vigil.Observation{dnsAnswer("192.0.2.1"), dnsAnswer("192.0.2.2"), dnsAnswer("192.0.2.2"), failed},
			"home page: the DNS records changed",
			[]string{vigil.KeyDNSChanged},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
			if _, err := a.store.UpdateRule(t.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error {
				r.Condition = test.condition
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			vote := a.evaluated(test.results...)
			i := a.opened(vote)
			if i.Title != test.title || !slices.Equal(i.Trigger.Matched, test.matched) {
				t.Errorf("title %q, trigger %+v", i.Title, i.Trigger)
			}
		})
	}

	t.Run("IsWhatTheVoteSays", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		vote := a.evaluated(dnsAnswer("192.0.2.1"), dnsAnswer("192.0.2.2"), vigil.Observation{Error: "down"}, dnsAnswer("192.0.2.3"))
		vote.Firing = []uuid.UUID{a.rule.ID}
		vote.Matches = []vigil.Match{{
			Rule: a.rule.ID, Keys: []string{vigil.KeyDNSChanged, vigil.KeySSLDaysRemaining}, Days: new(3),
			PreviousAnswer: epoch().Add(10 * time.Second),
		}}
		i := a.opened(vote)
		trigger := i.Trigger
		if len(trigger.Matched) != 2 || trigger.Days == nil || *trigger.Days != 3 ||
			trigger.DNSPrevious != "192.0.2.1" || trigger.DNSCurrent != "192.0.2.3" {
			t.Errorf("trigger %+v", trigger)
		}
		vote.Matches[0].PreviousAnswer = epoch().Add(-time.Hour) // past its retention
		if trigger := a.opened(vote).Trigger; trigger.DNSPrevious != "" || trigger.DNSCurrent != "192.0.2.3" {
			t.Errorf("trigger %+v with an answer that is gone", trigger)
		}
	})

	t.Run("IsTheLastResultThatMatchedAHeldRule", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		if _, err := a.store.UpdateRule(t.Context(), a.org.ID, a.check.ID, a.rule.ID, func(r *vigil.Rule) error {
			r.Condition = vigil.Condition{FailureThreshold: 2, RecoveryThreshold: 5}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		vote := a.evaluated(failed, failed, failed, vigil.Observation{Success: true}, failed)
		i := a.opened(vote)
		if i.Trigger.Result.Success || !i.Trigger.Result.Slot.Equal(vote.Slot.Add(-20*time.Second)) || i.Trigger.FailureCount != 3 ||
			i.Description != "Timeout from 1 of 2 regions: Newark. 3 failures in a row." {
			t.Errorf("trigger %+v, %q", i.Trigger, i.Description)
		}
	})

	t.Run("HasNoDetailsOfAResultThatIsGone", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		i := a.opened(vigil.Vote{
			Region: newark, Slot: epoch(), Failures: 4, Firing: []uuid.UUID{a.rule.ID},
			Matches: []vigil.Match{{Rule: a.rule.ID, Keys: []string{vigil.KeyStatusCode}}},
		})
		if i.Title != "home page is failing" || i.Trigger.FailureCount != 4 || len(i.Trigger.Matched) > 0 {
			t.Errorf("incident %+v", i)
		}
	})
}

func TestVoteMatches(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	vote := a.evaluated(vigil.Observation{Error: "down"})
	stored := func() vigil.Vote { return a.context().Regions[1].Vote }
	if v := stored(); len(v.Matches) != 1 || !reflect.DeepEqual(v.Matches, vote.Matches) {
		t.Errorf("stored matches %+v, want %+v", v.Matches, vote.Matches)
	}
	a.slot = a.slot.Add(time.Minute)
	a.vote(vigil.Vote{Region: newark, Revision: 9, Slot: a.slot, Firing: vote.Firing})
	if v := stored(); v.Matches != nil || len(v.Firing) != 1 {
		t.Errorf("the vote %+v has matches that it was not stored with", v)
	}
}
