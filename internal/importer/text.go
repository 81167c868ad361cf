// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, pathReason(err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, pathReason(err))
	}
	if len(text) > most {
		return nil, fmt.Errorf("%s: is larger than %d MiB", path, most>>20)
	}
	return text, nil
}

// readText reads a file of at most so many bytes that is a text. Other bytes would be replaced
// on the way, also in a password.
func readText(path string, most int) ([]byte, error) {
	text, err := readBounded(path, most)
	if err != nil {
		return nil, err
	}
	if line := notText(text); line > 0 {
		return nil, fmt.Errorf("%s:%d: is no text in UTF-8", path, line)
	}
	return text, nil
}

// notText returns the first line that is no text in UTF-8, or has a NUL character; 0: there is none.
func notText(text []byte) int {
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return 0
	}
	line := 1
	for one := range bytes.Lines(text) {
		if !utf8.Valid(one) || bytes.IndexByte(one, 0) >= 0 {
			break
		}
		line++
	}
	return line
}

// Limits of JSON.
const (
	maxJSONDepth  = 100
	maxJSONValues = 2_000_000 // some 20,000 monitors
)

// boundJSON refuses a text whose values would take much more memory than the text.
func boundJSON(text []byte) error {
	depth, values, inText := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch char := text[i]; {
		case inText && char == '\\':
			i++
		case char == '"':
			inText = !inText
		case inText:
		case char == '[' || char == '{':
			depth++
			values++
		case char == ']' || char == '}':
			depth--
		case char == ',':
			values++
		}
		if depth > maxJSONDepth {
			return errors.New("nests too deep")
		}
	}
	if values > maxJSONValues {
		return fmt.Errorf("holds more than %d values", maxJSONValues)
	}
	return nil
}

// decodeJSON decodes one value of JSON.
func decodeJSON(text []byte) (any, error) {
	if line := notText(text); line > 0 {
		return nil, fmt.Errorf("line %d is no text in UTF-8", line)
	}
	if err := boundJSON(text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the first value")
	}
	return value, nil
}
