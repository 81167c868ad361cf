// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// spanList keeps spans.
type spanList struct {
	mu    sync.Mutex
	spans []vigil.Span
}

func (l *spanList) Record(_ context.Context, span vigil.Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, span)
}

func TestTurnsWithNewsAreTraced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := &spanList{}
		w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Spans = list })
		rule := vigil.Rule{ID: uuid.New(), Enabled: true, Condition: vigil.Condition{FailureThreshold: 1}}
		def := w.define(func(d *vigil.Definition) { d.Rules = []vigil.Rule{rule} })
		first := w.must(w.watch(turnOf(def, vigil.State{})))
		if len(list.spans) != 0 || w.log.count("trace_id=") != 0 {
			t.Fatalf("a turn in which nothing changes has the spans %+v", list.spans)
		}
		w.observe = func(context.Context) vigil.Observation { return vigil.Observation{Error: "timeout"} }
		failed := w.must(w.watch(turnOf(def, first.State)))
		trace := vigil.SlotTrace(def.Check.ID, region, failed.State.Slot)
		if len(list.spans) != 1 || list.spans[0].TraceID != trace || list.spans[0].Name != vigil.SpanTurn || list.spans[0].Parent != "" ||
			!list.spans[0].Start.Equal(failed.State.Slot) || list.spans[0].Attributes["temporal.workflow_id"] == "" {
			t.Errorf("the turn that sees the failure has the spans %+v, want the trace %s", list.spans, trace)
		}
		if w.log.count(trace) != 1 {
			t.Errorf("%d log lines have the trace", w.log.count(trace))
		}
		if w.must(w.watch(turnOf(def, failed.State))); len(list.spans) != 1 {
			t.Errorf("the turn behind it has the spans %+v", list.spans[1:])
		}
	})
}

func TestAChangeOfAnIncidentThatIsRepeatedHasTheSameSpan(t *testing.T) {
	t.Parallel()
	list := &spanList{}
	trace := vigil.SlotTrace(uuid.New(), region, vigil.Result{}.Slot)
	out := vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentActive, TraceID: trace}}
	for _, changed := range []bool{true, false} {
		out.Changed = changed
		acts := activities.NewIncidents(activities.IncidentsOptions{
			Store: incidentRows{out: out}, Spans: list, Log: slog.New(slog.DiscardHandler),
		})
		counted(t, 1, acts.Open, vigil.OpenRequest{})
	}
	if len(list.spans) != 2 || list.spans[0].ID != list.spans[1].ID || list.spans[0].TraceID != trace {
		t.Fatalf("spans %+v", list.spans)
	}
	if first, again := list.spans[0].Attributes, list.spans[1].Attributes; first["vigil.repeated"] != "false" ||
		again["vigil.repeated"] != "true" {
		t.Errorf("the spans say %v and %v", first, again)
	}
}
