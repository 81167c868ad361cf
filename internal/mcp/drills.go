// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) drillTools() []*tool {
	pager := flag("The user agreed to wake people by pagers.")
	what := func(m *members) *members {
		return m.own("channels", textList("By id or exact name.", 50)).own("rule_ids", textList("", 50)).
			own("subscription_ids", textList("", 50)).own("regions", textList("", 33)).own("severity", text("info by default.")).
			own("expect_within_seconds", number("120 by default.", 10, 600)).own("confirm_pager", pager)
	}
	return []*tool{
		{
			name: "list_drills", title: "Drills", effect: reads, scopes: read(), run: does(listDrills),
			input: s.schemas.members().own("drill", text("The id of one: shows its receipt.")).query("list-drills", "verdict").
				own("limit", number("20 by default.", 1, 100)).own("cursor", cursorMember()),
			description: "Lists drills, which prove that alerts arrive, and the schedules that run them. With drill it shows the receipt: " +
				"each hop with its time, and those that are missing or were late.",
		},
		{
			name: "run_drill", title: "Run or cancel a drill", effect: sends, scopes: write(), run: does(runDrill),
			input: what(s.schemas.members()).own("check", text("Tries its enabled rules.")).
				own("cancel", text("Instead: the id of the drill to cancel.")),
			description: "Starts a drill of one of channels, rule_ids, subscription_ids and check: people get a message that something fails, " +
				"marked [DRILL], and one that it is over. Ask the user first. list_drills has the receipt afterwards.",
		},
		{
			name: "save_drill_schedule", title: "Schedule drills", effect: creates, scopes: write(), run: does(saveDrillSchedule),
			input: what(s.schemas.members()).own("id", text("Of the one to change.")).own("name", text("")).
				open("recurrence", "every (monthly, weekly), day, hour, timezone.").own("enabled", flag("")).own("revision", revisionMember()),
			description: "Lets drills run by a schedule, or changes the one with id. list_drills shows them.",
		},
	}
}

func listDrills(c *call, in struct {
	Drill, Verdict, Cursor string
	Limit                  int64
},
) (object, error) {
	if in.Drill != "" {
		id, err := parseID("drill", in.Drill)
		if err != nil {
			return nil, err
		}
		drill, err := one(c.api.GetDrill(c.ctx, id))
		return showDrill(drill, err)
	}
	result, err := listing("drills", or(in.Limit, 20), func(limit int64) (page, error) {
		return list(c.api.ListDrills(c.ctx, &client.ListDrillsParams{
			Verdict: given(client.ListDrillsParamsVerdict(in.Verdict)), Limit: &limit, Cursor: given(in.Cursor),
		}))
	}, func(row object) (object, error) { return drillHead(row), nil })
	if err != nil || in.Cursor != "" {
		return result, err
	}
	schedules, err := list(c.api.ListDrillSchedules(c.ctx, &client.ListDrillSchedulesParams{Limit: new(int64(100))}))
	if err != nil {
		return nil, err
	}
	rows := make([]any, 0, len(schedules.rows))
	for _, row := range schedules.rows {
		rows = append(rows, cleanObject(row))
	}
	result["schedules"] = rows
	return result, nil
}

// drillHead shows a drill without its receipt.
func drillHead(drill object) object {
	shown := cleanObject(pick(drill, "id", "state", "verdict", "channels", "regions", "severity", "expect_within_seconds", "asked_at",
		"closed_at"))
	if by, _ := withoutDomain(drill["requested_by"]).(string); by != "" {
		shown[untrustedPrefix+"requested_by"] = cutText(by, maxText)
	}
	return shown
}

// showDrill shows a drill with its receipt, whose lists are at the top, where those that are too
// long are cut.
func showDrill(drill object, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	result := object{"drill": drillHead(drill)}
	receipt, ok := drill["receipt"].(object)
	if !ok {
		return result, nil
	}
	var hops, failures []any
	for _, row := range objects(receipt["hops"]) {
		row["hop"] = row["name"]
		hops = append(hops, pick(row, "hop", "at", "ms_since_previous"))
	}
	for _, row := range objects(receipt["failures"]) {
		shown := cleanObject(pick(row, "hop", "region", "channel_id"))
		reason, _ := row["reason"].(string)
		shown[untrustedPrefix+"reason"] = cutText(reason, maxText) // it has names, and what receivers answered
		failures = append(failures, shown)
	}
	result["hops"], result["failures"] = hops, append([]any{}, failures...)
	result["channels"] = clean(receipt["channels"])
	return result, nil
}

