// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
)

func (s *Server) planTools() []*tool {
	return []*tool{{
		name: "plan_changes", title: "Plan changes", effect: reads, scopes: read(), run: does(planChanges),
		input: s.schemas.members().component("ApplyRequest", "project", "missing", "adopt").
			open("document", "What the files of the project say together. describe shows its form: apply_file.").
			require("project", "document"),
		description: "Shows what applying a document of monitoring as code would create, change and delete, with every error in it. " +
			"It changes nothing, and no tool applies: the user does, with vigil apply. Without the scope write secrets are not compared.",
	}}
}

type planInput struct {
	Project  string            `json:"project"`
	Missing  string            `json:"missing"`
	Adopt    map[string]string `json:"adopt"`
	Document json.RawMessage   `json:"document"`
}

func planChanges(c *call, in planInput) (object, error) {
	members := object{"project": in.Project, "document": in.Document, "dry_run": true}
	if in.Missing != "" {
		members["missing"] = in.Missing
	}
	if len(in.Adopt) > 0 {
		members["adopt"] = in.Adopt
	}
	answer, err := one(c.api.ApplyWithBody(c.ctx, nil, jsonType, body(members)))
	if err != nil {
		return nil, err
	}
	actions, _ := answer["actions"].([]any)
	shown, counts := make([]any, 0, len(actions)), make(map[string]int)
	for _, action := range actions {
		action, _ := action.(object)
		kind, _ := action["action"].(string)
		counts[kind]++
		if kind == "none" {
			continue
		}
		// The values of the members are what people wrote.
		changes := cut(action["members"], maxText)
		delete(action, "members")
		row := cleanObject(action)
		if list, ok := changes.([]any); ok && len(list) > 0 {
			row[untrustedPrefix+"members"] = list
		}
		shown = append(shown, row)
	}
	result, _ := clean(answer).(object)
	result["actions"], result["actions_by_kind"] = shown, counts
	return result, nil
}

// applyExample is a document as describe shows it; a test plans it.
func applyExample() object {
	return object{
		"version":  1,
		"defaults": object{"check": object{"interval": "60s", "labels": object{"team": "shop"}}, "rule": object{"channels": []any{"oncall"}}},
		"channels": object{"oncall": object{"name": "On-call hook", "type": "webhook", "config": object{"url": "https://hooks.example/x"}}},
		"checks": object{"home": object{
			"name": "Home page", "type": "https", "config": object{"url": "https://shop.example/"},
			"rules": object{"down": object{"name": "Down", "condition": object{"failure_threshold": 2}, "region_policy": "majority"}},
		}},
	}
}
