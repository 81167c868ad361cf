// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/console"
)

// Kind is what happened.
type Kind string

// The kinds of events, in the order of the story.
const (
	KindApplied  Kind = "applied"  // the definitions are stored
	KindResumed  Kind = "resumed"  // the story goes on after a restart
	KindHealthy  Kind = "healthy"  // every region has found the shop healthy
	KindBroken   Kind = "broken"   // the shop answers 503 from now on
	KindIncident Kind = "incident" // an incident opened
	KindAttempt  Kind = "attempt"  // an attempt to deliver a message ended
	KindRepaired Kind = "repaired" // the shop answers 200 again
	KindResolved Kind = "resolved" // the incident resolved
	KindDone     Kind = "done"     // the story has ended; commands are still followed
	KindLate     Kind = "late"     // a step takes too long
	KindRemoved  Kind = "removed"  // the demo was removed
)

// Event is something that happened in the demo.
type Event struct {
	Kind Kind      `json:"event"`
	At   time.Time `json:"at"`
	// Seconds since the demo started in this process.
	Seconds float64 `json:"seconds"`
	Text    string  `json:"text"`
	// URL of the workflow in the Temporal UI.
	URL string `json:"temporal_url,omitempty"`

	CheckID    *uuid.UUID `json:"check_id,omitempty"`
	IncidentID *uuid.UUID `json:"incident_id,omitempty"`
	DeliveryID *uuid.UUID `json:"delivery_id,omitempty"`

	// Of an attempt:
	MessageID      *uuid.UUID `json:"message_id,omitempty"` // the webhook-id
	MessageType    string     `json:"message_type,omitempty"`
	Attempt        int64      `json:"attempt,omitempty"`
	Delivered      *bool      `json:"delivered,omitempty"`
	Status         *int64     `json:"status,omitempty"`
	SignatureValid *bool      `json:"signature_valid,omitempty"`

	// Of the end of a story:
	Incidents  *int `json:"incidents,omitempty"`
	Deliveries *int `json:"deliveries,omitempty"`
	Attempts   *int `json:"attempts,omitempty"`
}

// textWidth is where the links begin, in columns of a terminal.
const textWidth = 68

// Line returns the event as a line for a person, without a line break. With a width, which
// is in columns of the terminal, it has no more: a link that does not fit is left out, and the text is cut.
func (e *Event) Line(width int) string {
	names := map[Kind]string{
		KindBroken: "......", KindRepaired: "......", KindResumed: "......", KindIncident: "INCIDENT", KindAttempt: "message",
		KindResolved: "RESOLVED",
	}
	name, ok := names[e.Kind]
	if !ok {
		name = string(e.Kind)
	}
	line := fmt.Sprintf("  +%d:%02d  %-9s  %s", int(e.Seconds)/60, int(e.Seconds)%60, name, e.Text)
	if linked := line + strings.Repeat(" ", max(2, textWidth+21-console.Width(line))) + e.URL; e.URL != "" &&
		(width <= 0 || console.Width(linked) <= width) {
		return linked
	}
	if width > 0 {
		line = console.Cut(line, width)
	}
	return line
}
