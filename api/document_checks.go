package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"vigil"
	"vigil/api/rest"
)

// describeChecks writes into the document what depends on the check types that
// the registry knows: a check and the bodies that write one are told apart by
// their type, each with its config; and the metadata of each type's results.
func (s *Server) describeChecks() {
	registry := s.registrar.Document().Components.Schemas
	schemas := registry.Map()
	kinds := s.types.checks.Types()
	names := make([]any, 0, len(kinds))
	mapping := make(map[string]string, len(kinds))
	var variants, configs, seen []*huma.Schema
	for _, kind := range kinds {
		config := registry.Schema(reflect.TypeOf(s.types.checks.Config(kind)), true, camel(kind)+"Config")
		describeSecrets(registry, config, s.types.checks.Secrets(kind))
		if metadata := s.types.checks.Metadata(kind); metadata != nil {
			seen = withSchema(seen, registry.Schema(reflect.TypeOf(metadata), true, camel(kind)+"Metadata"))
		}
		variant := "Check" + camel(kind)
		schemas[variant] = &huma.Schema{
			Type:        huma.TypeObject,
			Description: "What makes a check of type " + string(kind) + ".",
			Properties: map[string]*huma.Schema{
				"type":   {Type: huma.TypeString, Enum: []any{string(kind)}},
				"config": config,
			},
			Required: []string{"type", "config"},
		}
		names = append(names, string(kind))
		mapping[string(kind)] = rest.SchemaPrefix + variant
		variants = append(variants, rest.SchemaRef(variant))
		configs = withSchema(configs, config)
	}
	describeMetadata(schemas, seen)
	check := schemas["Check"]
	check.Properties["type"].Enum = names
	check.Properties["config"].Type = huma.TypeObject
	check.OneOf = variants
	check.Discriminator = &huma.Discriminator{PropertyName: "type", Mapping: mapping}
	schemas["CheckCreate"] = writtenCheck(check)
	schemas["CheckCreate"].Required = []string{"name", "type", "config", "interval_seconds"}
	schemas["CheckCreate"].Examples = []any{map[string]any{
		"name": "Home page", "type": string(vigil.TypeHTTPS), "interval_seconds": 60, "regions": []string{vigil.DefaultRegionAlias},
		"config": map[string]any{"url": "https://example.com/", "expected_status_code": 200, "timeout_seconds": 10},
	}}
	update := writtenCheck(check)
	update.Examples = []any{map[string]any{"name": "Front page", "interval_seconds": 120, "enabled": false}}
	update.OneOf, update.Discriminator, update.Required = nil, nil, nil
	update.Properties["config"] = &huma.Schema{
		AnyOf:       configs,
		Description: "Replaces the config as a whole; its members depend on the type of the check.",
	}
	schemas["CheckUpdate"] = update
}

// describeSecrets marks the secret members of a config as write-only: they are
// shown as *** only.
func describeSecrets(registry huma.Registry, schema *huma.Schema, fields vigil.SecretFields) {
	if schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	if schema.Items != nil {
		describeSecrets(registry, schema.Items, fields)
		return
	}
	schema.WriteOnly = schema.WriteOnly || fields.Secret
	for name, inner := range fields.Members {
		describeSecrets(registry, schema.Properties[name], inner)
	}
}

// withSchema adds a reference that is not among the others.
func withSchema(refs []*huma.Schema, ref *huma.Schema) []*huma.Schema {
	if slices.ContainsFunc(refs, func(other *huma.Schema) bool { return other.Ref == ref.Ref }) {
		return refs
	}
	return append(refs, ref)
}

// describeMetadata says of a result's metadata that it is that of one of the
// types. Each may have more members than its type promises: what a manual run
// adds, and what a later version does.
func describeMetadata(schemas map[string]*huma.Schema, seen []*huma.Schema) {
	for _, ref := range seen {
		schemas[strings.TrimPrefix(ref.Ref, rest.SchemaPrefix)].AdditionalProperties = nil
	}
	schemas["RunMetadata"] = &huma.Schema{
		Type:        huma.TypeObject,
		Description: "What a run says that saw nothing of the target.",
		Properties: map[string]*huma.Schema{
			"test": {Type: huma.TypeBoolean, Description: "The run was asked for, and its result is not stored."},
		},
		AdditionalProperties: false,
	}
	result := schemas["Result"]
	result.Properties["metadata"] = &huma.Schema{
		AnyOf:       append(seen, rest.SchemaRef("RunMetadata"), &huma.Schema{Type: "null"}),
		Description: "What the check's type has to say besides; null when there is nothing.",
	}
}

// writtenCheck derives the schema of a body that writes a check from that of
// the check: what cannot be written may be sent along and is ignored.
func writtenCheck(check *huma.Schema) *huma.Schema {
	written := *check
	written.Properties = maps.Clone(check.Properties)
	for _, name := range checkReadOnly() {
		property := *written.Properties[name]
		property.ReadOnly = true
		property.Description = "Ignored."
		written.Properties[name] = &property
	}
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	withDefault(&written, "enabled", true)
	withDefault(&written, "simultaneous_regions", true)
	withDefault(&written, "regions", []string{region.Key})
	return &written
}

func withDefault(schema *huma.Schema, name string, value any) {
	property := *schema.Properties[name]
	property.Default = value
	schema.Properties[name] = &property
}

// camel writes a check type as a part of a schema's name: smtp-imap is
// SmtpImap.
func camel(kind vigil.CheckType) string {
	var b strings.Builder
	upper := true
	for _, r := range string(kind) {
		if r == '-' {
			upper = true
			continue
		}
		if upper {
			r, upper = unicode.ToUpper(r), false
		}
		b.WriteRune(r)
	}
	return b.String()
}
