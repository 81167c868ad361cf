// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"

	"github.com/vigil-monitor/vigil/client"
)

// recipientFacts say what became of a mail for each recipient.
func recipientFacts(d *client.Delivery) []fact {
	if d.Recipients == nil {
		return nil
	}
	have := 0
	var facts []fact
	for _, r := range *d.Recipients {
		text := string(r.Status)
		if r.Status == client.DeliveryRecipientStatusDelivered {
			have++
		} else if r.StatusCode != nil {
			text += fmt.Sprintf(", %d", *r.StatusCode)
		}
		if r.Attempts > 1 {
			text += ", after " + number(r.Attempts) + " attempts"
		}
		facts = append(facts, fact{Name: r.Email, Value: text})
	}
	return append([]fact{{Name: "Recipients", Value: fmt.Sprintf("%d of %d have the mail", have, len(facts))}}, facts...)
}
