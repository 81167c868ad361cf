package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"vigil"
)

// Bounds of a config as text.
const (
	maxConfigBytes = 256 << 10
	maxConfigDepth = 12
)

// readDocument reads a config into maps, slices, strings, booleans and
// json.Numbers. Unlike the standard decoder it refuses a member that is given
// twice, and says where in the config a mistake is.
func readDocument(config json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(config)) == 0 || string(bytes.TrimSpace(config)) == "null" {
		return nil, vigil.Invalid("config", "is required, an object with the members of the check's type")
	}
	if len(config) > maxConfigBytes {
		return nil, vigil.Invalid("config", "must be at most %d KiB", maxConfigBytes>>10)
	}
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.UseNumber()
	value, err := readValue(decoder, "config", 0)
	if err != nil {
		if _, told := errors.AsType[*vigil.Error](err); told {
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
	if depth > maxConfigDepth {
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
		at := member(path, name)
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
		item, err := readValue(decoder, element(path, len(items)), depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := decoder.Token()
	return items, err
}
