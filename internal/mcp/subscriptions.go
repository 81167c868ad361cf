// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) subscriptionTools() []*tool {
	return []*tool{{
		name: "save_subscription", title: "Save a subscription", effect: creates, scopes: write(), run: does(saveSubscription),
		input: s.schemas.members().own("id", text("Of the one to change.")).
			own("name", text("")).own("channel_id", text("")).own("events", textList("Such as incident.*, channel.failing.", 30)).
			open("selector", "Any of labels, check_ids, severity_min.").own("enabled", flag("")),
		description: "Lets a channel receive events without a rule, or changes the one with id. list_channels shows them.",
	}}
}

// subscribed returns the subscriptions of each channel, by its id.
func (c *call) subscribed() (by map[string][]any, complete bool, err error) {
	by = make(map[string][]any)
	part, err := list(c.api.ListSubscriptions(c.ctx, &client.ListSubscriptionsParams{Limit: new(int64(100))}))
	for _, row := range part.rows {
		id, _ := row["channel_id"].(string)
		by[id] = append(by[id], clean(pick(row, "id", "name", "events", "selector", "enabled", "revision")))
	}
	return by, part.next == "", err
}

func saveSubscription(c *call, in map[string]json.RawMessage) (object, error) {
	s, err := newSaved(in)
	if err != nil {
		return nil, err
	}
	if s.id == uuid.Nil {
		answer, err := one(c.api.CreateSubscriptionWithBody(c.ctx, nil, jsonType, body(s.members)))
		return show("subscription", answer, err)
	}
	params := client.UpdateSubscriptionParams{IfMatch: s.ifMatch}
	answer, err := one(c.api.UpdateSubscriptionWithBody(c.ctx, s.id, &params, jsonType, body(s.members)))
	return show("subscription", answer, err)
}
