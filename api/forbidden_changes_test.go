// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/api/apitest"
)

// wrongValues are values of all types, and at the edges of what members allow.
func wrongValues(schema map[string]any) []any {
	values := []any{
		nil, true, 0.0, -1.0, 7.0, 7.5, 1e15, "", "x", " ", "\u00e9\u2603",
		[]any{},
		[]any{nil},
		[]any{1.0},
		[]any{"x"},
		map[string]any{},
		map[string]any{"nonsense": 1.0},
		map[string]any{"nonsense": nil},
		"2026-01-31", "2026-01-31T12:00:00Z", "00000000-0000-4000-8000-000000000000",
	}
	number := func(name string) float64 {
		n, _ := schema[name].(json.Number)
		value, _ := n.Float64()
		return value
	}
	if most := number("maxLength"); most > 0 {
		values = append(values, strings.Repeat("x", int(most)+1))
	}
	if most := number("maxItems"); most > 0 {
		values = append(values, slices.Repeat([]any{"x"}, int(most)+1), slices.Repeat([]any{map[string]any{}}, int(most)+1))
	}
	if _, ok := schema["maximum"]; ok {
		values = append(values, number("maximum"), number("maximum")+1, number("minimum"), number("minimum")-1)
	}
	return values
}

// change is a body with one change.
type change struct {
	at     string // the path of the member as errors name it
	within string // that of the innermost object around it that the specimen has
	body   []byte
}

// changer makes bodies that differ from a specimen in one member.
type changer struct {
	contract *apitest.Contract
	base     map[string]any
	out      []change
}

// set changes what is at the end of steps: names of members, and indices.
func (c *changer) set(steps []any, value any, remove bool) {
	copied, err := json.Marshal(c.base)
	if err != nil {
		panic(err)
	}
	var body map[string]any
	if err := json.Unmarshal(copied, &body); err != nil {
		panic(err)
	}
	at, within := "", ""
	var inside any = c.base
	for _, step := range steps {
		if inside != nil {
			within = at
		}
		inside = child(inside, step)
		switch step := step.(type) {
		case string:
			at += "." + step
		case int:
			at += fmt.Sprintf("[%d]", step)
		}
	}
	if put(body, steps, value, remove) {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		c.out = append(c.out, change{at: strings.TrimPrefix(at, "."), within: strings.TrimPrefix(within, "."), body: text})
	}
}

// distinct returns the changes without those that make the same body.
func (c *changer) distinct() []change {
	seen := map[string]bool{}
	return slices.DeleteFunc(c.out, func(one change) bool {
		before := seen[string(one.body)]
		seen[string(one.body)] = true
		return before
	})
}

// child returns what a value has at a step; nil when it has nothing.
func child(of any, step any) any {
	switch step := step.(type) {
	case string:
		object, _ := of.(map[string]any)
		return object[step]
	case int:
		if list, _ := of.([]any); step < len(list) {
			return list[step]
		}
	}
	return nil
}

// put changes what is at the end of the steps; objects and arrays on the way are made.
func put(node any, steps []any, value any, remove bool) bool {
	last := len(steps) == 1
	switch step := steps[0].(type) {
	case string:
		object, ok := node.(map[string]any)
		switch {
		case !ok:
			return false
		case last && remove:
			delete(object, step)
			return true
		case last:
			object[step] = value
			return true
		}
		if object[step] == nil {
			object[step] = map[string]any{}
			if _, index := steps[1].(int); index {
				object[step] = []any{nil}
			}
		}
		if list, ok := object[step].([]any); ok && len(list) == 0 {
			object[step] = []any{nil}
		}
		return put(object[step], steps[1:], value, remove)
	case int:
		list, ok := node.([]any)
		if !ok {
			return false
		}
		if last {
			list[step] = value
			return true
		}
		if list[step] == nil {
			list[step] = map[string]any{}
		}
		return put(list[step], steps[1:], value, remove)
	}
	return false
}

// walk changes everything that a schema describes below a place.
func (c *changer) walk(schema map[string]any, at []any, depth int) {
	schema = c.resolved(schema)
	if depth > 8 {
		return
	}
	for _, branch := range c.branches(schema, at) {
		c.walk(branch, at, depth+1)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		one := c.resolved(properties[name].(map[string]any))
		to := append(slices.Clone(at), name)
		for _, value := range wrongValues(one) {
			c.set(to, value, false)
		}
		c.set(to, nil, true)
		c.walk(one, to, depth+1)
	}
	if schema["type"] == "object" {
		c.set(append(slices.Clone(at), "nonsense"), 1.0, false)
		if of, ok := schema["additionalProperties"].(map[string]any); ok {
			for _, value := range wrongValues(of) {
				c.set(append(slices.Clone(at), "some"), value, false)
			}
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		to := append(slices.Clone(at), 0)
		for _, value := range wrongValues(c.resolved(items)) {
			c.set(to, value, false)
		}
		c.walk(items, to, depth+1)
	}
}

// branches are the alternatives of a schema that the specimen may belong to.
func (c *changer) branches(schema map[string]any, at []any) []map[string]any {
	var found []map[string]any
	for _, key := range []string{"oneOf", "anyOf"} {
		list, _ := schema[key].([]any)
		for _, one := range list {
			branch := c.resolved(one.(map[string]any))
			properties, _ := branch["properties"].(map[string]any)
			kind, _ := properties["type"].(map[string]any)
			names, _ := kind["enum"].([]any)
			if len(at) > 0 || names == nil || slices.Contains(names, c.base["type"]) {
				found = append(found, branch)
			}
		}
	}
	return found
}

func (c *changer) resolved(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		found, _ := c.contract.At(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		return found
	}
	return schema
}