// objects returns the objects of a list.
func objects(of any) []object {
	items, _ := of.([]any)
	out := make([]object, 0, len(items))
	for _, item := range items {
		if item, ok := item.(object); ok {
			out = append(out, item)
		}
	}
	return out
}

// drillInput is what a drill, and a schedule of drills, is asked for by names.
type drillInput struct {
	Channels        []string `json:"channels"`
	RuleIDs         []string `json:"rule_ids"`
	SubscriptionIDs []string `json:"subscription_ids"`
	Check           string   `json:"check"`
	Regions         []string `json:"regions"`
	Severity        string   `json:"severity"`
	Expect          int64    `json:"expect_within_seconds"`
	ConfirmPager    bool     `json:"confirm_pager"`
	Cancel          string   `json:"cancel"`
}

// members returns the members of the API's request.
func (in *drillInput) members(c *call) (object, error) {
	members := object{}
	ids, err := c.channels(in.Channels)
	if err != nil {
		return nil, err
	}
	for member, list := range map[string][]string{
		"channel_ids": ids, "rule_ids": in.RuleIDs, "subscription_ids": in.SubscriptionIDs, "regions": in.Regions,
	} {
		if len(list) > 0 {
			members[member] = list
		}
	}
	if in.Check != "" {
		id, err := c.check(in.Check)
		if err != nil {
			return nil, err
		}
		members["check_id"] = id
	}
	if in.Severity != "" {
		members["severity"] = in.Severity
	}
	if in.Expect != 0 {
		members["expect_within_seconds"] = in.Expect
	}
	return members, nil
}

// channels finds channels by their ids or exact names.
func (c *call) channels(names []string) ([]string, error) {
	ids := make([]string, 0, len(names))
	for _, name := range names {
		id, err := c.channel(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id.String())
	}
	return ids, nil
}

func runDrill(c *call, in drillInput) (object, error) {
	members, err := in.members(c)
	if err != nil {
		return nil, err
	}
	if in.Cancel != "" {
		if len(members) > 0 {
			return nil, vigil.Invalid("cancel", "stands alone: give either it, or what a drill tries")
		}
		id, err := parseID("cancel", in.Cancel)
		if err != nil {
			return nil, err
		}
		drill, err := one(c.api.CancelDrill(c.ctx, id))
		return showDrill(drill, err)
	}
	if in.ConfirmPager {
		if err := c.askPager(fmt.Sprintf("Run a drill of %s?", triedBy(members)), string(encoded(in))); err != nil {
			return nil, err
		}
		members["confirm_pager"] = true
	}
	drill, err := one(c.api.CreateDrillWithBody(c.ctx, nil, jsonType, body(members)))
	return showDrill(drill, err)
}

// triedBy says what a drill tries, for the question to the user.
func triedBy(members object) string {
	for _, kind := range []string{"channel", "rule", "subscription"} {
		if ids, _ := members[kind+"_ids"].([]string); len(ids) > 0 {
			return fmt.Sprintf("%d %s%s", len(ids), kind, strings.Repeat("s", min(len(ids)-1, 1)))
		}
	}
	return "the rules of a check"
}

// askPager asks the user whether pagers may be notified, where the client can ask.
func (c *call) askPager(text, about string) error {
	if !c.canAsk() {
		return nil
	}
	return c.ask(question{text: text + " Pagers are notified, too: it wakes people.", about: "pager " + about})
}

func saveDrillSchedule(c *call, in map[string]json.RawMessage) (object, error) {
	asked := string(encoded(in))
	s, err := newSaved(in)
	if err != nil {
		return nil, err
	}
	var names []string
	var pager bool
	for member, into := range map[string]any{"channels": &names, "confirm_pager": &pager} {
		if raw, ok := s.members[member]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, vigil.Invalid(member, "has the wrong type")
			}
		}
	}
	if ids, err := c.channels(names); err != nil {
		return nil, err
	} else if len(ids) > 0 {
		s.members["channel_ids"] = encoded(ids)
	}
	delete(s.members, "channels")
	if pager {
		if err := c.askPager("Save this schedule of drills?", asked); err != nil {
			return nil, err
		}
	}
	if s.id == uuid.Nil {
		answer, err := one(c.api.CreateDrillScheduleWithBody(c.ctx, nil, jsonType, body(s.members)))
		return show("schedule", answer, err)
	}
	params := client.UpdateDrillScheduleParams{IfMatch: s.ifMatch}
	answer, err := one(c.api.UpdateDrillScheduleWithBody(c.ctx, s.id, &params, jsonType, body(s.members)))
	return show("schedule", answer, err)
}
