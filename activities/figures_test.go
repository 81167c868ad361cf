// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// counted runs an activity and returns the lines with own metrics that a process
// then shows.
func counted(t *testing.T, runs int, activity any, args ...any) string {
	t.Helper()
	m, err := metrics.New("test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(m.Temporal())
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(activity)
	for range runs {
		_, _ = env.ExecuteActivity(activity, args...)
	}
	recorder := httptest.NewRecorder()
	m.Handler(false).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return recorder.Body.String()
}

// fakeDelivery is the store of one delivery by chat, and its receiver.
type fakeDelivery struct {
	former bool // the config of the channel was changed since the opening
	notify.Sender
	state   vigil.NextAttemptState
	outcome notify.Outcome
	rest    vigil.DeliveryStatus
}

func (p *fakeDelivery) ClaimAttempt(context.Context, uuid.UUID, uuid.UUID) (vigil.NextAttempt, error) {
	return vigil.NextAttempt{State: p.state, Body: []byte("frozen"), Delivery: vigil.Delivery{
		ChannelType: vigil.ChannelChat, Policy: vigil.DeliveryPolicy{MaxAttempts: 3},
	}}, nil
}

func (p *fakeDelivery) RecordOutcome(context.Context, vigil.AttemptOutcome) (vigil.Remaining, error) {
	return vigil.Remaining{Status: p.rest}, nil
}

func (p *fakeDelivery) FreezeBody(_ context.Context, _ uuid.UUID, body []byte) ([]byte, error) {
	return body, nil
}

func (p *fakeDelivery) DeliveryChannel(context.Context, vigil.Delivery) (vigil.Channel, bool, error) {
	return vigil.Channel{}, p.former, nil
}

func (p *fakeDelivery) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	return false, nil
}

func (p *fakeDelivery) Parse(vigil.ChannelType, json.RawMessage) (notify.Sender, error) {
	return p, nil
}

func (p *fakeDelivery) Send(context.Context, notify.Message) notify.Outcome { return p.outcome }

func TestAttemptsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	refused := notify.Outcome{StatusCode: 500, ErrorCode: "http_status"}
	for want, box := range map[string]*fakeDelivery{
		"delivered": {state: vigil.NextAttemptReady, rest: vigil.DeliveryDelivered},
		"failed":    {state: vigil.NextAttemptReady, rest: vigil.DeliveryPending, outcome: refused},
		"exhausted": {state: vigil.NextAttemptReady, rest: vigil.DeliveryExhausted, outcome: refused},
		"unknown":   {state: vigil.NextAttemptUnknown, rest: vigil.DeliveryPending},
	} {
		acts := activities.NewDeliveries(activities.DeliveriesOptions{
			Store: box, Channels: box, Schedule: vigil.DefaultRetrySchedule(),
			Random: func() float64 { return 0.5 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		shown := counted(t, 2, acts.Deliver, uuid.New(), uuid.New())
		for _, outcome := range []string{"delivered", "failed", "exhausted", "unknown"} {
			line := `vigil_delivery_attempts_total{channel="chat",outcome="` + outcome + `"} 0`
			if outcome == want {
				line = strings.TrimSuffix(line, "0") + "2"
			}
			if !strings.Contains(shown, line+"\n") {
				t.Errorf("%s: there is no line %s", want, line)
			}
		}
	}
}

// incidentRows is what the store makes of every opening and closing.
type incidentRows struct {
	out vigil.IncidentOutcome
	err error
}

func (r incidentRows) IncidentContext(context.Context, uuid.UUID) (vigil.IncidentContext, error) {
	return vigil.IncidentContext{}, nil
}

func (r incidentRows) OpenIncident(context.Context, vigil.OpenRequest) (vigil.IncidentOutcome, error) {
	return r.out, r.err
}

func (r incidentRows) AcknowledgeIncident(context.Context, vigil.AcknowledgeRequest) (vigil.IncidentOutcome, error) {
	return r.out, r.err
}

func (r incidentRows) ResolveIncident(context.Context, vigil.ResolveRequest) (vigil.IncidentOutcome, error) {
	return r.out, r.err
}

func (r incidentRows) KeepLatch(context.Context, vigil.Latch, bool) error { return nil }

func (r incidentRows) ChangeRules(context.Context, vigil.RulesRequest) (vigil.IncidentOutcome, error) {
	return vigil.IncidentOutcome{}, nil
}

func TestIncidentsAreCountedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rows incidentRows
		want bool
	}{
		{"Changed", incidentRows{out: vigil.IncidentOutcome{Changed: true}}, true},
		{"Adopted", incidentRows{}, false},
		{"NotStored", incidentRows{vigil.IncidentOutcome{Changed: true}, errors.New("postgres is away")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			acts := activities.NewIncidents(activities.IncidentsOptions{Store: tt.rows, Log: slog.New(slog.DiscardHandler)})
			if shown := counted(t, 1, acts.Open, vigil.OpenRequest{}); strings.Contains(shown, "\nvigil_incidents_opened_total 1\n") != tt.want {
				t.Errorf("opened:\n%s", shown)
			}
			shown := counted(t, 1, acts.Resolve, vigil.ResolveRequest{Resolution: vigil.ResolvedManually})
			if strings.Contains(shown, "\nvigil_incidents_resolved_total{resolution=\"manual\"} 1\n") != tt.want {
				t.Errorf("resolved:\n%s", shown)
			}
		})
	}
}

func TestResultsAreCounted(t *testing.T) {
	t.Parallel()
	w := newIdleFixture(t)
	def := w.define(nil)
	turn := turnOf(def, vigil.State{})
	shown := counted(t, 1, w.watcher.Watch, &turn)
	if line := `vigil_results_total{region="` + region + `",success="true",type="memory"} 1`; !strings.Contains(shown, line) {
		t.Errorf("there is no line %s in:\n%s", line, shown)
	}
}
