// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/vigil-monitor/vigil"
)

// maxDepth bounds how deep objects and lists are nested.
const maxDepth = 12

// readDocument reads a config into maps, slices, strings, booleans and
// json.Numbers. Unlike the standard decoder it refuses a member that is given
// twice, and says where in the config a mistake is.
func readDocument(given json.RawMessage, owner string, limit int) (map[string]any, error) {
	if len(bytes.TrimSpace(given)) == 0 || string(bytes.TrimSpace(given)) == "null" {
		return nil, vigil.Invalid("config", "is required, an object with the members of the %s's type", owner)
	}
	if len(given) > limit {
		return nil, vigil.Invalid("config", "must be at most %d KiB", limit>>10)
	}
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber()
	value, err := readValue(decoder, "config", 0)
	if err != nil {
		if _, ours := errors.AsType[*vigil.Error](err); ours {
			return nil, err
		}
		return nil, vigil.Invalid("config", "is not valid JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, vigil.Invalid("config", "is not valid JSON: something follows the object")
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, vigil.Invalid("config", "must be an object")
	}
	return members, nil
}

func readValue(decoder *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, vigil.Invalid(path, "is nested too deeply")
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(decoder, path, depth)
	case json.Delim('['):
		return readArray(decoder, path, depth)
	}
	return token, nil
}

func readObject(decoder *json.Decoder, path string, depth int) (any, error) {
	members := make(map[string]any)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		at := Member(path, name)
		if _, twice := members[name]; twice {
			return nil, vigil.Invalid(at, "is given twice")
		}
		if members[name], err = readValue(decoder, at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return members, err
}

func readArray(decoder *json.Decoder, path string, depth int) (any, error) {
	items := []any{}
	for decoder.More() {
		item, err := readValue(decoder, Element(path, len(items)), depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := decoder.Token()
	return items, err
}
