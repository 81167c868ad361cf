// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// Bounds of every body.
const (
	// maxDepth bounds how deeply objects and arrays may be nested. The deepest body that
	// means anything is a multistep check with assertions.
	maxDepth = 32
	// maxNameBytes bounds the name of a member, in bytes. The longest ones that mean
	// anything are names of headers.
	maxNameBytes = 256
	// maxValues bounds how many values there may be, with objects, arrays and what is in
	// them: what a body costs follows its values rather than its bytes. The largest resource,
	// a status page, has less than 1,000, and a bulk change of checks 1,000 ids.
	maxValues = 10_000
	// checkPause is after how many values the check of a body looks whether it is still wanted.
	checkPause = 4096
)

// encodeJSON writes a value as one line of JSON.
func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}

// decodeJSON reads a request body, which checkJSON has let pass, into v. Huma reads it twice:
// into an any, which it validates, and into the input of the operation.
func decodeJSON(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return describeJSON(err)
	}
	if tree, ok := v.(*any); ok {
		*tree = hideSeparators(*tree)
	}
	return nil
}

// checkJSON reports what makes a body unfit. It accepts less than encoding/json does: nothing
// that two parsers could read differently, nothing that the database cannot store, and
// nothing that costs much more than its length.
//
// So it refuses bytes that are not UTF-8, syntax, duplicate members, NUL characters, numbers
// beyond a float, data after the value, nesting beyond maxDepth, names beyond maxNameBytes and
// more than most values. It ends with
// ctx.
func checkJSON(ctx context.Context, data []byte, most int) error {
	if !utf8.Valid(data) {
		return vigil.Invalid("body", "is not valid UTF-8")
	}
	if !json.Valid(data) {
		return syntaxProblem(data)
	}
	c := checker{ctx: ctx, data: data, most: most}
	return c.value()
}

// CheckBody is checkJSON with the bounds of most operations, for what else takes JSON.
func CheckBody(ctx context.Context, body []byte) error { return checkJSON(ctx, body, maxValues) }

// syntaxProblem describes a body that is not JSON.
func syntaxProblem(data []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		switch before := data[:min(int(syntax.Offset), len(data))]; {
		case deeperThan(before, maxDepth):
			return errDepth()
		case strings.Contains(syntax.Error(), "after top-level value"):
			return vigil.Invalid("body", "holds more than one JSON value; send exactly one")
		case len(before) == len(data) && strings.Contains(syntax.Error(), "unexpected end"):
			return vigil.Invalid("body", "is not valid JSON: it ends too early")
		}
	}
	return describeJSON(err)
}

// deeperThan reports whether a text that may be cut off has more than most brackets open at once.
func deeperThan(data []byte, most int) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			if depth++; depth > most {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns where the string that begins at i ends, behind its quote.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		next := bytes.IndexAny(data[i:], `"\`)
		if next < 0 {
			break
		}
		if i += next; data[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
	return len(data)
}

func errDepth() error { return vigil.Invalid("body", "is nested deeper than %d levels", maxDepth) }

// describeJSON turns an error of encoding/json into a sentence that names the
// member or the place, and never shows a value.
func describeJSON(err error) error {
	if known, ok := errors.AsType[*vigil.Error](err); ok {
		return known
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return vigil.Invalid(memberName(wrong.Field), "must be %s", kindName(wrong.Type.Kind()))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return vigil.Invalid("body", "is not valid JSON near byte %d", syntax.Offset)
	}
	return vigil.Invalid("body", "is not valid JSON")
}

// memberName names a member in a sentence; the body itself has no path.
func memberName(path string) string {
	if path == "" {
		return "body"
	}
	return path
}
