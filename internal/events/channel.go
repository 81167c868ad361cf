// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// ChannelPage is the path of the dashboard's page of a channel, without its id.
const ChannelPage = "/app/channels/"

// envelopeChannel is a channel in an envelope.
type envelopeChannel struct {
	ID         uuid.UUID               `json:"id"`
	Name       string                  `json:"name"`
	Type       vigil.ChannelType       `json:"type"`
	Enabled    bool                    `json:"enabled"`
	FallbackID *uuid.UUID              `json:"fallback_channel_id"`
	Delivery   envelopeChannelDelivery `json:"delivery"`
}

type envelopeChannelDelivery struct {
	State               channelhealth.State `json:"state"`
	FailingSince        *time.Time          `json:"failing_since"`
	ConsecutiveFailures int                 `json:"consecutive_failures"`
	LastDeliveredAt     *time.Time          `json:"last_delivered_at"`
	LastError           *string             `json:"last_error"`
}

func showChannel(c *vigil.Channel, h channelhealth.Health) envelopeChannel {
	state, since := h.Shown()
	return envelopeChannel{
		ID: c.ID, Name: truncate(c.Name), Type: c.Type, Enabled: c.Enabled, FallbackID: vigil.NilIfZero(c.Fallback),
		Delivery: envelopeChannelDelivery{
			State: state, FailingSince: since, ConsecutiveFailures: h.Failures, LastDeliveredAt: h.LastDeliveredAt,
			LastError: vigil.NilIfZero(truncate(h.LastError)),
		},
	}
}

// severityOf is that of the events about a channel in a state.
func severityOf(state channelhealth.State) vigil.Severity {
	if state == channelhealth.Down {
		return vigil.Critical
	}
	return vigil.Warning
}

// channelPage is the address of the page of a channel; empty without that of the platform.
func channelPage(publicURL string, id uuid.UUID) string {
	if publicURL == "" {
		return ""
	}
	return publicURL + ChannelPage + id.String()
}

// ChannelFailing is the event that a channel has left the state ok.
func ChannelFailing(c *vigil.Channel, h channelhealth.Health, publicURL string, at time.Time) SystemContent {
	what, why := "is failing", fmt.Sprintf("%d attempts in a row failed since %s.", h.Failures, stamp(h.Since))
	if h.State == channelhealth.Down {
		what, why = "is down", "A message was given up after its last attempt."
		if !c.Enabled {
			why = "The receiver wants no more messages."
		}
	}
	if h.LastError != "" {
		why += " The last error: " + h.LastError
	}
	return SystemContent{
		Type: vigil.EventChannelFailing, OrgID: c.OrgID, SubjectID: h.Episode, Time: at, Since: h.Since, Severity: severityOf(h.State),
		Title: fmt.Sprintf("The channel %s %s", vigil.Truncate(c.Name, maxLabel), what), Body: why, URL: channelPage(publicURL, c.ID),
		Data: map[string]any{"channel": showChannel(c, h)},
	}
}

// ChannelRecovered is the event that a channel delivers again. before is how it did until
// then.
func ChannelRecovered(c *vigil.Channel, before, h channelhealth.Health, publicURL string, at time.Time) SystemContent {
	return SystemContent{
		Type:      vigil.EventChannelRecovered,
		OrgID:     c.OrgID,
		SubjectID: before.Episode,
		Time:      at,
		Since:     before.Since,
		Severity:  severityOf(before.State),
		Title:     fmt.Sprintf("The channel %s delivers again", vigil.Truncate(c.Name, maxLabel)),
		Body:      fmt.Sprintf("It failed for %s.", max(0, at.Sub(before.Since)).Round(time.Second)),
		URL:       channelPage(publicURL, c.ID),
		Data:      map[string]any{"channel": showChannel(c, h)},
	}
}

// envelopeDelivery is a delivery in an envelope.
type envelopeDelivery struct {
	ID         uuid.UUID            `json:"id"`
	EventID    uuid.UUID            `json:"event_id"`
	EventType  vigil.EventType      `json:"event_type"`
	IncidentID *uuid.UUID           `json:"incident_id"`
	CheckID    *uuid.UUID           `json:"check_id"`
	ChannelID  uuid.UUID            `json:"channel_id"`
	Status     vigil.DeliveryStatus `json:"status"`
	Attempts   int                  `json:"attempts"`
	CreatedAt  time.Time            `json:"created_at"`
	// FallbackChannelID is the channel that gets the message instead; null where none does.
	FallbackChannelID *uuid.UUID         `json:"fallback_channel_id"`
	FallbackFor       *vigil.FallbackFor `json:"fallback_for"`
}

