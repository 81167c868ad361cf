// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

func contextOf(t vigil.EventType) events.Content {
	resolved := began().Add(90 * time.Second)
	s := events.Content{
		Type:      t,
		Time:      began(),
		Regions:   []string{"eu-central-fra", "na-east-ewr"},
		PublicURL: "https://vigil.example.com",
		Incident: vigil.Incident{
			ID: uuid.New(), OrgID: uuid.New(), CheckID: uuid.New(), RuleID: uuid.New(),
			Status: vigil.IncidentActive, Severity: vigil.Critical, Title: "Shop is failing", Description: "refused.", StartedAt: began(),
			Trigger: vigil.Trigger{
				Result: vigil.Result{
					ID:          uuid.New(),
					Region:      "eu-central-fra",
					Slot:        began(),
					Observation: vigil.Observation{StatusCode: 503, Error: "refused", Metadata: map[string]any{"ttl": 3}},
				},
				Matched:      []string{vigil.KeyFailureThreshold},
				FailureCount: 3,
			},
		},
		Check: vigil.Check{
			Name:     "Shop",
			Type:     vigil.TypeHTTPS,
			Target:   "shop.example.com",
			Interval: time.Minute,
			Config:   json.RawMessage(`{"url":"https://user:hunter2@shop.example.com"}`),
			Labels:   vigil.Labels{"example.com/on-call": "web & mobile"},
		},
		Rule:             vigil.Rule{ID: uuid.New(), Name: "Down", Condition: vigil.Condition{FailureThreshold: 3}},
		OrganizationName: "Example Shop",
	}
	if t == vigil.EventResolved {
		s.Incident.Status, s.Incident.ResolvedAt, s.Incident.Resolution = vigil.IncidentResolved, &resolved, vigil.ResolvedAutomatically
	}
	return s
}

func TestNewEvent(t *testing.T) {
	t.Parallel()

	t.Run("CarriesTheMembersOfTheContract", func(t *testing.T) {
		t.Parallel()
		details := contextOf(vigil.EventTriggered)
		event, err := events.New(details)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			ID, Type, Version string
			Timestamp         time.Time
			Data              map[string]json.RawMessage
		}
		if err := json.Unmarshal(event.Envelope, &body); err != nil {
			t.Fatal(err)
		}
		if body.ID != event.ID.String() || body.Type != "incident.triggered" || body.Version != "1" || !body.Timestamp.Equal(details.Time) {
			t.Errorf("body %+v", body)
		}
		for _, member := range []string{"incident", "check", "alert_rule", "result", "regions", "organization", "message"} {
			if _, ok := body.Data[member]; !ok {
				t.Errorf("data has no %s", member)
			}
		}
		var check struct{ Labels map[string]string }
		if err := json.Unmarshal(body.Data["check"], &check); err != nil || check.Labels["example.com/on-call"] != "web & mobile" {
			t.Errorf("check %s, %v", body.Data["check"], err)
		}
		if strings.Contains(string(event.Envelope), "hunter2") {
			t.Error("the envelope holds a secret of the config")
		}
	})

	t.Run("HasAValueForEveryVariable", func(t *testing.T) {
		t.Parallel()
		event, err := events.New(contextOf(vigil.EventResolved))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range events.VariableNames() {
			if _, ok := event.Variables[name]; !ok {
				t.Errorf("no %s", name)
			}
		}
		if len(event.Variables) != len(events.VariableNames())+1 {
			t.Errorf("%d variables, %d are known and one is a label", len(event.Variables), len(events.VariableNames()))
		}
		for name, want := range map[string]string{
			"duration": "1m30s", "failure_count": "3", "status_code": "503", "regions_down": "eu-central-fra, na-east-ewr",
			"incident_status": "resolved", "ssl_days_remaining": "",
			"label.example.com/on-call": "web & mobile", "label.team": "",
			"incident_url": "https://vigil.example.com/app/incidents/" + event.IncidentID.String(),
		} {
			if event.Variables[name] != want {
				t.Errorf("%s is %q, want %q", name, event.Variables[name], want)
			}
		}
	})

	t.Run("StaysUnder64KiBWithTheLongestTexts", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			long := strings.Repeat(
				rapid.SampledFrom([]string{"x", "\x00", "é", "<", `"`}).Draw(t, "letter"), rapid.IntRange(0, 100_000).Draw(t, "length"),
			)
			details := contextOf(vigil.EventTriggered)
			details.Incident.Title, details.Incident.Description, details.Incident.Note = long, long, long
			details.Check.Name, details.Check.Target, details.Rule.Name, details.OrganizationName = long, long, long, long
			details.Incident.Trigger.Result.Error = long
			details.Check.Labels = vigil.Labels{}
			for i := range vigil.MaxLabels {
				details.Check.Labels[strings.Repeat("k", 60)+string(rune('a'+i))] = long[:min(len(long), 800)]
			}
			details.Incident.Trigger.Result.Metadata = map[string]any{"body": long}
			event, err := events.New(details)
			if err != nil || len(event.Envelope) > events.MaxEnvelope || !json.Valid(event.Envelope) {
				t.Fatalf("%d bytes, %v", len(event.Envelope), err)
			}
		})
	})

	t.Run("HasOneIDForEachTurnOfAnIncident", func(t *testing.T) {
		t.Parallel()
		incident := uuid.New()
		first := events.ID(incident, vigil.EventTriggered)
		if again := events.ID(incident, vigil.EventTriggered); again != first {
			t.Errorf("%s and %s belong to the same change", first, again)
		}
		if other := events.ID(incident, vigil.EventResolved); other == first {
			t.Error("two turns have the same id")
		}
	})
}

