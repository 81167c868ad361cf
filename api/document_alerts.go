// SPDX-License-Identifier: Apache-2.0

package api

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

// describeChannels writes into the document what depends on the channel types
// that the registry knows, as describeChecks does for those of checks.
func (t types) describeChannels(registry huma.Registry) {
	schemas := registry.Map()
	types := t.channels.Types()
	names := make([]any, 0, len(types))
	mapping := make(map[string]string, len(types))
	var variants, configs []*huma.Schema
	for _, typ := range types {
		name := camel(vigil.CheckType(typ)) + "Channel"
		config := registry.Schema(reflect.TypeOf(t.channels.Config(typ)), true, name+"Config")
		describeSecrets(registry, config, t.channels.Secrets(typ))
		schemas[name] = &huma.Schema{
			Type:        huma.TypeObject,
			Description: "What makes a channel of type " + string(typ) + ".",
			Properties: map[string]*huma.Schema{
				"type":   {Type: huma.TypeString, Enum: []any{string(typ)}},
				"config": config,
			},
			Required: []string{"type", "config"},
		}
		names = append(names, string(typ))
		mapping[string(typ)] = rest.SchemaPrefix + name
		variants = append(variants, rest.SchemaRef(name))
		configs = append(configs, config)
	}
	channel := schemas["NotificationChannel"]
	channel.Properties["type"].Enum = names
	channel.Properties["config"].Type = huma.TypeObject
	channel.OneOf = variants
	channel.Discriminator = &huma.Discriminator{PropertyName: "type", Mapping: mapping}
	create, update := schemas["NotificationChannelCreate"], schemas["NotificationChannelUpdate"]
	create.OneOf, create.Discriminator = channel.OneOf, channel.Discriminator
	update.Properties["config"] = replacedConfig(configs, "channel")
	for _, body := range []*huma.Schema{create, update} {
		body.Properties["name"] = channel.Properties["name"]
		body.Properties["type"].Enum = names
	}
	create.Properties["enabled"].Default = true
}

// describeRules writes into the document the forms in which a rule's condition
// may be written.
func describeRules(schemas map[string]*huma.Schema) {
	condition := schemas["Condition"]
	condition.Description = "When a rule fires: when any of the keys that are present matches, except severity."
	schemas["ConditionPair"] = &huma.Schema{
		Type:        huma.TypeObject,
		Description: "A condition of one number.",
		Properties: map[string]*huma.Schema{
			"type":      {Type: huma.TypeString, Enum: []any{"consecutive_failures", "response_time", "ssl_expiry"}},
			"threshold": {Type: huma.TypeNumber, Minimum: new(0.0)},
			"operator":  {Type: huma.TypeString, Enum: []any{"gte"}},
		},
		Required:             []string{"type", "threshold"},
		AdditionalProperties: false,
	}
	rule, create, update := schemas["AlertRule"], schemas["AlertRuleCreate"], schemas["AlertRuleUpdate"]
	create.AnyOf = []*huma.Schema{{Required: []string{"condition"}}, {Required: []string{"condition_type", "threshold"}}}
	for _, body := range []*huma.Schema{create, update} {
		for _, name := range []string{
			"name", "condition_type", "threshold", "notify_on", "notify_if_open", "unobserved", "region_policy", "enabled",
		} {
			body.Properties[name] = rule.Properties[name]
		}
	}
	replayed := schemas["BacktestRule"]
	for _, name := range []string{"condition_type", "threshold"} {
		replayed.Properties[name] = rule.Properties[name]
	}
	for _, body := range []*huma.Schema{create, update, replayed} {
		body.Properties["condition"] = &huma.Schema{OneOf: []*huma.Schema{rest.SchemaRef("Condition"), rest.SchemaRef("ConditionPair")}}
	}
}

// describeNulls writes into the document which objects may be null. Huma can say
// so of plain values only.
func describeNulls(schemas map[string]*huma.Schema) {
	for _, of := range []struct{ resource, member string }{
		{"Trigger", "result"},
		{"TimelineEntry", "delivery"},
		{"TimelineEntry", "attempt"},
		{"CheckSummary", "incident"},
		{"Backtest", "compare"},
		{"Backtest", "actual"},
		{"LabelBacktest", "compare"},
		{"Check", "maintenance"},
		{"Delivery", "fallback_for"},
		{"Drill", "receipt"},
		{"DrillSchedule", "last_drill"},
		{"Uptime", "span"},
		{"NotificationChannel", "last_drill"},
		{"DrillDelivered", "opening"},
		{"DrillDelivered", "recovery"},
	} {
		nullObject(schemas[of.resource].Properties, of.member)
	}
	for _, resource := range []string{"Check", "AlertRule", "NotificationChannel", "StatusPage", "MaintenanceWindow", "Subscription"} {
		nullObject(schemas[resource].Properties, "managed_by")
	}
	for _, schema := range schemas {
		for name, property := range schema.Properties {
			if property.Extensions[rest.ExtensionNullable] == true {
				property.Extensions = nil
				nullObject(schema.Properties, name)
			}
		}
	}
}

// describeNullEnums adds null to the values of members that may be null: an enum allows only
// what it lists (JSON Schema 2020-12, section 6.1.2 of the validation vocabulary).
func describeNullEnums(schemas map[string]*huma.Schema) {
	for _, schema := range schemas {
		for _, property := range schema.Properties {
			if property.Nullable && len(property.Enum) > 0 && !slices.Contains(property.Enum, nil) {
				property.Enum = append(slices.Clone(property.Enum), nil)
			}
		}
	}
}

// nullObject describes a member as an object or null.
func nullObject(properties map[string]*huma.Schema, member string) {
	object := *properties[member]
	description := object.Description
	object.Description = ""
	properties[member] = &huma.Schema{AnyOf: []*huma.Schema{&object, {Type: "null"}}, Description: description}
}
