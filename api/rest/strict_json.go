package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"vigil"
)

// maxDepth bounds how deeply objects and arrays of a body may be nested. The
// deepest body that means anything is a multistep check with assertions.
const maxDepth = 32

// encodeJSON writes a value as one line of JSON.
func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}

// decodeJSON reads a request body into v. It accepts less than encoding/json
// does: nothing that two parsers could read differently, and nothing that the
// database cannot store.
func decodeJSON(data []byte, v any) error {
	if err := checkJSON(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return describeJSON(err)
	}
	return nil
}

// checkJSON reports what makes a body unfit: bytes that are not UTF-8, syntax,
// duplicate members, NUL characters, numbers beyond a float, data after the
// value and nesting beyond maxDepth.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return vigil.Invalid("body", "is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	c := checker{dec: dec}
	if err := c.value(""); err != nil {
		return describeJSON(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return vigil.Invalid("body", "holds more than one JSON value; send exactly one")
	}
	return nil
}

// checker walks the tokens of a body.
type checker struct {
	dec   *json.Decoder
	depth int
}

func (c *checker) value(path string) error {
	token, err := c.dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return c.nested(path, token)
	case string:
		return checkText(path, token)
	case json.Number:
		if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
			return vigil.Invalid(memberName(path), "is a number beyond what can be represented")
		}
	}
	return nil
}

func (c *checker) nested(path string, open json.Delim) error {
	if c.depth++; c.depth > maxDepth {
		return vigil.Invalid("body", "is nested deeper than %d levels", maxDepth)
	}
	defer func() { c.depth-- }()
	seen := make(map[string]bool)
	for i := 0; c.dec.More(); i++ {
		at := path + "[" + strconv.Itoa(i) + "]"
		if open == '{' {
			token, err := c.dec.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			at = strings.TrimPrefix(path+"."+name, ".")
			if err := checkText(at, name); err != nil {
				return err
			}
			if seen[name] {
				return vigil.Invalid(at, "is given more than once")
			}
			seen[name] = true
		}
		if err := c.value(at); err != nil {
			return err
		}
	}
	_, err := c.dec.Token() // the closing bracket
	return err
}

// checkText refuses text that Postgres cannot hold or that was no text to begin
// with: encoding/json reads a lone surrogate as U+FFFD.
func checkText(path, text string) error {
	switch {
	case strings.ContainsRune(text, 0):
		return vigil.Invalid(memberName(strings.ReplaceAll(path, "\x00", "")), "holds a NUL character")
	case strings.ContainsRune(text, utf8.RuneError):
		return vigil.Invalid(memberName(path), "holds a character that is not valid Unicode")
	}
	return nil
}

// memberName names a member in a sentence; the body itself has no path.
func memberName(path string) string {
	if path == "" {
		return "body"
	}
	return path
}

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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return vigil.Invalid("body", "is not valid JSON: it ends too early")
	}
	return vigil.Invalid("body", "is not valid JSON")
}