// TestUnobservedEventHasTheCheck: its check is that of other events, with the labels.
func TestUnobservedEventHasTheCheck(t *testing.T) {
	t.Parallel()
	for _, end := range []events.UnobservedEnd{"", events.ObservedAgain} {
		event, err := events.NewUnobserved(&events.UnobservedContent{
			UnobservedCheck: vigil.UnobservedCheck{ID: uuid.New(), CheckID: uuid.New(), OrgID: uuid.New()},
			Check:           vigil.Check{Name: "Shop", Labels: vigil.Labels{"team": "web"}},
			Time:            time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC),
			End:             end,
		})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Data struct {
				Check struct {
					Labels vigil.Labels `json:"labels"`
				} `json:"check"`
			} `json:"data"`
		}
		if err := json.Unmarshal(event.Envelope, &body); err != nil {
			t.Fatal(err)
		}
		if got := body.Data.Check.Labels["team"]; got != "web" || event.Variables["label.team"] != "web" {
			t.Errorf("end %q: the label is %q, the variable %q", end, got, event.Variables["label.team"])
		}
	}
}

func began() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// TestNewSystemEvent: an event that no channel can hold is refused.
func TestNewSystemEvent(t *testing.T) {
	t.Parallel()
	if _, err := events.NewSystem(&events.SystemContent{
		Type: vigil.EventDrillFailed, SubjectID: uuid.New(), Data: map[string]any{"drill": strings.Repeat("x", events.MaxEnvelope)},
	}); err == nil {
		t.Error("an event that no channel can hold was made")
	}
}

// TestUnobservedHeartbeat: nothing is probed, so no message about a heartbeat says so or names a region.
func TestUnobservedHeartbeat(t *testing.T) {
	t.Parallel()
	for end, want := range map[events.UnobservedEnd]string{
		"": "Backup has no results", events.ObservedAgain: "Backup has results again", events.UnobservedDisabled: "Backup need not ping any more",
		events.UnobservedDeleted: "Backup need not ping any more", events.UnobservedChanged: "Backup is due again",
		events.UnobservedRuleChanged: "Backup: no more messages about missing results",
	} {
		event, err := events.NewUnobserved(&events.UnobservedContent{
			UnobservedCheck: vigil.UnobservedCheck{
				ID: uuid.New(), CheckID: uuid.New(), OrgID: uuid.New(), Regions: []string{vigil.HeartbeatRegion},
			},
			Check: vigil.Check{Name: "Backup", Type: vigil.TypeHeartbeat},
			Time:  time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC),
			End:   end,
		})
		if err != nil || event.Title != want || strings.Contains(event.Body, "heartbeat") || strings.Contains(event.Body, "not probed") {
			t.Errorf("%s: %q, %q, %v", end, event.Title, event.Body, err)
		}
	}
}
