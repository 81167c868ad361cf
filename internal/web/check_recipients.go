// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// heardLine is a channel that hears of a check, what it hears, and why.
type heardLine struct {
	Mark       mark
	Name, Href string
	Events     string
	Because    []link
}

// heardWords say what a channel hears by a type of event.
func heardWords() map[string]string {
	return map[string]string{
		"incident.triggered": "openings", "incident.resolved": "ends", "incident.acknowledged": "acknowledgements",
		"incident.updated": "updates", "check.unobserved": "missing results", "check.observed": "results that are back",
		"check.paused": "pauses", "check.resumed": "resumptions",
	}
}

// readHeard reads who hears of the check, the first hundred.
func (r *request) readHeard(ctx context.Context, d *checkData) error {
	limit := int64(100)
	got, err := r.api.ListCheckRecipientsWithResponse(ctx, d.check.Id, &client.ListCheckRecipientsParams{Limit: &limit})
	return keep(err, func() { d.heard = got.JSON200.Data })
}

// heardLines are the channels that hear of a check.
func heardLines(check *client.Check, recipients []client.CheckRecipient) []heardLine {
	lines := make([]heardLine, len(recipients))
	words := heardWords()
	for i := range recipients {
		to := &recipients[i]
		line := heardLine{Name: to.Channel.Name, Href: "/app/channels/" + to.Channel.Id.String(), Mark: newMark("up", "Enabled")}
		if !to.Enabled {
			line.Mark = newMark("paused", "Disabled: it hears nothing")
		}
		var events []string
		for _, event := range to.Events {
			word, known := words[event]
			if !known {
				word = event
			}
			events = append(events, word)
		}
		line.Events = strings.Join(events, ", ")
		for _, why := range to.Because {
			reason := link{Text: why.Name, Href: "/app/subscriptions/" + why.Id.String()}
			if why.Kind == client.RecipientReasonKindRule {
				reason.Href = "/app/checks/" + check.Id.String() + "/rules/" + why.Id.String()
			}
			line.Because = append(line.Because, reason)
		}
		lines[i] = line
	}
	return lines
}
