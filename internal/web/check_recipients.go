// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// receivingLine is a channel that receives events of a check, which, and why.
type receivingLine struct {
	Mark       mark
	Name, Href string
	Events     string
	Because    []link
}

// receivedWords say what a channel receives by a type of event.
func receivedWords() map[string]string {
	return map[string]string{
		"incident.triggered": "openings", "incident.resolved": "ends", "incident.acknowledged": "acknowledgements",
		"incident.updated": "updates", "check.unobserved": "missing results", "check.observed": "results that are back",
		"check.paused": "pauses", "check.resumed": "resumptions",
	}
}

// readReceiving reads who receives events of the check, the first hundred.
func (r *request) readReceiving(ctx context.Context, d *checkData) error {
	limit := int64(100)
	got, err := r.api.ListCheckRecipientsWithResponse(ctx, d.check.Id, &client.ListCheckRecipientsParams{Limit: &limit})
	return keep(err, func() { d.receiving = got.JSON200.Data })
}

// receivingLines are the channels that receive events of a check.
func receivingLines(check *client.Check, recipients []client.CheckRecipient) []receivingLine {
	lines := make([]receivingLine, len(recipients))
	words := receivedWords()
	for i := range recipients {
		to := &recipients[i]
		line := receivingLine{Name: to.Channel.Name, Href: "/app/channels/" + to.Channel.Id.String(), Mark: newMark("up", "Enabled")}
		if !to.Enabled {
			line.Mark = newMark("paused", "Disabled: it receives nothing")
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
