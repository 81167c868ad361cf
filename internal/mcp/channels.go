// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) channelTools() []*tool {
	return []*tool{{
		name: "list_channels", title: "Channels", effect: reads, scopes: read(), run: does(listChannels),
		input: s.schemas.members().own("limit", number("How many to show; 50 by default.", 1, 100)).own("cursor", cursorMember()),
		description: "Lists notification channels: type, whether each is enabled and why not, its subscriptions and last drill, and how " +
			"many rules use it. Where messages go is not shown. Use list_deliveries for what was sent.",
	}}
}

// channelMember is the schema of a channel in an input.
func channelMember() object { return text("The channel: its id or its exact name.") }

// intOf returns a whole number of an answer; 0 for anything else.
func intOf(value any) int64 {
	number, _ := value.(json.Number)
	n, _ := number.Int64()
	return n
}

// ruleScan is how many rules are looked through for the channels that they use.
const ruleScan = 1000

func listChannels(c *call, in struct {
	Limit  int64
	Cursor string
},
) (object, error) {
	used, complete, err := c.usedBy()
	if err != nil {
		return nil, err
	}
	subscribed, all, err := c.subscribed()
	if err != nil {
		return nil, err
	}
	result, err := listing("channels", or(in.Limit, 50), func(limit int64) (page, error) {
		return list(c.api.ListNotificationChannels(c.ctx, &client.ListNotificationChannelsParams{Limit: &limit, Cursor: given(in.Cursor)}))
	}, func(row object) (object, error) {
		shown := pick(row, "id", "name", "type", "enabled", "disabled_reason", "secret_overlap_ends_at", "labels", "revision",
			"last_drill")
		id, _ := row["id"].(string)
		shown["used_by_rules"] = used[id]
		if of := subscribed[id]; len(of) > 0 {
			shown["subscriptions"] = of
		}
		return cleanObject(shown), nil
	})
	if err == nil && !complete {
		result["used_by_rules_counts"] = "the newest 1,000 rules"
	}
	if err == nil && !all {
		result["subscriptions_are"] = "the newest 100"
	}
	return result, err
}

// usedBy counts the rules of each channel.
func (c *call) usedBy() (used map[string]int, complete bool, err error) {
	used = make(map[string]int)
	var cursor *string
	for seen := 0; seen < ruleScan; {
		part, err := list(c.api.ListAllAlertRules(c.ctx, &client.ListAllAlertRulesParams{Limit: new(int64(100)), Cursor: cursor}))
		if err != nil {
			return nil, false, err
		}
		for _, rule := range part.rows {
			ids, _ := rule["notification_channel_ids"].([]any)
			for _, id := range ids {
				if id, ok := id.(string); ok {
					used[id]++
				}
			}
		}
		seen += len(part.rows)
		if part.next == "" {
			return used, true, nil
		}
		cursor = &part.next
	}
	return used, false, nil
}

// channel finds a channel by its id or its exact name.
func (c *call) channel(name string) (uuid.UUID, error) {
	if id, err := uuid.Parse(name); err == nil {
		return id, nil
	}
	if name == "" {
		return uuid.Nil, vigil.Invalid("channel", "must be an id or a name")
	}
	part, err := list(c.api.ListNotificationChannels(c.ctx, &client.ListNotificationChannelsParams{Query: &name, Limit: new(int64(100))}))
	if err != nil {
		return uuid.Nil, err
	}
	return only(part, "channel", name)
}
