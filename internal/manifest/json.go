// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// jsonReader reads JSON with positions.
type jsonReader struct {
	*parse

	decoder *json.Decoder
	last    int64 // offset up to which lines are counted
	line    int
	column  int
}

// parseJSON reads one value. A file of white space has none.
func (p *parse) parseJSON(text []byte) *node {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	r := &jsonReader{parse: p, decoder: decoder, line: 1, column: 1}
	read, err := r.value(0)
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind the end of the JSON")
		}
	}
	if err != nil {
		p.problem(r.position(max(decoder.InputOffset(), offsetOf(err))), "%s", jsonReason(err))
		return nil
	}
	return read
}

func offsetOf(err error) int64 {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntax.Offset - 1
	}
	return 0
}

func jsonReason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the file ends within the JSON"
	}
	return "is no JSON: " + err.Error()
}

// position returns the position of an offset, which never goes back.
func (r *jsonReader) position(offset int64) Position {
	for r.last < min(offset, int64(len(r.source.text))) {
		char, size := utf8.DecodeRune(r.source.text[r.last:])
		r.last += int64(size)
		r.column++
		if char == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
	return Position{File: r.source.name, Line: r.line, Column: r.column}
}

// next returns the position of the next token: behind white space, commas and colons.
func (r *jsonReader) next() Position {
	text, offset := r.source.text, r.decoder.InputOffset()
	for offset < int64(len(text)) && bytes.IndexByte([]byte(" \t\r\n,:"), text[offset]) >= 0 {
		offset++
	}
	return r.position(offset)
}

func (r *jsonReader) value(depth int) (*node, error) {
	at := r.next()
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
	}
	switch token := token.(type) {
	case nil:
		return &node{at: at, kind: nullKind, size: 1}, nil
	case bool:
		return &node{at: at, kind: boolKind, text: fmt.Sprint(token), size: 1}, nil
	case json.Number:
		return &node{at: at, kind: numberKind, text: token.String(), size: 1}, nil
	case string:
		return r.text(at, token), nil
	case json.Delim:
		if token == '[' {
			return r.list(at, depth)
		}
		return r.object(at, depth)
	}
	return nil, fmt.Errorf("has %v where a value belongs", token)
}

func (r *jsonReader) list(at Position, depth int) (*node, error) {
	list := &node{at: at, kind: listKind, size: 1}
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, item)
		list.size += item.size
	}
	_, err := r.decoder.Token()
	return list, err
}

func (r *jsonReader) object(at Position, depth int) (*node, error) {
	object := newObject(at)
	for r.decoder.More() {
		nameAt := r.next()
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		r.addOnce(object, member{name: name, at: nameAt, value: value})
	}
	_, err := r.decoder.Token()
	return object, err
}
