// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

// revisionMember is the schema of the revision that a change is made to.
func revisionMember() object {
	return number("The revision that was read. If the definition changed since, nothing is changed.", 1, 1<<53)
}

func (s *Server) definitionTools() []*tool {
	check := s.schemas.members().own("id", text("The id of the check to change; without it a check is created.")).
		component("CheckCreate", "name", "type", "interval_seconds", "regions", "simultaneous_regions", "retry", "evidence", "labels",
			"enabled").
		open("config", "What is probed. describe shows its form: check_type:https. A secret that is written as *** is kept.").
		own("revision", revisionMember())
	rule := s.schemas.members().own("check", checkMember()).require("check").
		own("id", text("The id of the rule to change; without it a rule is created.")).
		component("AlertRuleCreate", "name", "notification_channel_ids", "notify_on", "notify_if_open", "unobserved", "region_policy",
			"labels", "enabled").
		open("condition", "When the rule fires, such as {\"failure_threshold\": 3}. describe shows its form: conditions.").
		own("revision", revisionMember())
	channel := s.schemas.members().own("id", text("The id of the channel to change; without it a channel is created.")).
		component("NotificationChannelCreate", "name", "type", "labels", "enabled").
		open("config", "Where messages go. describe shows its form: channel_type:webhook. A secret that is written as *** is kept.").
		own("revision", revisionMember())
	return []*tool{
		{
			name: "save_check", title: "Save a check", effect: creates, scopes: write(), input: check, run: does(saveCheck),
			description: "Creates a check, or changes the members that are given of the one with id. " +
				"Use try_check first to see whether a config works, and set_checks_enabled to pause.",
		},
		{
			name: "save_rule", title: "Save a rule", effect: creates, scopes: write(), input: rule, run: does(saveRule),
			description: "Creates an alert rule of a check, or changes the members that are given of the one with id. " +
				"Use get_check for the rules that there are, and list_channels for the channels.",
		},
		{
			name: "save_channel", title: "Save a channel", effect: creates, scopes: write(), input: channel, run: does(saveChannel),
			description: "Creates a notification channel, or changes the members that are given of the one with id. " +
				"Secrets are shown as ***. Use send_message to test it.",
		},
	}
}

// saved is what the tools that save have in common: the members of the definition, without
// those that say what to change.
type saved struct {
	id      uuid.UUID // zero: create
	ifMatch *string
	members map[string]json.RawMessage
}

func newSaved(in map[string]json.RawMessage) (saved, error) {
	var id string
	var revision int64
	for member, into := range map[string]any{"id": &id, "revision": &revision} {
		if raw, ok := in[member]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return saved{}, vigil.Invalid(member, "has the wrong type")
			}
		}
		delete(in, member)
	}
	s := saved{members: in}
	if revision > 0 {
		s.ifMatch = new(fmt.Sprintf("%q", fmt.Sprint(revision)))
	}
	known, err := optionalID("id", id)
	if known != nil {
		s.id = *known
	}
	return s, err
}

// show returns the result of a save.
func show(kind string, answer object, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	return object{kind: clean(answer)}, nil
}

func saveCheck(c *call, in map[string]json.RawMessage) (object, error) {
	s, err := newSaved(in)
	if err != nil {
		return nil, err
	}
	if s.id == uuid.Nil {
		answer, err := one(c.api.CreateCheckWithBody(c.ctx, nil, jsonType, body(s.members)))
		return show("check", answer, err)
	}
	answer, err := one(c.api.UpdateCheckWithBody(c.ctx, s.id, &client.UpdateCheckParams{IfMatch: s.ifMatch}, jsonType, body(s.members)))
	return show("check", answer, err)
}

func saveRule(c *call, in map[string]json.RawMessage) (object, error) {
	var name string
	if err := json.Unmarshal(in["check"], &name); err != nil {
		return nil, vigil.Invalid("check", "must be a text")
	}
	delete(in, "check")
	s, err := newSaved(in)
	if err != nil {
		return nil, err
	}
	check, err := c.check(name)
	if err != nil {
		return nil, err
	}
	if s.id == uuid.Nil {
		answer, err := one(c.api.CreateAlertRuleWithBody(c.ctx, check, nil, jsonType, body(s.members)))
		return show("rule", answer, err)
	}
	params := client.UpdateAlertRuleParams{IfMatch: s.ifMatch}
	answer, err := one(c.api.UpdateAlertRuleWithBody(c.ctx, check, s.id, &params, jsonType, body(s.members)))
	return show("rule", answer, err)
}

func saveChannel(c *call, in map[string]json.RawMessage) (object, error) {
	s, err := newSaved(in)
	if err != nil {
		return nil, err
	}
	if s.id == uuid.Nil {
		answer, err := one(c.api.CreateNotificationChannelWithBody(c.ctx, nil, jsonType, body(s.members)))
		return show("channel", answer, err)
	}
	params := client.UpdateNotificationChannelParams{IfMatch: s.ifMatch}
	answer, err := one(c.api.UpdateNotificationChannelWithBody(c.ctx, s.id, &params, jsonType, body(s.members)))
	return show("channel", answer, err)
}
