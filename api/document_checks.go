// SPDX-License-Identifier: Apache-2.0

package api

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// describeChecks writes into the document what depends on the check types that
// the registry knows: a check and the bodies that write one are distinguished by
// their type, each with its config; and the metadata of each type's results.
func (t types) describeChecks(registry huma.Registry) {
	schemas := registry.Map()
	types := t.checks.Types()
	names := make([]any, 0, len(types))
	mapping := make(map[string]string, len(types))
	var variants, configs, seen []*huma.Schema
	for _, typ := range types {
		config := registry.Schema(reflect.TypeOf(t.checks.Config(typ)), true, camel(typ)+"Config")
		describeSecrets(registry, config, t.checks.Secrets(typ))
		if metadata := t.checks.Metadata(typ); metadata != nil {
			seen = withSchema(seen, registry.Schema(reflect.TypeOf(metadata), true, camel(typ)+"Metadata"))
		}
		variant := "Check" + camel(typ)
		schemas[variant] = &huma.Schema{
			Type:        huma.TypeObject,
			Description: "What makes a check of type " + string(typ) + ".",
			Properties: map[string]*huma.Schema{
				"type":   {Type: huma.TypeString, Enum: []any{string(typ)}},
				"config": config,
			},
			Required: []string{"type", "config"},
		}
		names = append(names, string(typ))
		mapping[string(typ)] = rest.SchemaPrefix + variant
		variants = append(variants, rest.SchemaRef(variant))
		configs = withSchema(configs, config)
	}
	describeMetadata(schemas, seen)
	check := schemas["Check"]
	check.Properties["type"].Enum = names
	check.Properties["config"].Type = huma.TypeObject
	check.OneOf = variants
	check.Discriminator = &huma.Discriminator{PropertyName: "type", Mapping: mapping}
	create, update := schemas["CheckCreate"], schemas["CheckUpdate"]
	create.OneOf, create.Discriminator = check.OneOf, check.Discriminator
	create.Examples = []any{map[string]any{
		"name": "Home page", "type": string(vigil.TypeHTTPS), "interval_seconds": 60, "regions": []string{vigil.DefaultRegionAlias},
		"config": map[string]any{"url": "https://example.com/", "expected_status_code": 200, "timeout_seconds": 10},
	}}
	update.Examples = []any{map[string]any{"name": "Front page", "interval_seconds": 120, "enabled": false}}
	update.Properties["config"] = replacedConfig(configs, "check")
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	for _, body := range []*huma.Schema{create, update} {
		body.Properties["name"] = check.Properties["name"]
		body.Properties["type"].Enum = names
		body.Properties["enabled"].Default = true
		body.Properties["simultaneous_regions"].Default = true
		body.Properties["evidence"].Default = true
		body.Properties["regions"].Default = []string{region.Key}
	}
}

// replacedConfig describes the config of a body that changes a resource.
func replacedConfig(configs []*huma.Schema, resource string) *huma.Schema {
	return &huma.Schema{
		AnyOf:       configs,
		Description: "Replaces the config as a whole; its members depend on the type of the " + resource + ".",
	}
}

// describeSecrets marks the secret members of a config as write-only: they are
// shown as *** only.
func describeSecrets(registry huma.Registry, schema *huma.Schema, fields secret.Fields) {
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
	schemas["FailedAttempt"] = &huma.Schema{
		Type:        huma.TypeObject,
		Description: "An attempt of a check with `retry` that failed and was followed by another one.",
		Properties: map[string]*huma.Schema{
			"error":            {Type: huma.TypeString, Description: "Why it failed."},
			"response_time_ms": {Type: huma.TypeNumber, Format: "double", Description: "How long it took, ms."},
		},
		Required: []string{"error", "response_time_ms"},
	}
	for _, ref := range seen {
		of := schemas[strings.TrimPrefix(ref.Ref, rest.SchemaPrefix)]
		of.AdditionalProperties = nil
		of.Properties[vigil.MetadataAttempts] = &huma.Schema{
			Type: huma.TypeArray, Items: rest.SchemaRef("FailedAttempt"),
			Description: "The attempts before the one that the result shows, oldest first; absent when it shows the first.",
		}
	}
	schemas["RunMetadata"] = &huma.Schema{
		Type:        huma.TypeObject,
		Description: "The metadata of a run that did not reach the target.",
		Properties: map[string]*huma.Schema{
			"test":        {Type: huma.TypeBoolean, Description: "The run was requested, and its result is not stored."},
			"unavailable": {Type: huma.TypeBoolean, Description: "No worker of the region took the run."},
		},
		AdditionalProperties: false,
	}
	result := schemas["Result"]
	result.Properties["metadata"] = &huma.Schema{
		AnyOf:       append(seen, rest.SchemaRef("RunMetadata"), &huma.Schema{Type: "null"}),
		Description: "Details that depend on the check's type; null when there are none.",
	}
}

// camel writes a check type as a part of a schema's name: smtp-imap is
// SmtpImap.
func camel(typ vigil.CheckType) string {
	var b strings.Builder
	upper := true
	for _, r := range string(typ) {
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