// ExhaustedDelivery is what an event says of a delivery that was given up.
type ExhaustedDelivery struct {
	Delivery vigil.Delivery
	Title    string // of its message; empty where it is not kept any more
	Error    string // of its last attempt
	Channel  vigil.Channel
	Health   channelhealth.Health
	Fallback vigil.Channel // that gets the message instead; zero: none does
}

// DeliveryExhausted is the event that a delivery was given up.
func DeliveryExhausted(e *ExhaustedDelivery, publicURL string, at time.Time) SystemContent {
	d := &e.Delivery
	message := "The message " + string(d.EventType)
	if e.Title != "" {
		message = fmt.Sprintf("%q", vigil.Truncate(e.Title, maxEnvelopeText/4))
	}
	attempts := fmt.Sprintf("%d attempts", d.Attempts)
	if d.Attempts == 1 {
		attempts = "one attempt"
	}
	body := fmt.Sprintf("%s was not delivered after %s.", message, attempts)
	if e.Error != "" {
		body += " The last error: " + vigil.Shorten(e.Error, channelhealth.MaxError)
	}
	if e.Fallback.ID != uuid.Nil {
		body += fmt.Sprintf("\nThe channel %s gets it instead.", vigil.Truncate(e.Fallback.Name, maxLabel))
	}
	shown := envelopeDelivery{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, CheckID: vigil.NilIfZero(d.CheckID), ChannelID: d.ChannelID, Status: d.Status,
		Attempts: d.Attempts, CreatedAt: d.CreatedAt.UTC(), FallbackChannelID: vigil.NilIfZero(e.Fallback.ID), FallbackFor: d.FallbackFor,
	}
	if d.EventType.OfIncident() {
		shown.IncidentID = &d.IncidentID
	}
	return SystemContent{
		Type:      vigil.EventDeliveryExhausted,
		OrgID:     d.OrgID,
		SubjectID: d.ID,
		CheckID:   d.CheckID,
		Time:      at,
		Since:     d.CreatedAt,
		Severity:  vigil.Critical,
		Title:     fmt.Sprintf("A message to the channel %s was given up", vigil.Truncate(e.Channel.Name, maxLabel)),
		Body:      body,
		URL:       channelPage(publicURL, d.ChannelID),
		Data:      map[string]any{"channel": showChannel(&e.Channel, e.Health), "delivery": shown},
	}
}

// FallbackNote is the line that people read with a message in the place of another delivery; empty
// without one.
func FallbackNote(f *vigil.FallbackFor) string {
	if f == nil {
		return ""
	}
	return "Sent here because the channel " + vigil.Shorten(f.ChannelName, maxLabel) + " could not be reached."
}

// FallbackEnvelope returns the envelope of a message that is sent in the place of another
// delivery: it has data.fallback_for, and data.message.body ends with the note. One that would
// outgrow MaxEnvelope is returned as it is.
func FallbackEnvelope(given []byte, f *vigil.FallbackFor) []byte {
	var whole struct {
		ID        json.RawMessage            `json:"id"`
		Type      json.RawMessage            `json:"type"`
		Version   json.RawMessage            `json:"version"`
		Timestamp json.RawMessage            `json:"timestamp"`
		Data      map[string]json.RawMessage `json:"data"`
	}
	var message envelopeMessage
	if f == nil || json.Unmarshal(given, &whole) != nil || whole.Data == nil || json.Unmarshal(whole.Data["message"], &message) != nil {
		return given
	}
	message.Body = JoinNote(message.Body, FallbackNote(f))
	words, err := json.Marshal(message)
	if err != nil {
		return given
	}
	shown, err := json.Marshal(f)
	if err != nil {
		return given
	}
	whole.Data["message"], whole.Data["fallback_for"] = words, shown
	text, err := json.Marshal(whole)
	if err != nil || len(text) > MaxEnvelope {
		return given
	}
	return text
}

// JoinNote puts a note below a text.
func JoinNote(text, note string) string {
	if text == "" || note == "" {
		return text + note
	}
	return text + "\n\n" + note
}
