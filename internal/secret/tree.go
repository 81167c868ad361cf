// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Any reports whether there can be a secret.
func (f Fields) Any() bool {
	return f.Secret || f.Query || f.If != "" || f.ByName || f.ByType != nil || len(f.Members) > 0
}

// MaskTree returns a copy of a decoded config with Mask in the place of every secret;
// nil where an address in it cannot be read.
func (f Fields) MaskTree(tree any) any {
	if !f.Any() {
		return tree
	}
	walk := secretWalk{change: mask}
	shown, err := walk.visit(CloneTree(tree), f, "")
	if err != nil {
		return nil
	}
	return shown
}

// DecodeTree decodes a config; an empty one is nil.
func DecodeTree(config json.RawMessage) (any, error) {
	if len(config) == 0 {
		return nil, nil //nolint:nilnil // an empty config is no tree, and no error
	}
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, errors.New("config is not JSON")
	}
	return tree, nil
}

// EncodeTree encodes a config as it was written: without escapes for HTML.
func EncodeTree(tree any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// CloneTree returns a copy of a decoded config that shares no object or list with it.
func CloneTree(node any) any {
	switch node := node.(type) {
	case map[string]any:
		copied := make(map[string]any, len(node))
		for name, value := range node {
			copied[name] = CloneTree(value)
		}
		return copied
	case []any:
		copied := make([]any, len(node))
		for i, value := range node {
			copied[i] = CloneTree(value)
		}
		return copied
	}
	return node
}
