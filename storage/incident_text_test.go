// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// text stores a text of an incident.
func (a *alerts) text(incident uuid.UUID, author, note string) uuid.UUID {
	a.Helper()
	text := vigil.IncidentText{ID: uuid.New(), IncidentID: incident, Author: author, Note: note}
	if err := a.store.StoreIncidentText(a.Context(), text); err != nil {
		a.Fatal(err)
	}
	return text.ID
}

func TestIncidentTexts(t *testing.T) {
	t.Parallel()

	t.Run("AreAppliedByTheirID", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		acknowledge := vigil.AcknowledgeRequest{ID: id, TextID: a.text(id, "ada@example.com", "")}
		resolve := vigil.ResolveRequest{ID: id, Resolution: vigil.ResolvedManually, TextID: a.text(id, "bob@example.com", "It was DNS.")}
		for range 2 { // a retry, whose text is gone
			if _, err := a.store.AcknowledgeIncident(t.Context(), acknowledge); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := a.store.ResolveIncident(t.Context(), resolve); err != nil {
				t.Fatal(err)
			}
		}
		got := a.incident(id)
		if got.AcknowledgedBy != "ada@example.com" || got.ResolvedBy != "bob@example.com" || got.Note != "It was DNS." {
			t.Errorf("incident %+v", got)
		}
		if left := a.count("SELECT count(*) FROM incident_texts"); left != 0 {
			t.Errorf("%d texts are left", left)
		}
	})

	t.Run("ThatExistAreKept", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		first := vigil.IncidentText{ID: uuid.New(), IncidentID: id, Author: "ada", Note: "first"}
		second := first
		second.Note = "second"
		for _, text := range []vigil.IncidentText{first, second} {
			if err := a.store.StoreIncidentText(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		if n := a.count("SELECT count(*) FROM incident_texts WHERE note = 'first'"); n != 1 {
			t.Errorf("%d rows have the first text", n)
		}
	})

	t.Run("OfADeletedIncidentAreNotFound", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		err := a.store.StoreIncidentText(t.Context(), vigil.IncidentText{ID: uuid.New(), IncidentID: uuid.New()})
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("got %v", err)
		}
	})

	t.Run("ThatAreNotAppliedAreKeptForADay", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		a.text(id, "ada", "")
		a.at(24 * time.Hour)
		a.text(id, "bob", "")
		if n := a.count("SELECT count(*) FROM incident_texts"); n != 2 {
			t.Errorf("%d texts after a day, want both", n)
		}
		a.at(24*time.Hour + time.Microsecond)
		a.text(id, "cy", "")
		if n := a.count("SELECT count(*) FROM incident_texts"); n != 2 {
			t.Errorf("%d texts after more than a day, want the two that are younger", n)
		}
	})
}
