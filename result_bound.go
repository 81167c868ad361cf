// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// BoundResult returns a result as it is stored, and as it is shown where it is not stored:
// text without NUL and invalid UTF-8, error and metadata within MaxErrorLength and MaxMetadata,
// and the metadata as JSON (nil when there is none). Evidence stays as it is.
func BoundResult(r Result) (bounded Result, metadata []byte, err error) {
	r.Error = Truncate(CleanText(r.Error), MaxErrorLength)
	metadata, err = cleanMetadata(r.Metadata)
	if err != nil {
		return Result{}, nil, err
	}
	// As it will be read back, so that the caller and later readers of the row see the same
	// values.
	if metadata == nil {
		r.Metadata = nil
	} else if !readsBack(r.Metadata) {
		r.Metadata = nil
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return Result{}, nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	var cut bool
	if r.Metadata, cut = BoundMetadata(r.Metadata); cut {
		if metadata, err = json.Marshal(r.Metadata); err != nil {
			return Result{}, nil, fmt.Errorf("encode metadata: %w", err)
		}
	}
	return r, metadata, nil
}

// readsBack reports whether a tree comes back from its JSON in Postgres as it is.
func readsBack(tree any) bool {
	switch node := tree.(type) {
	case nil, bool, float64:
		return true
	case string:
		return utf8.ValidString(node) && !strings.Contains(node, "\x00")
	case []any:
		return node != nil && !slices.ContainsFunc(node, func(one any) bool { return !readsBack(one) })
	case map[string]any:
		for name, value := range node {
			if !readsBack(name) || !readsBack(value) {
				return false
			}
		}
		return node != nil
	}
	return false // another type, such as a struct
}

// CleanText returns a text without NUL, with U+FFFD in place of what is not UTF-8.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// cleanMetadata encodes metadata, which replaces invalid UTF-8, and takes out
// NULs, which JSON can spell and jsonb cannot keep.
func cleanMetadata(metadata map[string]any) ([]byte, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	if raw, err = json.Marshal(WithoutNUL(tree)); err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return raw, nil
}

// WithoutNUL returns a tree of decoded JSON whose texts have no NUL, which Postgres cannot keep.
func WithoutNUL(tree any) any {
	switch node := tree.(type) {
	case string:
		return strings.ReplaceAll(node, "\x00", "")
	case []any:
		for i := range node {
			node[i] = WithoutNUL(node[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(node))
		for name, value := range node {
			clean[strings.ReplaceAll(name, "\x00", "")] = WithoutNUL(value)
		}
		return clean
	}
	return tree
}
