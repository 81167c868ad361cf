// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/account"
)

func (s *Server) actionTools() []*tool {
	return []*tool{
		{
			name: "try_check", title: "Try a check", effect: sends, scopes: []account.Scope{account.ScopeWrite, account.ScopeRespond},
			run: does(tryCheck),
			input: s.schemas.members().own("check", text("A check that exists: its id, key or exact name. Needs the scope respond.")).
				component("CheckCreate", "type").
				open("config", "Without check: what to probe. describe shows its form: check_type:https. Needs the scope write.").
				own("regions", textList("Regions that probe; one by default.", 3)),
			description: "Probes a target now, from up to 3 regions, and shows the results. Nothing is stored. Give a check that exists, " +
				"or type and config to see whether they work before save_check.",
		},
		{
			name: "set_checks_enabled", title: "Pause or resume checks", effect: sets, scopes: write(), run: does(setEnabled),
			input: s.schemas.members().own("checks", textList("Checks, by id or exact name.", 50)).
				own("label", text("Checks with a label: key=value, or key for any value.")).own("enabled", flag("Whether they run.")).
				own("confirm", number("For more than 10 checks, where the user is not asked by the client: how many they are.", 1, 1000)).
				require("enabled"),
			description: "Pauses or resumes checks, by name or by label. While a check is paused nothing is probed and no incident opens. " +
				"For more than 10 checks the user is asked first, or the answer asks to confirm their number.",
		},
		{
			name: "delete_object", title: "Delete", effect: deletes, scopes: write(), run: does(deleteObject),
			input: s.schemas.members().own("kind", oneOf("What to delete.", "check", "rule", "channel", "subscription",
				"drill_schedule")).own("id", text("Its id.")).
				own("confirm", text("Its exact name, which the user confirmed; not needed where the client asks the user.")).
				require("kind", "id"),
			description: "Deletes a check with its results, a rule, or a channel that no rule uses. It cannot be undone: the user is asked " +
				"first, or ask and give the exact name as confirm. Use set_checks_enabled to pause a check instead.",
		},
		{
			name: "update_incident", title: "Acknowledge or resolve", effect: sets, scopes: respond(), run: does(updateIncident),
			input: s.schemas.members().own("incident", text("The id of the incident.")).
				own("action", oneOf("What to do.", "acknowledge", "resolve")).own("note", text("With resolve: what was done.")).
				require("incident", "action"),
			description: "Acknowledges an incident, so that others see that someone works on it, or resolves it by hand. An incident resolves " +
				"by itself when its check is healthy again; resolving earlier keeps another one from opening until then.",
		},
		{
			name: "send_message", title: "Test a channel or redeliver", effect: sends, scopes: respond(), run: does(sendMessage),
			input: s.schemas.members().own("channel", text("The channel to test: its id or its exact name.")).
				own("delivery", text("The id of the delivery to try again.")),
			description: "Sends a test message through a channel and shows what the receiver answers, or tries a delivery once more. " +
				"People get the message: ask the user first.",
		},
	}
}

type tryInput struct {
	Check, Type string
	Config      object
	Regions     []string
}

func tryCheck(c *call, in tryInput) (object, error) {
	if (in.Check == "") == (in.Type == "") {
		return nil, vigil.Invalid("check", "give either check, or type and config")
	}
	if in.Check == "" {
		members := object{"type": in.Type, "config": in.Config}
		if len(in.Regions) > 0 {
			members["regions"] = in.Regions
		}
		answer, err := decode(c.api.TryCheckWithBody(c.ctx, jsonType, body(members)))
		if err != nil {
			return nil, err
		}
		return object{"results": clean(answer.Data)}, nil
	}
	id, err := c.check(in.Check)
	if err != nil {
		return nil, err
	}
	regions := in.Regions
	if len(regions) == 0 {
		regions = []string{""} // the first one of the check
	}
	results := make([]any, 0, len(regions))
	for _, region := range regions {
		result, err := one(c.api.TestCheck(c.ctx, id, &client.TestCheckParams{Region: given(region), DryRun: new(true)}))
		if err != nil {
			return nil, err
		}
		results = append(results, clean(result))
	}
	return object{"results": results}, nil
}

// confirmFrom is how many checks can be paused or resumed without a confirmation.
const confirmFrom = 10

type enabledInput struct {
	Checks  []string
	Label   string
	Enabled bool
	Confirm int64
}

func setEnabled(c *call, in enabledInput) (object, error) {
	if (len(in.Checks) == 0) == (in.Label == "") {
		return nil, vigil.Invalid("checks", "give either checks or label")
	}
	members := object{"action": "disable", "dry_run": true}
	if in.Enabled {
		members["action"] = "enable"
	}
	if in.Label != "" {
		members["selector"] = object{"labels": []string{in.Label}}
	} else {
		ids := make([]string, 0, len(in.Checks))
		for _, name := range in.Checks {
			id, err := c.check(name)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id.String())
		}
		members["ids"] = ids
	}
	would, err := one(c.api.ChangeChecksWithBody(c.ctx, jsonType, body(members)))
	if err != nil {
		return nil, err
	}
	if matched := intOf(would["matched"]); matched > confirmFrom {
		if err := c.confirmMany(in, matched, would["checks"]); err != nil {
			return nil, err
		}
	}
	members["dry_run"] = false
	answer, err := one(c.api.ChangeChecksWithBody(c.ctx, jsonType, body(members)))
	if err != nil {
		return nil, err
	}
	result, _ := clean(answer).(object)
	return result, nil
}

