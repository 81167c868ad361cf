package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// ToYAML writes JSON as YAML, its members in the same order.
func ToYAML(body []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := ordered(decoder)
	if err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	return yaml.MarshalWithOptions(value, yaml.Indent(2), yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}

// ordered decodes the next value and keeps the order of members.
func ordered(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return orderedList(decoder)
		}
		return orderedMap(decoder)
	case json.Number:
		if n, err := token.Int64(); err == nil {
			return n, nil
		}
		return token.Float64()
	default:
		return token, nil
	}
}

func orderedList(decoder *json.Decoder) (any, error) {
	list := []any{}
	for decoder.More() {
		item, err := ordered(decoder)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := decoder.Token() // the end
	return list, err
}

func orderedMap(decoder *json.Decoder) (any, error) {
	members := yaml.MapSlice{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := ordered(decoder)
		if err != nil {
			return nil, err
		}
		members = append(members, yaml.MapItem{Key: key, Value: value})
	}
	_, err := decoder.Token() // the end
	return members, err
}

// FromYAML reads one document of YAML or JSON as JSON. The error names line and column.
func FromYAML(text []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return json.Marshal(value)
}
