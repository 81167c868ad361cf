package api

import (
	"maps"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"vigil"
	"vigil/api/rest"
)

// describeChannels writes into the document what depends on the channel types
// that the registry knows, as describeChecks does for those of checks.
func (s *Server) describeChannels() {
	registry := s.registrar.Document().Components.Schemas
	schemas := registry.Map()
	kinds := s.types.channels.Types()
	names := make([]any, 0, len(kinds))
	mapping := make(map[string]string, len(kinds))
	var variants, configs []*huma.Schema
	for _, kind := range kinds {
		name := camel(vigil.CheckType(kind)) + "Channel"
		config := registry.Schema(reflect.TypeOf(s.types.channels.Config(kind)), true, name+"Config")
		describeSecrets(registry, config, s.types.channels.Secrets(kind))
		schemas[name] = &huma.Schema{
			Type:        huma.TypeObject,
			Description: "What makes a channel of type " + string(kind) + ".",
			Properties: map[string]*huma.Schema{
				"type":   {Type: huma.TypeString, Enum: []any{string(kind)}},
				"config": config,
			},
			Required: []string{"type", "config"},
		}
		names = append(names, string(kind))
		mapping[string(kind)] = rest.SchemaPrefix + name
		variants = append(variants, rest.SchemaRef(name))
		configs = append(configs, config)
	}
	channel := schemas["NotificationChannel"]
	channel.Properties["type"].Enum = names
	channel.Properties["config"].Type = huma.TypeObject
	channel.OneOf = variants
	channel.Discriminator = &huma.Discriminator{PropertyName: "type", Mapping: mapping}
	create := written(channel, channelReadOnly())
	create.Required = []string{"name", "type", "config"}
	withDefault(create, "enabled", true)
	schemas["NotificationChannelCreate"] = create
	update := written(channel, channelReadOnly())
	update.OneOf, update.Discriminator, update.Required = nil, nil, nil
	update.Properties["config"] = &huma.Schema{
		AnyOf:       configs,
		Description: "Replaces the config as a whole; its members depend on the type of the channel.",
	}
	schemas["NotificationChannelUpdate"] = update
}

// written derives the schema of a body that writes a resource from that of the
// resource: what cannot be written may be sent along and is ignored.
func written(resource *huma.Schema, readOnly []string) *huma.Schema {
	body := *resource
	body.Properties = maps.Clone(resource.Properties)
	for _, name := range readOnly {
		property := *body.Properties[name]
		property.ReadOnly = true
		property.Description = "Ignored."
		body.Properties[name] = &property
	}
	return &body
}

// describeRules writes into the document the forms in which a rule's condition
// may be written.
func (s *Server) describeRules() {
	schemas := s.registrar.Document().Components.Schemas.Map()
	condition := schemas["Condition"]
	condition.Description = "When a rule fires: when any of the keys that are present matches. severity is none of them."
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
	create := written(schemas["AlertRule"], ruleReadOnly())
	create.Properties["condition"] = &huma.Schema{OneOf: []*huma.Schema{rest.SchemaRef("Condition"), rest.SchemaRef("ConditionPair")}}
	create.Required = []string{"name", "notification_channel_ids"}
	create.AnyOf = []*huma.Schema{{Required: []string{"condition"}}, {Required: []string{"condition_type", "threshold"}}}
	schemas["AlertRuleCreate"] = create
	update := *create
	update.Required, update.AnyOf = nil, nil
	schemas["AlertRuleUpdate"] = &update
}

// describeNulls writes into the document which objects may be null. Huma can say
// so of plain values only.
func (s *Server) describeNulls() {
	schemas := s.registrar.Document().Components.Schemas.Map()
	for _, of := range []struct{ resource, member string }{
		{"Trigger", "result"}, {"TimelineEntry", "delivery"}, {"TimelineEntry", "attempt"},
	} {
		properties := schemas[of.resource].Properties
		object := *properties[of.member]
		description := object.Description
		object.Description = ""
		properties[of.member] = &huma.Schema{AnyOf: []*huma.Schema{&object, {Type: "null"}}, Description: description}
	}
}
