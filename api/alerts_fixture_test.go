// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// channel creates a webhook.
func (a person) channel(t *testing.T, changes ...func(map[string]any)) map[string]any {
	t.Helper()
	body := map[string]any{"name": "Hook", "type": "webhook", "config": map[string]any{"url": "http://127.0.0.1:9/hook", "secret": "hunter2"}}
	for _, change := range changes {
		change(body)
	}
	return a.want(t, http.StatusCreated, http.MethodPost, "/v1/notification-channels", body).data(t)
}

// rule creates a rule of a check that notifies a channel.
func (a person) rule(t *testing.T, check, channel string, changes ...func(map[string]any)) map[string]any {
	t.Helper()
	body := map[string]any{
		"name": "Down", "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []string{channel}, "notify_on": "both",
	}
	for _, change := range changes {
		change(body)
	}
	return a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks/"+check+"/alerts", body).data(t)
}

// episode is a check with a rule and a channel, and the incidents of it.
type episode struct {
	b                       *testServer
	check, rule, channel    uuid.UUID
	checkPath, incidentPath string
}

func (b *testServer) episode(t *testing.T, a person) *episode {
	t.Helper()
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	rule := text(a.rule(t, check, channel), "id")
	return &episode{
		b:         b,
		check:     parseUUID(t, check),
		rule:      parseUUID(t, rule),
		channel:   parseUUID(t, channel),
		checkPath: "/v1/checks/" + check,
	}
}

// open opens an incident as the workflow's activity does.
func (e *episode) open(t *testing.T) uuid.UUID {
	t.Helper()
	out, err := e.b.store.OpenIncident(t.Context(), vigil.OpenRequest{
		ID: uuid.New(), CheckID: e.check, Rules: []uuid.UUID{e.rule}, Votes: []vigil.Vote{e.vote()}, PublicURL: "http://vigil.test",
	})
	if err != nil || out.Incident.ID == uuid.Nil {
		t.Fatalf("open an incident: %v, %v", out, err)
	}
	e.incidentPath = "/v1/incidents/" + out.Incident.ID.String()
	return out.Incident.ID
}

// vote is what the region says after the first failure.
func (e *episode) vote() vigil.Vote {
	return vigil.Vote{
		Region: "na-east-ewr", Revision: 1, Slot: e.b.clock.Now(), Failures: 1, Firing: []uuid.UUID{e.rule},
		Matches: []vigil.Match{{Rule: e.rule, Keys: []string{vigil.KeyFailureThreshold}}},
	}
}

// resolve ends an incident as the workflow's activity does.
func (e *episode) resolve(t *testing.T, id uuid.UUID) {
	t.Helper()
	if _, err := e.b.store.ResolveIncident(t.Context(), vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedAutomatically}); err != nil {
		t.Fatal(err)
	}
}

// repeat lets an incident open and end, over and over.
func (e *episode) repeat(ctx context.Context, times int) error {
	for range times {
		out, err := e.b.store.OpenIncident(
			ctx, vigil.OpenRequest{ID: uuid.New(), CheckID: e.check, Rules: []uuid.UUID{e.rule}, Votes: []vigil.Vote{e.vote()}},
		)
		if err != nil {
			return err
		}
		_, err = e.b.store.ResolveIncident(ctx, vigil.ResolveRequest{ID: out.Incident.ID, Resolution: vigil.ResolvedAutomatically})
		if err != nil {
			return err
		}
	}
	return nil
}

// attempt makes the next attempt of what is due to the channel, with a
// failure when there is a code.
func (e *episode) attempt(t *testing.T, incident uuid.UUID, errorCode string) {
	t.Helper()
	pickup, err := e.b.store.ClaimAttempt(t.Context(), incident, e.channel)
	if err != nil || pickup.State != vigil.NextAttemptReady {
		t.Fatalf("pick up: %v, %v", pickup.State, err)
	}
	set := vigil.AttemptOutcome{Attempt: pickup.Attempt, Delivered: errorCode == ""}
	set.Attempt.Duration, set.Attempt.StatusCode, set.Attempt.ErrorCode = 12*time.Millisecond, http.StatusOK, errorCode
	if errorCode != "" {
		set.Attempt.StatusCode, set.Attempt.Error = http.StatusTeapot, "the receiver answered 418"
		set.NextAttemptAt = new(e.b.clock.Now().Add(time.Minute))
	}
	if _, err := e.b.store.RecordOutcome(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}
