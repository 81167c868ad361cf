// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/api/resource"
)

// FileSchema returns the JSON Schema of the files of monitoring as code, for an API that
// knows the given check and channel types. It is made from the OpenAPI document: members
// are those of the bodies that create something, besides durations and references by key.
func FileSchema(checks resource.CheckTypes, channels resource.ChannelTypes) ([]byte, error) {
	text, err := json.Marshal(assemble(Deps{Probes: checks, Channels: channels}).describe())
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return fileSchemaOf(text)
}

// fileSchemaOf makes the schema of the files from the OpenAPI document, as JSON.
func fileSchemaOf(text []byte) ([]byte, error) {
	var document struct {
		Components struct {
			Schemas map[string]jsonObject `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	f := &fileSchema{schemas: document.Components.Schemas, defs: jsonObject{}}
	schema, err := json.MarshalIndent(f.document(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of the files: %w", err)
	}
	return append(schema, '\n'), nil
}

// jsonObject is an object of JSON.
type jsonObject = map[string]any

// fileSchema makes the schema of the files.
type fileSchema struct {
	schemas map[string]jsonObject // of the OpenAPI document
	defs    jsonObject
}

const (
	defsPrefix = "#/$defs/"
	// durationPattern is the form of a duration such as 30s, 5m or 1h30m.
	durationPattern = `^\s*([0-9]+(\.[0-9]+)?(h|m|s|ms))+\s*$`
	keyPattern      = `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`
)

func (f *fileSchema) document() jsonObject {
	delete(propertiesOf(f.schemas["CheckCreate"]), "rules") // in a file they have keys
	check, rule := f.body("CheckCreate"), f.body("AlertRuleCreate")
	f.durations(check, "interval")
	if retry, _ := f.defs["CheckRetry"].(jsonObject); retry != nil {
		f.durations(retry, "delay")
	}
	replaceMember(rule, "notification_channel_ids", "channels", jsonObject{
		"type": "array", "items": reference(), "minItems": 1, "maxItems": 100,
		"description": `The channels that are notified: keys of the files, or "name:" or "id:" with a channel outside of them.`,
	})
	channel, page, window := f.body("NotificationChannelCreate"), f.body("StatusPageCreate"), f.window()
	replaceMember(channel, "fallback_channel_id", "fallback_channel", describedReference(
		`The channel that gets what this one cannot deliver: a key of the files, or "name:" or "id:" with a channel outside of them.`,
	))
	subscription := f.subscription()
	f.groups()
	defaults := jsonObject{}
	for name, resource := range map[string]jsonObject{
		"check": check, "rule": rule, "channel": channel, "status_page": page, "maintenance": window,
		"subscription": subscription,
	} {
		partial := maps.Clone(resource)
		delete(partial, "required")
		delete(partial, "allOf")
		defaults[name] = partial
	}
	check = maps.Clone(check)
	properties := maps.Clone(propertiesOf(check))
	properties["rules"] = f.section("Rule", rule, "The alert rules of the check, by their keys.")
	check["properties"] = properties
	check["required"], rule["required"] = []string{"type", "config"}, []string{"condition"}
	channel["required"] = []string{"type", "config"}
	return jsonObject{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Vigil: a file of a project",
		"type": "object", "additionalProperties": false, "required": []string{"version", "project"},
		"properties": jsonObject{
			"$schema": jsonObject{"type": "string"},
			"version": jsonObject{"const": 1, "description": "The version of the format."},
			"project": jsonObject{
				"type": "string", "pattern": `^[A-Za-z0-9._-]{1,63}$`, "description": "The owner of what the files describe.",
			},
			"defaults":      closed(defaults, "What definitions of a kind have unless they say something else."),
			"channels":      f.section("Channel", channel, "Notification channels, by their keys."),
			"checks":        f.section("Check", check, "Checks, by their keys."),
			"maintenance":   f.section("Maintenance", window, "Maintenance windows, by their keys."),
			"status_pages":  f.section("StatusPage", page, "Public status pages, by their keys."),
			"subscriptions": f.section("Subscription", subscription, "Subscriptions of channels to events, by their keys."),
			"moved": jsonObject{
				"type": "array", "description": "Keys that changed, so that nothing is deleted and made again.",
				"items": closed(jsonObject{"from": movedPath(), "to": movedPath()}, ""),
			},
		},
		"$defs": f.defs,
	}
}

func movedPath() jsonObject {
	return jsonObject{"type": "string", "examples": []string{"checks.home", "checks.home.rules.down"}}
}

// describedReference is a reference with a description.
func describedReference(description string) jsonObject {
	described := maps.Clone(reference())
	described["description"] = description
	return described
}

// reference names something by its key, its name or its id.
func reference() jsonObject { return jsonObject{"type": "string", "minLength": 1} }

// closed is an object that has no other members.
func closed(properties jsonObject, description string) jsonObject {
	object := jsonObject{"type": "object", "additionalProperties": false, "properties": properties}
	if description != "" {
		object["description"] = description
	}
	return object
}

// propertiesOf returns the properties of an object.
func propertiesOf(object jsonObject) jsonObject {
	properties, _ := object["properties"].(jsonObject)
	return properties
}

// section is an object of definitions by their keys.
func (f *fileSchema) section(name string, definition jsonObject, description string) jsonObject {
	f.defs[name] = definition
	return jsonObject{
		"type": "object", "description": description, "propertyNames": jsonObject{"pattern": keyPattern},
		"additionalProperties": jsonObject{"$ref": defsPrefix + name},
	}
}

// body is what creates a resource, without the members that the server sets. Which config
// belongs to a type is said by conditions, since the type may stand in the defaults.
func (f *fileSchema) body(name string) jsonObject {
	body, _ := f.copied(f.schemas[name]).(jsonObject)
	properties := jsonObject{}
	for member, schema := range propertiesOf(body) {
		if one, _ := schema.(jsonObject); one["readOnly"] != true && member != "managed_by" {
			properties[member] = schema
		}
	}
	variants, _ := f.schemas[name]["oneOf"].([]any)
	var conditions []any
	for _, variant := range variants {
		if ref, _ := variant.(jsonObject); ref != nil {
			conditions = append(conditions, f.condition(f.schemas[schemaName(ref)]))
		}
	}
	written := closed(properties, "")
	if conditions != nil {
		written["allOf"] = conditions
	}
	return written
}

// condition says what config a type has.
func (f *fileSchema) condition(variant jsonObject) jsonObject {
	of := propertiesOf(variant)
	kind, config := of["type"], f.copied(of["config"])
	if ref, _ := config.(jsonObject); ref != nil {
		if name, ok := strings.CutPrefix(fmt.Sprint(ref["$ref"]), defsPrefix); ok {
			if definition, _ := f.defs[name].(jsonObject); definition != nil {
				f.durations(definition, "timeout")
			}
		}
	}
	return jsonObject{
		"if":   jsonObject{"properties": jsonObject{"type": kind}, "required": []string{"type"}},
		"then": jsonObject{"properties": jsonObject{"config": config}},
	}
}

// durations lets a member of seconds be a duration, too.
func (f *fileSchema) durations(object jsonObject, name string) {
	properties := propertiesOf(object)
	seconds, ok := properties[name+"_seconds"].(jsonObject)
	if !ok {
		return
	}
	properties[name] = jsonObject{
		"type": "string", "pattern": durationPattern, "examples": []string{"30s", "5m"}, "description": seconds["description"],
	}
	if required, ok := object["required"].([]any); ok {
		object["required"] = slices.DeleteFunc(slices.Clone(required), func(one any) bool { return one == name+"_seconds" })
	}
}

// replaceMember gives a member another name and another schema.
func replaceMember(object jsonObject, old, name string, schema jsonObject) {
	if _, ok := propertiesOf(object)[old]; ok {
		delete(propertiesOf(object), old)
		propertiesOf(object)[name] = schema
	}
}

// window is a maintenance window. Its checks are named by their keys.
func (f *fileSchema) window() jsonObject {
	if f.schemas["MaintenanceWindowCreate"] == nil {
		return jsonObject{"type": "object"}
	}
	window := f.body("MaintenanceWindowCreate")
	f.durations(window, "duration")
	f.named(window, "scope")
	return window
}

// subscription is a subscription. Its channel and its checks are named by their keys.
func (f *fileSchema) subscription() jsonObject {
	if f.schemas["SubscriptionCreate"] == nil {
		return jsonObject{"type": "object"}
	}
	subscription := f.body("SubscriptionCreate")
	channel := reference()
	channel["description"] = `The channel: a key of the files, or "name:" or "id:" with a channel outside of them.`
	replaceMember(subscription, "channel_id", "channel", channel)
	subscription["required"] = []string{"channel", "events"}
	f.named(subscription, "selector")
	return subscription
}

// named lets a member of an object name its checks by their keys.
func (f *fileSchema) named(object jsonObject, member string) {
	selector, _ := propertiesOf(object)[member].(jsonObject)
	if name, ok := strings.CutPrefix(fmt.Sprint(selector["$ref"]), defsPrefix); ok {
		selector, _ = f.defs[name].(jsonObject)
	}
	replaceMember(selector, "check_ids", "checks", jsonObject{
		"type": "array", "items": reference(), "description": `Checks: keys of the files, or "name:" or "id:" with a check outside of them.`,
	})
}

// groups lets the groups of status pages name checks by their keys.
func (f *fileSchema) groups() {
	group, _ := f.defs["StatusGroup"].(jsonObject)
	if group == nil {
		return
	}
	delete(f.defs, "StatusCheck")
	propertiesOf(group)["checks"] = jsonObject{
		"type": "array", "maxItems": 200, "description": "Checks by their keys, with the name that the public sees.",
		"items": jsonObject{"anyOf": []any{reference(), closed(jsonObject{
			"check": reference(), "name": jsonObject{"type": "string", "maxLength": 200, "description": "The name that the public sees."},
		}, "")}},
	}
	delete(group, "required")
}

func schemaName(ref jsonObject) string {
	name := fmt.Sprint(ref["$ref"])
	return name[strings.LastIndexByte(name, '/')+1:]
}

// copied copies a part of the OpenAPI document. What it refers to becomes a definition of
// the schema, and branches by type are left out, which body writes in another way.
func (f *fileSchema) copied(part any) any {
	switch part := part.(type) {
	case jsonObject:
		if ref, ok := part["$ref"].(string); ok && strings.HasPrefix(ref, "#/components/schemas/") {
			name := schemaName(part)
			if _, done := f.defs[name]; !done {
				f.defs[name] = jsonObject{} // a definition may refer to itself
				f.defs[name] = f.copied(f.schemas[name])
			}
			return jsonObject{"$ref": defsPrefix + name}
		}
		object := jsonObject{}
		_, byType := part["discriminator"]
		for name, value := range part {
			if name != "discriminator" && !(byType && name == "oneOf") {
				object[name] = f.copied(value)
			}
		}
		return object
	case []any:
		items := make([]any, len(part))
		for i, item := range part {
			items[i] = f.copied(item)
		}
		return items
	}
	return part
}
