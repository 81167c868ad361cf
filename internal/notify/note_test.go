// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// What is sent in the place of another channel says so to programs and to people, also where the
// channel has a template.
func TestFallbackIsNamedInTheMessage(t *testing.T) {
	t.Parallel()
	registry := notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}))
	instead := &vigil.FallbackFor{ChannelID: uuid.New(), ChannelName: "On call", DeliveryID: uuid.New()}
	given := []byte(
		`{"id":"1","type":"incident.triggered","version":"1","timestamp":"t","data":{"message":{"title":"Down","body":"refused"}}}`,
	)
	message := notify.Message{
		Title: "Down", Body: "refused", Envelope: events.FallbackEnvelope(given, instead), Note: events.FallbackNote(instead),
	}
	for config, body := range map[string]string{
		`{"url": "https://hooks.example.com/"}`:                           "refused",
		`{"url": "https://hooks.example.com/", "body_template": "words"}`: "words",
	} {
		sender, err := registry.Parse(vigil.ChannelWebhook, json.RawMessage(config))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Data struct {
				Message     struct{ Title, Body string }
				FallbackFor *vigil.FallbackFor `json:"fallback_for"`
			}
		}
		if err := json.Unmarshal(notify.Freeze(sender, message), &got); err != nil {
			t.Fatal(err)
		}
		if got.Data.FallbackFor == nil || *got.Data.FallbackFor != *instead || got.Data.Message.Title != "Down" ||
			got.Data.Message.Body != body+"\n\nSent here because the channel On call could not be reached." {
			t.Errorf("%s: %+v", config, got)
		}
	}
	if large := []byte(strings.Replace(string(given), "refused", strings.Repeat("x", events.MaxEnvelope-len(given)), 1)); string(
		events.FallbackEnvelope(large, instead)) != string(large) {
		t.Error("an envelope without room is changed")
	}
	if string(events.FallbackEnvelope(given, nil)) != string(given) {
		t.Error("an envelope that is in no other's place is changed")
	}
}