// confirmMany asks whether many checks are to be paused or resumed.
func (c *call) confirmMany(in enabledInput, matched int64, checks any) error {
	switch verb := map[bool]string{true: "Resume", false: "Pause"}[in.Enabled]; {
	case c.canAsk():
		return c.ask(question{
			text:  fmt.Sprintf("%s %d checks?", verb, matched),
			about: fmt.Sprintf("%s %d checks %s %q", verb, matched, in.Label, in.Checks),
		})
	case in.Confirm != matched:
		return &vigil.Error{
			Code:    vigil.CodeConflict,
			Message: fmt.Sprintf("These are %d checks. Ask the user, and give confirm: %d to change them all.", matched, matched),
			Details: map[string]any{"matched": matched, "checks": clean(checks)},
		}
	}
	return nil
}

type deleteInput struct{ Kind, ID, Confirm string }

func deleteObject(c *call, in deleteInput) (object, error) {
	id, err := parseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	found, remove, err := c.removable(in.Kind, id)
	if err != nil {
		return nil, err
	}
	asks := c.canAsk()
	if found["name"] != in.Confirm && (in.Confirm != "" || !asks) {
		return nil, vigil.Invalid("confirm", "must be the exact name of what is deleted; it is not the name of this %s", in.Kind)
	}
	if asks {
		err := c.ask(question{
			text:  fmt.Sprintf("Delete the %s %q? It cannot be undone.", strings.ReplaceAll(in.Kind, "_", " "), found["name"]),
			about: fmt.Sprintf("delete %s %s %v", in.Kind, id, found["revision"]),
		})
		if err != nil {
			return nil, err
		}
	}
	if err := remove(found); err != nil {
		return nil, err
	}
	return object{"deleted": true, "kind": in.Kind, "id": id.String()}, nil
}

// removable reads what is to be deleted, and returns the function that deletes it in the
// revision that was read.
func (c *call) removable(kind string, id uuid.UUID) (found object, remove func(object) error, err error) {
	revision := func(of object) *string { return new(fmt.Sprintf("%q", fmt.Sprint(intOf(of["revision"])))) }
	switch kind {
	case "check":
		found, err = one(c.api.GetCheck(c.ctx, id, nil))
		remove = func(of object) error {
			_, err := decode(c.api.DeleteCheck(c.ctx, id, &client.DeleteCheckParams{IfMatch: revision(of)}))
			return err
		}
	case "rule":
		found, err = one(c.api.GetAlertRuleById(c.ctx, id, nil))
		remove = func(of object) error {
			text, _ := of["check_id"].(string)
			check, err := parseID("check_id", text)
			if err != nil {
				return err
			}
			_, err = decode(c.api.DeleteAlertRule(c.ctx, check, id, &client.DeleteAlertRuleParams{IfMatch: revision(of)}))
			return err
		}
	case "channel":
		found, err = one(c.api.GetNotificationChannel(c.ctx, id, nil))
		remove = func(of object) error {
			params := client.DeleteNotificationChannelParams{IfMatch: revision(of)}
			_, err := decode(c.api.DeleteNotificationChannel(c.ctx, id, &params))
			return err
		}
	case "subscription":
		found, err = one(c.api.GetSubscription(c.ctx, id, nil))
		remove = func(of object) error {
			_, err := decode(c.api.DeleteSubscription(c.ctx, id, &client.DeleteSubscriptionParams{IfMatch: revision(of)}))
			return err
		}
	case "drill_schedule":
		found, err = one(c.api.GetDrillSchedule(c.ctx, id, nil))
		remove = func(of object) error {
			_, err := decode(c.api.DeleteDrillSchedule(c.ctx, id, &client.DeleteDrillScheduleParams{IfMatch: revision(of)}))
			return err
		}
	default:
		err = vigil.Invalid("kind", "must be check, rule, channel, subscription or drill_schedule")
	}
	return found, remove, err
}

type incidentAction struct{ Incident, Action, Note string }

func updateIncident(c *call, in incidentAction) (object, error) {
	id, err := parseID("incident", in.Incident)
	if err != nil {
		return nil, err
	}
	if in.Action == "acknowledge" {
		if in.Note != "" {
			return nil, vigil.Invalid("note", "belongs to resolve: an acknowledgement has none")
		}
		answer, err := one(c.api.AcknowledgeIncident(c.ctx, id, nil))
		return show("incident", answer, err)
	}
	members := object{}
	if in.Note != "" {
		members["note"] = in.Note
	}
	answer, err := one(c.api.ResolveIncidentWithBody(c.ctx, id, nil, jsonType, body(members)))
	return show("incident", answer, err)
}

func sendMessage(c *call, in struct{ Channel, Delivery string }) (object, error) {
	if (in.Channel == "") == (in.Delivery == "") {
		return nil, vigil.Invalid("channel", "give either channel or delivery")
	}
	if in.Delivery != "" {
		id, err := parseID("delivery", in.Delivery)
		if err != nil {
			return nil, err
		}
		answer, err := one(c.api.Redeliver(c.ctx, id, nil))
		return show("delivery", answer, err)
	}
	id, err := c.channel(in.Channel)
	if err != nil {
		return nil, err
	}
	answer, err := one(c.api.TestNotificationChannel(c.ctx, id, nil))
	return show("attempt", answer, err)
}
