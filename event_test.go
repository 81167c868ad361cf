// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

func contextOf(t vigil.EventType) vigil.EventContext {
	resolved := epoch().Add(90 * time.Second)
	s := vigil.EventContext{
		Type:      t,
		Time:      epoch(),
		Regions:   []string{"eu-central-fra", "na-east-ewr"},
		PublicURL: "https://vigil.example.com",
		Incident: vigil.Incident{
			ID: uuid.New(), OrgID: uuid.New(), CheckID: uuid.New(), RuleID: uuid.New(),
			Status: vigil.IncidentActive, Severity: vigil.Critical, Title: "Shop is failing", Description: "refused.", StartedAt: epoch(),
			Trigger: vigil.Trigger{
				Result: vigil.Result{
					ID:          uuid.New(),
					Region:      "eu-central-fra",
					Slot:        epoch(),
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
		event, err := vigil.NewEvent(details)
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
		event, err := vigil.NewEvent(contextOf(vigil.EventResolved))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range vigil.VariableNames() {
			if _, ok := event.Variables[name]; !ok {
				t.Errorf("no %s", name)
			}
		}
		if len(event.Variables) != len(vigil.VariableNames())+1 {
			t.Errorf("%d variables, %d are known and one is a label", len(event.Variables), len(vigil.VariableNames()))
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
			event, err := vigil.NewEvent(details)
			if err != nil || len(event.Envelope) > vigil.MaxEnvelope || !json.Valid(event.Envelope) {
				t.Fatalf("%d bytes, %v", len(event.Envelope), err)
			}
		})
	})

	t.Run("HasOneIDForEachTurnOfAnIncident", func(t *testing.T) {
		t.Parallel()
		incident := uuid.New()
		first := vigil.EventID(incident, vigil.EventTriggered)
		if again := vigil.EventID(incident, vigil.EventTriggered); again != first {
			t.Errorf("%s and %s belong to the same change", first, again)
		}
		if other := vigil.EventID(incident, vigil.EventResolved); other == first {
			t.Error("two turns have the same id")
		}
	})
}

func TestTriggerDescribe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trigger vigil.Trigger
		want    string
	}{
		"Failing": {vigil.Trigger{Matched: []string{"failure_threshold"}}, "Shop is failing"},
		"Certificate": {
			vigil.Trigger{
				Matched: []string{"ssl_days_remaining"},
				Days:    new(5),
				Result:  vigil.Result{Observation: vigil.Observation{Success: true}},
			},
			"Shop: the certificate expires in 5 days",
		},
		"Expired": {vigil.Trigger{Matched: []string{"ssl_days_remaining"}, Days: new(-1)}, "Shop: the certificate has expired"},
		"DNS": {
			vigil.Trigger{Matched: []string{"dns_changed"}, Result: vigil.Result{Observation: vigil.Observation{Success: true}}},
			"Shop: the DNS records changed",
		},
		"Status": {
			vigil.Trigger{Matched: []string{"status_code"}, Result: vigil.Result{Observation: vigil.Observation{StatusCode: 503}}},
			"Shop answers with status 503",
		},
		"Slow": {
			vigil.Trigger{Matched: []string{"response_time_ms"}, Result: vigil.Result{Observation: vigil.Observation{Success: true}}},
			"Shop is slow",
		},
		"Up": {
			vigil.Trigger{Matched: []string{"health_status"}, Result: vigil.Result{Observation: vigil.Observation{Success: true}}},
			"Shop is up",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			title, description := test.trigger.Describe("Shop")
			if title != test.want || !strings.Contains(description, test.trigger.Matched[0]) {
				t.Errorf("got %q, %q", title, description)
			}
		})
	}
}

func TestParsePosition(t *testing.T) {
	t.Parallel()
	if p, err := vigil.ParsePosition("since", "1767225600000-42"); err != nil || p != (vigil.Position{MS: 1767225600000, Seq: 42}) {
		t.Errorf("got %v, %v", p, err)
	}
	for _, bad := range []string{"", "1", "1-", "-1", "1-2-3", "01-2", "+1-2", "1--2", " 1-2", "99999999999999999999-1"} {
		if _, err := vigil.ParsePosition("since", bad); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%q gave %v", bad, err)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("0-0")
	f.Add("1767225600000-42")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := vigil.ParsePosition("since", text); err == nil && p.String() != text {
			t.Fatalf("%q was read as %v", text, p)
		}
	})
}

// TestUnobservedEventHasTheCheck: its check is that of other events, with the labels.
func TestUnobservedEventHasTheCheck(t *testing.T) {
	t.Parallel()
	for _, end := range []vigil.UnobservedEnd{"", vigil.ObservedAgain} {
		event, err := vigil.NewUnobservedEvent(&vigil.UnobservedContext{
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
