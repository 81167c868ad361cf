// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package dispatch_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// history returns the events of the newest run of the check's incident workflow.
func history(p *workerstest.ControlPlane) (all []*historypb.HistoryEvent) {
	p.Helper()
	id := vigil.IncidentWorkflowID(p.Check.ID)
	events := p.Temporal.GetWorkflowHistory(p.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		p.OK(err)
		all = append(all, event)
	}
	return all
}

// updates returns the update ids that the workflow has accepted, in order.
func updates(p *workerstest.ControlPlane) (ids []string) {
	p.Helper()
	for _, event := range history(p) {
		if accepted := event.GetWorkflowExecutionUpdateAcceptedEventAttributes(); accepted != nil {
			ids = append(ids, accepted.GetProtocolInstanceId())
		}
	}
	return ids
}

func TestActions(t *testing.T) {
	t.Parallel()
	const region = "eu-central-fra"
	p := workerstest.Start(t, region)
	p.Vote(region, true)
	incident := p.AwaitOpen(1)

	// Requests with one key at the same time are one update.
	action := act(p, incident, "ada@secret.example", "")
	action.Key = "acknowledge once"
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			got, err := p.Incidents.Acknowledge(t.Context(), action)
			if err != nil || got.AcknowledgedBy != action.By {
				t.Errorf("acknowledged: %+v, %v", got, err)
			}
		})
	}
	work.Wait()
	want := "acknowledge/" + action.ActionID("acknowledge").String()
	if got := updates(p); len(got) != 1 || got[0] != want {
		t.Errorf("the workflow accepted %q, want %q", got, want)
	}
	// A repeated one is answered from the row, also when its text differs.
	action.By = "bob@secret.example"
	if got, err := p.Incidents.Acknowledge(t.Context(), action); err != nil || got.AcknowledgedBy != "ada@secret.example" {
		t.Errorf("acknowledged again: %+v, %v", got, err)
	}

	resolve := act(p, incident, "ada@secret.example", "The secret of the note.")
	if got, err := p.Incidents.Resolve(t.Context(), resolve); err != nil || got.Note != resolve.Note || got.ResolvedBy != resolve.By {
		t.Errorf("resolved: %+v, %v", got, err)
	}
	resolve.Key = "after the end" // the workflow may be closed by now
	p.Vote(region, false)
	p.AwaitIdle()
	if got, err := p.Incidents.Resolve(t.Context(), resolve); err != nil || got.Note != resolve.Note {
		t.Errorf("resolved again: %+v, %v", got, err)
	}
	if got := updates(p); len(got) != 2 {
		t.Errorf("the workflow accepted %q, want two updates", got)
	}
	for _, event := range history(p) {
		raw, err := proto.Marshal(event)
		p.OK(err)
		if bytes.Contains(raw, []byte("secret")) || bytes.Contains(raw, []byte("once")) {
			t.Errorf("event %d contains a text, an address or a key: %v", event.GetEventId(), event)
		}
	}
}

func TestActionID(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	keyed := vigil.UserAction{IncidentID: id, Key: "k"}
	if again := keyed; keyed.ActionID("resolve") != again.ActionID("resolve") {
		t.Error("an action with a key has two ids")
	}
	seen := map[uuid.UUID]bool{}
	for _, one := range []uuid.UUID{
		keyed.ActionID("resolve"), keyed.ActionID("acknowledge"),
		(&vigil.UserAction{IncidentID: id, Key: "l"}).ActionID("resolve"),
		(&vigil.UserAction{IncidentID: uuid.New(), Key: "k"}).ActionID("resolve"),
	} {
		if seen[one] {
			t.Errorf("two actions have the id %s", one)
		}
		seen[one] = true
	}
}
