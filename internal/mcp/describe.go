// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) describeTools() []*tool {
	return []*tool{{
		name: "describe", title: "Describe", effect: reads, scopes: read(), run: does(describe),
		input: s.schemas.members().own("topic", text("Such as check_type:https; without it the topics are listed.")),
		description: "Explains what can be written: the config of a check type or a channel type, conditions of rules, regions " +
			"and locations, template variables, files of monitoring as code. " +
			"Use it before save_check, save_rule, save_channel, try_check and plan_changes.",
	}}
}

// topics of describe besides the types.
const (
	topicConditions = "conditions"
	topicRegions    = "regions"
	topicVariables  = "template_variables"
	topicFile       = "apply_file"
	topicCheck      = "check_type:"
	topicChannel    = "channel_type:"
)

func describe(c *call, in struct{ Topic string }) (object, error) {
	switch {
	case in.Topic == "":
		return object{"topics": c.s.schemas.topics()}, nil
	case in.Topic == topicConditions:
		return object{
			"schema":  c.s.schemas.inline(c.s.schemas.components["Condition"]),
			"example": object{"failure_threshold": 3, "recovery_threshold": 2, "severity": "critical"},
			"notes":   "A rule fires when one member of its condition matches; recovery_threshold and severity alone never do.",
		}, nil
	case in.Topic == topicFile:
		return object{
			"example": applyExample(),
			"notes": "Keys of maps identify definitions; names may change. Members are those of save_check, save_rule and save_channel, with " +
				"interval and timeout as durations and channels by key. Other parts are maintenance, status_pages, subscriptions and moved.",
			"schema": "The resource " + filesAddress + ", also at " + filesPath + ".",
		}, nil
	case in.Topic == topicRegions:
		return describeRegions(c)
	case in.Topic == topicVariables:
		part, err := list(c.api.ListTemplateVariables(c.ctx, &client.ListTemplateVariablesParams{Limit: new(int64(100))}))
		rows := make([]any, 0, len(part.rows))
		for _, variable := range part.rows {
			rows = append(rows, pick(variable, "placeholder", "type", "description", "example"))
		}
		return object{"template_variables": rows}, err
	case strings.HasPrefix(in.Topic, topicCheck), strings.HasPrefix(in.Topic, topicChannel):
		if shown, ok := c.s.schemas.typed(in.Topic); ok {
			return shown, nil
		}
	}
	return nil, &vigil.Error{
		Code: vigil.CodeInvalid, Message: "There is no such topic.",
		Details: map[string]any{"member": "topic", "topics": c.s.schemas.topics()},
	}
}

// topics lists what describe explains.
func (s *schemas) topics() []string {
	return append(slices.Sorted(maps.Keys(s.types())), topicConditions, topicRegions, topicVariables, topicFile)
}

// types returns the components that describe a type of check or channel, by topic.
func (s *schemas) types() map[string]object {
	found := make(map[string]object)
	for name, component := range s.components {
		component, _ := component.(object)
		properties, _ := component["properties"].(object)
		kind, _ := properties["type"].(object)
		values, _ := kind["enum"].([]any)
		if len(properties) != 2 || properties["config"] == nil || len(values) != 1 {
			continue
		}
		of, _ := values[0].(string)
		if strings.HasSuffix(name, "Channel") {
			found[topicChannel+of] = component
		} else {
			found[topicCheck+of] = component
		}
	}
	return found
}

// typed explains the config of a type.
func (s *schemas) typed(topic string) (object, bool) {
	component, ok := s.types()[topic]
	if !ok {
		return nil, false
	}
	properties, _ := component["properties"].(object)
	_, of, _ := strings.Cut(topic, ":")
	return object{
		"topic": topic, "config": s.inline(properties["config"]),
		"example": object{"type": of, "config": s.example(properties["config"])},
	}, true
}

// example returns an object with the examples of the members of a schema.
func (s *schemas) example(schema any) object {
	resolved, _ := schema.(object)
	if ref, ok := resolved["$ref"].(string); ok {
		resolved, _ = s.components[strings.TrimPrefix(ref, refPrefix)].(object)
	}
	properties, _ := resolved["properties"].(object)
	out := make(object)
	for name, member := range properties {
		member, _ := member.(object)
		if examples, ok := member["examples"].([]any); ok && len(examples) > 0 {
			out[name] = examples[0]
		}
	}
	return out
}

// describeRegions lists what a check can name in regions: those of the platform, and the locations of the organization,
// where its own agents probe.
func describeRegions(c *call) (object, error) {
	part, err := list(c.api.ListRegions(c.ctx, &client.ListRegionsParams{Limit: new(int64(100))}))
	if err != nil {
		return nil, err
	}
	regions := make([]any, 0, len(part.rows))
	for _, region := range part.rows {
		regions = append(regions, pick(region, "key", "name", "city", "country_code", "status", "primary", "aliases", "unavailable_types",
			"blind_since"))
	}
	if part, err = list(c.api.ListLocations(c.ctx, &client.ListLocationsParams{Limit: new(int64(100))})); err != nil {
		return nil, err
	}
	locations := make([]any, 0, len(part.rows))
	for _, location := range part.rows {
		locations = append(locations, cleanObject(pick(location, "id", "key", "name", "labels", "state", "silent_since", "agents", "checks")))
	}
	return object{"regions": regions, "locations": locations}, nil
}
