// SPDX-License-Identifier: Apache-2.0

package web

import "github.com/vigil-monitor/vigil/client"

// recipientLine is someone who gets the mail of a channel.
type recipientLine struct {
	Mark  mark
	Email string
	Text  string
}

// recipientLines say who gets the mail of a channel; nil recipients are none.
func recipientLines(r *request, recipients *[]client.Recipient) []recipientLine {
	if recipients == nil {
		return nil
	}
	var lines []recipientLine
	for _, to := range *recipients {
		line := recipientLine{
			Mark: newMark("unknown", "Pending"), Email: string(to.Email), Text: "gets nothing until it agrees by the link in its mail",
		}
		switch to.Status {
		case client.RecipientStatusMember:
			line.Mark, line.Text = newMark("up", "Member"), "a member of the organization"
		case client.RecipientStatusUnsubscribed:
			line.Mark, line.Text = newMark("unknown", "Unsubscribed"), "wants no mail of the organization"
		case client.RecipientStatusConfirmed, client.RecipientStatusPending:
		}
		if to.Status == client.RecipientStatusConfirmed && to.ConfirmedAt != nil {
			line.Mark, line.Text = newMark("up", "Confirmed"), "confirmed "+span(r.now.Sub(*to.ConfirmedAt))+" ago"
		}
		lines = append(lines, line)
	}
	return lines
}
