// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "write the files that are made from others")

// roots are the schemas that the provider reads; those that they use come along.
func roots() []string {
	return []string{
		"CheckCreate",
		"Check",
		"AlertRuleCreate",
		"AlertRule",
		"NotificationChannelCreate",
		"NotificationChannel",
		"StatusPageCreate",
		"StatusPage",
		"MaintenanceWindowCreate",
		"MaintenanceWindow",
		"SubscriptionCreate",
		"Subscription",
		"KeyRequest",
		"Key",
		"LocationCreate",
		"Location",
		"Region",
		"Organization",
		"Usage",
		"TemplateVariable",
	}
}

// kept are the keywords that the provider reads.
func kept() []string {
	return []string{
		"$ref", "type", "description", "format", "default", "enum", "readOnly", "writeOnly", "required", "properties", "items",
		"additionalProperties", "anyOf", "oneOf", "discriminator", "mapping",
	}
}

func TestDefinitionsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	all := document(t)
	out := map[string]any{}
	wanted := roots()
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if _, done := out[name]; done {
			continue
		}
		schema, ok := all[name].(map[string]any)
		if !ok {
			t.Fatalf("the document has no schema %s", name)
		}
		out[name] = reduce(schema, &wanted)
	}
	want, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("definitions.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("definitions.json is not what api/openapi.yaml says: go test ./provider -run TestDefinitions -update")
	}
}

// document returns the schemas of the OpenAPI document.
func document(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	return read.Components.Schemas
}

// reduce returns a schema with the kept keywords only, and adds what it uses to wanted.
func reduce(schema map[string]any, wanted *[]string) map[string]any {
	out := map[string]any{}
	for keyword, value := range schema {
		if !slices.Contains(kept(), keyword) {
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			if keyword == "properties" || keyword == "mapping" {
				out[keyword] = eachSchema(value, wanted)
			} else {
				out[keyword] = reduce(value, wanted)
			}
		case []any:
			out[keyword] = listSchemas(value, wanted)
		case bool:
			if keyword != "additionalProperties" {
				out[keyword] = value
			}
		default:
			out[keyword] = value
		}
		if text, isText := value.(string); isText && keyword == "$ref" {
			*wanted = append(*wanted, refName(text))
		}
	}
	return out
}

func eachSchema(all map[string]any, wanted *[]string) map[string]any {
	out := map[string]any{}
	for name, one := range all {
		switch one := one.(type) {
		case map[string]any:
			out[name] = reduce(one, wanted)
		case string:
			out[name] = one
			*wanted = append(*wanted, refName(one))
		}
	}
	return out
}

func listSchemas(all []any, wanted *[]string) []any {
	out := make([]any, len(all))
	for i, one := range all {
		out[i] = one
		if schema, ok := one.(map[string]any); ok {
			out[i] = reduce(schema, wanted)
		}
	}
	return out
}

func refName(ref string) string {
	return ref[bytes.LastIndexByte([]byte(ref), '/')+1:]
}
