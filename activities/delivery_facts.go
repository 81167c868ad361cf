// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// factStore reads what messages to people say besides their text.
type factStore interface {
	// Summaries are those of checks, by their ids.
	Summaries(ctx context.Context, orgID uuid.UUID, checks []uuid.UUID) (map[uuid.UUID]overview.CheckSummary, error)
	// AlsoNotified are the names of the other channels that the event of a delivery is sent to.
	AlsoNotified(ctx context.Context, delivery vigil.Delivery) ([]string, error)
}

const (
	// shownResults is how many results a message shows.
	shownResults = 30
	// factsTimeout bounds the reading of facts: a message without them is better than none.
	factsTimeout = 2 * time.Second
)

// facts reads what a message to people says besides its text; nil for a channel that a program reads. What cannot be
// read is left out.
func (d *Deliveries) facts(ctx context.Context, next *vigil.NextAttempt) *notify.Facts {
	switch next.Delivery.ChannelType {
	case vigil.ChannelEmail, vigil.ChannelChat, vigil.ChannelPush:
	default:
		return nil
	}
	facts := &notify.Facts{}
	event := &next.Event
	if d.Facts == nil || !event.Type.OfIncident() || event.Type == vigil.EventTest {
		return facts
	}
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	others, err := d.Facts.AlsoNotified(ctx, next.Delivery)
	if err != nil {
		d.Log.WarnContext(ctx, "a message does not say who else is notified", "delivery", next.Delivery.ID, "error", err)
	}
	facts.Others = others
	sums, err := d.Facts.Summaries(ctx, event.OrgID, []uuid.UUID{event.CheckID})
	if err != nil {
		d.Log.WarnContext(ctx, "a message does not show the last results", "delivery", next.Delivery.ID, "error", err)
	}
	slots := sums[event.CheckID].Slots
	for _, slot := range slots[max(0, len(slots)-shownResults):] {
		facts.Results = append(facts.Results, notify.SlotResult{Passed: slot.Results > slot.Failures, Failed: slot.Failures > 0})
	}
	if d.Links.Made() {
		facts.Acknowledge = func(who string) string {
			return d.Links.URL(notify.Acknowledgement{
				Incident: event.IncidentID, Channel: next.Delivery.ChannelID, Who: who, Until: event.Time.Add(notify.AcknowledgeLifetime),
			})
		}
	}
	return facts
}
