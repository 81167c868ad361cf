// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

var _ = addFixture(fixture{
	kind: vigil.ChannelPager, address: "config.url", required: "config.routing_key",
	config: func(base string) map[string]any {
		return map[string]any{"url": base + "/v2/enqueue", "routing_key": "s3cr3t-" + `"r<o>u&t/e"`}
	},
})

func TestPager(t *testing.T) {
	t.Parallel()
	send := func(t *testing.T, templates map[string]any, m notify.Message) map[string]any {
		t.Helper()
		r := receive(t, answer(202))
		config := map[string]any{"url": r.url + "/v2/enqueue", "routing_key": "R0UT1NG"}
		maps.Copy(config, templates)
		if got := parse(t, registry(), vigil.ChannelPager, config).Send(t.Context(), m); !got.Delivered() {
			t.Fatalf("got %+v", got)
		}
		return decoded(t, r.only(t).body)
	}
	incident := message().Incident

	t.Run("TriggersWithTheIncidentAsKey", func(t *testing.T) {
		t.Parallel()
		got := send(t, nil, message())
		for name, want := range map[string]any{
			"routing_key": "R0UT1NG", "event_action": "trigger", "dedup_key": incident.String(), "client_url": message().Variables["incident_url"],
		} {
			if got[name] != want {
				t.Errorf("%s: %v", name, got[name])
			}
		}
		for name, want := range map[string]any{
			"summary": "Checkout API is failing", "source": "shop.example.com", "severity": "critical", "timestamp": "2026-03-01T09:30:00Z",
			"component": "Checkout API", "group": "Example Shop", "class": "https",
		} {
			if value := at(t, got, "payload", name); value != want {
				t.Errorf("%s: %v", name, value)
			}
		}
		if at(t, got, "payload", "custom_details", "failure_count") != "3" ||
			at(t, got, "payload", "custom_details", "message") != message().Body {
			t.Errorf("details: %v", at(t, got, "payload", "custom_details"))
		}
	})

	t.Run("ResolvesTheSameKey", func(t *testing.T) {
		t.Parallel()
		resolved, merged := message(), message()
		resolved.Type, merged.Merged = vigil.EventResolved, true
		for _, m := range []notify.Message{resolved, merged} {
			got := send(t, nil, m)
			if got["event_action"] != "resolve" || got["dedup_key"] != incident.String() || got["routing_key"] != "R0UT1NG" ||
				got["payload"] != nil {
				t.Errorf("got %v", got)
			}
		}
	})

	t.Run("ATestHasAKeyOfItsOwn", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.Type, m.Incident = vigil.EventTest, uuid.Nil
		got := send(t, nil, m)
		if got["event_action"] != "trigger" || got["dedup_key"] != message().Event.String() {
			t.Errorf("got %v", got)
		}
	})

	t.Run("TemplatesMakeSummaryAndMessage", func(t *testing.T) {
		t.Parallel()
		got := send(t, map[string]any{"title_template": "{{rule_name}}!", "body_template": "see {{check_target}}"}, message())
		if at(t, got, "payload", "summary") != "Three failures in a row!" ||
			at(t, got, "payload", "custom_details", "message") != "see shop.example.com" {
			t.Errorf("got %v", got)
		}
	})

	t.Run("DefaultsToThePublicAddress", func(t *testing.T) {
		t.Parallel()
		if got := parse(t, registry(), vigil.ChannelPager, map[string]any{"routing_key": "a"}).Target(); got != "events.pagerduty.com" {
			t.Errorf("got %s", got)
		}
	})
}

var _ = addFixture(fixture{
	kind: vigil.ChannelPager, format: "pagerduty", address: "config.url", required: "config.routing_key",
	config: func(base string) map[string]any {
		return map[string]any{"url": base + "/v2/enqueue", "routing_key": "s3cr3t-" + `"r<o>u&t/e"`}
	},
})

// keyFixture is that of a format with a key of an integration.
func keyFixture(format, path, required string) fixture {
	return fixture{
		kind: vigil.ChannelPager, format: format, address: "config.url", required: required,
		config: func(base string) map[string]any { return map[string]any{"url": base + path, "api_key": pathToken} },
	}
}

var (
	_ = addFixture(keyFixture("opsgenie", "", "config.api_key"))
	_ = addFixture(keyFixture("jsm", "/jsm/ops/integration", "config.api_key"))
	_ = addFixture(keyFixture("incident_io", "/v2/alert_events/http/01GW", "config.url"))
	_ = addFixture(keyFixture("alertmanager", "", "config.url"))
	_ = addFixture(fixture{
		kind: vigil.ChannelPager, format: "splunk_oncall", address: "config.url", required: "config.api_key",
		config: func(base string) map[string]any {
			return map[string]any{"url": base + "/alert", "api_key": pathToken, "routing_key": pathToken + "-route"}
		},
	})
)
