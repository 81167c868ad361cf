package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"vigil"
)

// storableEvidence returns the evidence of a result as Postgres can keep it, as JSON that fits
// beside metadata of the bytes that JSON needs; nil when there is none.
func storableEvidence(e *vigil.Evidence, metadata map[string]any) ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	raw := vigil.EncodeEvidence(e, vigil.MetadataSize(metadata))
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw, nil
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("decode evidence: %w", err)
	}
	return json.Marshal(withoutNUL(tree))
}

// storable returns a result as Postgres can keep it: instants in whole
// microseconds, text without NUL and invalid UTF-8, error and metadata within their
// bounds, metadata as JSON (nil when there is none).
func storable(r vigil.Result) (vigil.Result, []byte, error) {
	r.Slot, r.Time = micro(r.Slot), micro(r.Time)
	if r.ID == uuid.Nil {
		r.ID = vigil.ResultID(r.CheckID, r.Region, r.Slot)
	}
	r.ResponseTime = r.ResponseTime.Round(time.Microsecond)
	r.Error = vigil.Truncate(cleanText(r.Error), vigil.MaxErrorLength)
	metadata, err := cleanMetadata(r.Metadata)
	if err != nil {
		return vigil.Result{}, nil, err
	}
	// As it will be read back, so that the caller and later readers of the row see the same
	// values.
	if metadata == nil {
		r.Metadata = nil
	} else if !readsBack(r.Metadata) {
		r.Metadata = nil
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return vigil.Result{}, nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	var cut bool
	if r.Metadata, cut = vigil.BoundMetadata(r.Metadata); cut {
		if metadata, err = json.Marshal(r.Metadata); err != nil {
			return vigil.Result{}, nil, fmt.Errorf("encode metadata: %w", err)
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

func cleanText(s string) string {
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
	if raw, err = json.Marshal(withoutNUL(tree)); err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return raw, nil
}

func withoutNUL(tree any) any {
	switch node := tree.(type) {
	case string:
		return strings.ReplaceAll(node, "\x00", "")
	case []any:
		for i := range node {
			node[i] = withoutNUL(node[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(node))
		for name, value := range node {
			clean[strings.ReplaceAll(name, "\x00", "")] = withoutNUL(value)
		}
		return clean
	}
	return tree
}
