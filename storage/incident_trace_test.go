// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestTraceOfAnIncident(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	vote := a.evaluated(vigil.Observation{Error: "timeout"}, vigil.Observation{Error: "timeout"}, vigil.Observation{Error: "timeout"})
	if len(vote.Firing) == 0 {
		t.Fatalf("no rule fires: %+v", vote)
	}
	opened := a.open(vote).Incident
	want := vigil.SlotTrace(a.check.ID, vote.Region, vote.Slot)
	seen := func(when string, want string) {
		t.Helper()
		if got := a.incident(opened.ID).TraceID; got != want {
			t.Errorf("%s: the incident has the trace %s, want %s", when, got, want)
		}
		ack, err := a.store.SaveVote(t.Context(), a.check.ID, vote)
		if err != nil || ack.TraceID != want {
			t.Errorf("%s: a vote gets the trace %q, %v", when, ack.TraceID, err)
		}
		read, err := a.store.IncidentContext(t.Context(), a.check.ID)
		if err != nil || read.Incident == nil || read.Incident.TraceID != want {
			t.Errorf("%s: the context has %+v, %v", when, read.Incident, err)
		}
	}
	if opened.TraceID != want {
		t.Errorf("opened with the trace %s, want %s", opened.TraceID, want)
	}
	seen("opened", want)
	if again := a.open(vote).Incident; again.ID != opened.ID || again.TraceID != want {
		t.Errorf("a retry gets %+v", again)
	}
	claimed := a.claim(opened.ID, vigil.ChannelWebhook)
	if claimed.TraceID != want {
		t.Errorf("an attempt gets the trace %q", claimed.TraceID)
	}
	if lost := a.claim(opened.ID, vigil.ChannelWebhook); lost.State != vigil.NextAttemptUnknown || lost.TraceID != want {
		t.Errorf("the attempt of a process that died gets the trace %q", lost.TraceID)
	}
	attempts, _, err := a.store.Attempts(t.Context(), a.org.ID, claimed.Delivery.ID, listing.Page{Limit: 10})
	if err != nil || len(attempts) != 1 || attempts[0].TraceID != want {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	timeline, _, err := a.store.Timeline(t.Context(), a.org.ID, opened.ID, listing.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range timeline {
		if entry.Attempt != nil && entry.Attempt.TraceID != want {
			t.Errorf("the timeline has the trace %q", entry.Attempt.TraceID)
		}
	}

	if resolved := a.resolve(opened.ID, vigil.ResolvedAutomatically).Incident; resolved.TraceID != a.incident(opened.ID).TraceID {
		t.Errorf("resolved with the trace %s", resolved.TraceID)
	}
	if ack, err := a.store.SaveVote(t.Context(), a.check.ID, vote); err != nil || ack.TraceID != "" {
		t.Errorf("without an open incident a vote gets the trace %q, %v", ack.TraceID, err)
	}
	if opened.ID == uuid.Nil {
		t.Error("nothing was opened")
	}
}
