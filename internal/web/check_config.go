// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// A form of a check is a flat list of texts, named by the members that they fill:
// config.assertions[0].target. configOf makes the JSON of the API out of it, and
// enterConfig writes such JSON into the form. Neither judges anything: what is no number
// goes to the API as a text, and the API says what it wants.

// pair is a row of an object with free names. They keep their order and may repeat, so
// that the API sees what was typed.
type pair struct{ name, value string }

type pairs []pair

// MarshalJSON writes an object.
func (p pairs) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for i, each := range p {
		name, err := json.Marshal(each.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(each.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// configOf returns the members that stand at a path. What is empty or means what the
// absence of the member means is left out.
func configOf(members []member, typed *sheet, path string) map[string]any {
	config := make(map[string]any)
	for i := range members {
		m := &members[i]
		if value := m.valueOf(typed, path+"."+m.name, path); value != nil {
			config[m.name] = value
		}
	}
	return config
}

// valueOf returns the member's value, nil for none. The path is its own, and the second
// one that of the object around it.
func (m *member) valueOf(typed *sheet, path, around string) any {
	text := typed.Get(path)
	switch m.input {
	case asText, asArea, asSecret, asSecretArea:
		return textOf(text)
	case asNumber:
		return numberOf(strings.TrimSpace(text))
	case asSwitch:
		if on := typed.Has(path); strconv.FormatBool(on) != m.standard {
			return on
		}
	case asDecision:
		if text != "" {
			return text == "true"
		}
	case asChoice:
		if text != m.standard {
			return textOf(text)
		}
	case asLines:
		return listOf(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), func(item string) any { return item })
	case asList:
		return listOf(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }), numberOf)
	case asValue:
		return assertionTarget(typed.Get(around+".source"), typed.Get(around+".operator"), text)
	case asPairs:
		return pairsOf(typed, path)
	case asGroup:
		if members := configOf(m.members, typed, path); len(members) > 0 {
			return members
		}
	case asRows:
		return m.rowsOf(typed, path)
	case asConfig:
		return configOf(m.types.members(typed.Get(around+".type")), typed, path)
	}
	return nil
}

func textOf(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// numberOf returns a number as it was typed, and what is none as a text.
func numberOf(text string) any {
	switch {
	case text == "":
		return nil
	case isNumber(text):
		return json.Number(text)
	}
	return text
}

func isNumber(text string) bool {
	var number json.Number
	return json.Unmarshal([]byte(text), &number) == nil && number.String() == text && text != "" && text[0] != '"'
}

func listOf(items []string, read func(string) any) any {
	list := make([]any, 0, len(items))
	for _, item := range items {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, read(item))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// assertionTarget reads what an assertion compares with. Beside a JSON path it is written as in
// JSON, so that "7" is a text and 7 a number; what is no JSON is a text.
func assertionTarget(source, operator, text string) any {
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "":
		return nil
	case operator == "exists" && (trimmed == "true" || trimmed == "false"):
		return trimmed == "true"
	case source == "header", source == "body", operator == "matches":
		return text
	case source == "json":
		var value any
		decoder := json.NewDecoder(strings.NewReader(trimmed))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err == nil && !decoder.More() {
			switch value.(type) {
			case string, json.Number, bool:
				return value
			}
		}
		return text
	}
	return numberOf(trimmed)
}

func pairsOf(typed *sheet, path string) any {
	var list pairs
	for _, i := range typed.rows(path) {
		row := element(path, i)
		list = append(list, pair{strings.TrimSpace(typed.Get(row + ".name")), typed.Get(row + ".value")})
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

func (m *member) rowsOf(typed *sheet, path string) any {
	var list []any
	for _, i := range typed.rows(path) {
		list = append(list, configOf(m.members, typed, element(path, i)))
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// enterConfig writes the members of a config into the form, at a path.
func enterConfig(members []member, config map[string]any, typed *sheet, path string) {
	for i := range members {
		m := &members[i]
		value, given := config[m.name]
		m.enter(value, given && value != nil, config, typed, path+"."+m.name)
	}
}

// enter writes a member's value, which stands in the object around it.
func (m *member) enter(value any, given bool, around map[string]any, typed *sheet, path string) {
	switch m.input {
	case asSwitch:
		if given && value == true || !given && m.standard == "true" {
			typed.Set(path, "true")
		}
		return
	case asChoice:
		if !given && m.standard != "" {
			typed.Set(path, m.standard)
		}
	case asGroup:
		inner, _ := value.(map[string]any)
		enterConfig(m.members, inner, typed, path)
		return
	default: // nothing more to do for the others
	}
	if !given {
		return
	}
	switch m.input {
	case asPairs:
		object, _ := value.(map[string]any)
		for i, name := range slices.Sorted(maps.Keys(object)) {
			row := element(path, i)
			typed.Set(row+".name", name)
			typed.Set(row+".value", fmt.Sprint(object[name]))
		}
	case asRows:
		list, _ := value.([]any)
		for i, item := range list {
			inner, _ := item.(map[string]any)
			enterConfig(m.members, inner, typed, element(path, i))
		}
	case asConfig:
		inner, _ := value.(map[string]any)
		kind, _ := around["type"].(string)
		enterConfig(m.types.members(kind), inner, typed, path)
	case asLines:
		typed.Set(path, joined(value, "\n"))
	case asList:
		typed.Set(path, joined(value, ", "))
	case asValue:
		typed.Set(path, targetText(around["source"], around["operator"], value))
	default:
		typed.Set(path, fmt.Sprint(value))
	}
}

// targetText is the reverse of assertionTarget.
func targetText(source, operator, value any) string {
	text, ok := value.(string)
	if !ok || source != "json" || operator == "matches" {
		return fmt.Sprint(value)
	}
	return asJSON(text)
}

// asJSON writes a value as JSON in one line, for people.
func asJSON(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

func joined(value any, by string) string {
	list, _ := value.([]any)
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, by)
}

// readJSON reads an object, with its numbers as they are written.
func readJSON(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	return object, err
}

// maskConfig returns a copy of what configOf made with a mask in the place of each
// secret, for texts that are shown.
func maskConfig(members []member, config map[string]any, kind string) map[string]any {
	shown := make(map[string]any, len(config))
	for name, value := range config {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			continue
		}
		if shown[name] = members[i].mask(value, kind); config[members[i].maskedWhere] == true {
			shown[name] = secret.Mask
		}
	}
	return shown
}

// mask returns a member's value without its secrets. The kind is the type of the step
// that the member stands in, for its config.
func (m *member) mask(value any, kind string) any {
	switch inner := value.(type) {
	case string:
		if m.input == asSecret || m.input == asSecretArea {
			return secret.Mask
		}
		if m.maskQuery {
			return secret.MaskParameters(inner)
		}
	case pairs:
		shown := slices.Clone(inner)
		for i := range shown {
			if secret.IsCredentialName(shown[i].name) {
				shown[i].value = secret.Mask
			}
		}
		return shown
	case map[string]any:
		if m.input == asConfig {
			return maskConfig(m.types.members(kind), inner, "")
		}
		return maskConfig(m.members, inner, "")
	case []any:
		if m.input != asRows {
			return value
		}
		shown := make([]any, len(inner))
		for i, item := range inner {
			row, _ := item.(map[string]any)
			of, _ := row["type"].(string)
			shown[i] = maskConfig(m.members, row, of)
		}
		return shown
	}
	return value
}
