// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// publishSystem publishes a system event in a transaction, as what makes one does.
func (a *alerts) publishSystem(about events.SystemContent) error {
	return a.store.DB().RunInTx(a.Context(), nil, func(ctx context.Context, tx bun.Tx) error { return a.store.PublishSystem(ctx, tx, about) })
}

func TestPublishSystemEvent(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	about := events.SystemContent{
		Type: vigil.EventChannelFailing, OrgID: a.org.ID, SubjectID: uuid.New(), Time: at, Since: at.Add(-time.Minute),
		Title: "Ops does not get its messages", Body: "Five attempts in a row failed.", Severity: vigil.Warning,
		Data: map[string]any{"channel": map[string]any{"id": a.channels[vigil.ChannelWebhook].ID}},
	}
	for range 3 { // a retry after a lost answer
		if err := a.publishSystem(about); err != nil {
			t.Fatal(err)
		}
	}
	about.Type = vigil.EventChannelRecovered
	if err := a.publishSystem(about); err != nil {
		t.Fatal(err)
	}
	events := a.events()
	equal(t, len(events), 2)
	if first, second := events[0].Position.Seq, events[1].Position.Seq; second != first+1 {
		t.Errorf("the positions are %d and %d: a client would look for what is between them", first, second)
	}
	equal(t, events[0].IncidentID, events[1].IncidentID)
	equal(t, events[0].Variables["duration"], "1m0s")
	equal(t, events[1].Variables["incident_status"], "resolved")
	var body struct {
		Type string `json:"type"`
		Data struct {
			Severity     string                       `json:"severity"`
			Channel      struct{ ID uuid.UUID }       `json:"channel"`
			Organization struct{ Name string }        `json:"organization"`
			Message      struct{ Title, Body string } `json:"message"`
		} `json:"data"`
	}
	if err := json.Unmarshal(events[0].Envelope, &body); err != nil {
		t.Fatal(err)
	}
	equal(t, body.Type, "channel.failing")
	equal(t, body.Data.Severity, "warning")
	equal(t, body.Data.Channel.ID, a.channels[vigil.ChannelWebhook].ID)
	equal(t, body.Data.Organization.Name, a.org.Name)
	equal(t, body.Data.Message.Title, about.Title)

	about.OrgID = uuid.New() // it was deleted meanwhile
	if err := a.publishSystem(about); err != nil {
		t.Errorf("an organization that is gone: %v", err)
	}
}
