// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// kind is the type of a value of YAML.
type kind int

const (
	nullKind kind = iota
	scalarKind
	listKind
	mapKind
)

// value is a value of YAML. A scalar keeps the text that the file has, so that 0x10 and yes
// are read as what a member needs.
type value struct {
	kind kind
	text string
	// quoted scalars and blocks are texts only.
	quoted  bool
	items   []*value
	members []pair
	line    int
	sized   int // 0: not counted yet
	anchor  bool
}

// hasAnchor reports whether the value, or one in it, is written with an anchor.
func (v *value) hasAnchor() bool {
	inside := func(one pair) bool { return one.value.hasAnchor() }
	return v.anchor || slices.ContainsFunc(v.items, (*value).hasAnchor) || slices.ContainsFunc(v.members, inside)
}

// size is how many values are in a value, itself included; a long text counts for several.
func (v *value) size() int {
	if v.sized == 0 {
		v.sized = 1 + len(v.text)/32
		for _, item := range v.items {
			v.sized += item.size()
		}
		for _, one := range v.members {
			v.sized += one.value.size()
		}
	}
	return v.sized
}

// pair is a named value of a map.
type pair struct {
	name  string
	value *value
}

func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, one := range v.members {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// Limits of a file of YAML.
const (
	maxYAML       = 8 << 20 // bytes
	maxYAMLDepth  = 100
	maxYAMLValues = 500_000
)

// yamlReader turns the text of one file into values.
type yamlReader struct {
	name    string
	anchors map[string]*value
	count   int
}

// parseYAML returns the first document of a file, and how many others there are. The value
// of an empty file is null.
func parseYAML(name string, text []byte) (first *value, others int, err error) {
	defer func() {
		// The parser is not ours; what makes it panic is a file that cannot be read.
		if caught := recover(); caught != nil {
			first, err = nil, fmt.Errorf("%s: cannot be read as YAML: %v", name, caught)
		}
	}()
	if len(text) > maxYAML {
		return nil, 0, fmt.Errorf("%s: is larger than %d MiB", name, maxYAML>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // the parser takes the mark for a part of the first name
	if line, wrong := manifest.BoundYAML(text); wrong != "" {
		return nil, 0, fmt.Errorf("%s:%d: %s", name, line, wrong)
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, 0, yamlError(name, err)
	}
	first = &value{}
	r := &yamlReader{name: name, anchors: map[string]*value{}}
	read := 0
	for _, document := range file.Docs {
		if document == nil || document.Body == nil || document.Body.Type() == ast.CommentType {
			continue
		}
		if read++; read == 1 {
			if first, err = r.value(document.Body, 0); err != nil {
				return nil, 0, err
			}
		}
	}
	return first, max(0, read-1), nil
}

func yamlError(name string, err error) error {
	known, ok := errors.AsType[yaml.Error](err)
	if !ok {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: %s", name, first)
	}
	if at := known.GetToken(); at != nil && at.Position != nil {
		return fmt.Errorf("%s:%d: %s", name, at.Position.Line, known.GetMessage())
	}
	return fmt.Errorf("%s: %s", name, known.GetMessage())
}

func (r *yamlReader) fail(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...))
}

func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

func (r *yamlReader) value(from ast.Node, depth int) (*value, error) {
	if from == nil {
		return &value{}, nil
	}
	line := lineOf(from.GetToken())
	if r.count++; r.count > maxYAMLValues {
		return nil, r.fail(line, "holds more than %d values", maxYAMLValues)
	}
	if depth > maxYAMLDepth {
		return nil, r.fail(line, "nests deeper than %d levels", maxYAMLDepth)
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		return r.mapping(line, from.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(line, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		list := &value{kind: listKind, line: line}
		for _, one := range from.Values {
			item, err := r.value(one, depth+1)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, item)
		}
		return list, nil
	case *ast.AnchorNode:
		read, err := r.value(from.Value, depth+1)
		if err == nil {
			r.anchors[from.Name.String()] = read
			holder := *read // an alias of it is none
			holder.anchor = true
			return &holder, nil
		}
		return read, err
	case *ast.AliasNode:
		if read, ok := r.anchors[from.Value.String()]; ok {
			if r.count += read.size(); r.count > maxYAMLValues { // what it repeats is read again
				return nil, r.fail(line, "holds more than %d values, with those that aliases repeat", maxYAMLValues)
			}
			return read, nil
		}
		return nil, r.fail(line, "the anchor %q is not known here", from.Value.String())
	case *ast.TagNode:
		read, err := r.value(from.Value, depth+1)
		if err == nil && read.kind == scalarKind && from.Start != nil && from.Start.Value == "!!str" {
			read.quoted = true
		}
		return read, err
	}
	return scalar(line, from), nil
}

func scalar(line int, from ast.Node) *value {
	switch from := from.(type) {
	case *ast.NullNode:
		return &value{line: line}
	case *ast.StringNode:
		quoted := from.Token != nil && (from.Token.Type == token.SingleQuoteType || from.Token.Type == token.DoubleQuoteType)
		return &value{kind: scalarKind, text: from.Value, quoted: quoted, line: line}
	case *ast.LiteralNode:
		return &value{kind: scalarKind, text: from.Value.Value, quoted: true, line: line}
	}
	text := ""
	if t := from.GetToken(); t != nil {
		text = t.Value
	}
	return &value{kind: scalarKind, text: text, line: line}
}

func (r *yamlReader) mapping(line int, values []*ast.MappingValueNode, depth int) (*value, error) {
	read := &value{kind: mapKind, line: line}
	var merged []*value
	names := map[string]bool{}
	for _, one := range values {
		if one.Key == nil {
			continue
		}
		inner, err := r.value(one.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if one.Key.IsMergeKey() {
			merged = append(merged, inner)
			continue
		}
		key := one.Key.GetToken()
		if explicit, ok := one.Key.(*ast.MappingKeyNode); ok && explicit.Value != nil {
			key = explicit.Value.GetToken()
		}
		if key == nil {
			return nil, r.fail(line, "a key of the mapping cannot be read")
		}
		if names[key.Value] {
			return nil, r.fail(lineOf(key), "%q is there twice", key.Value)
		}
		names[key.Value] = true
		if len(read.members) == 0 {
			read.line = lineOf(key)
		}
		read.members = append(read.members, pair{key.Value, inner})
	}
	for _, one := range merged {
		r.merge(read, one, names)
	}
	return read, nil
}

// merge adds the members of <<, a map or a list of maps, that a map lacks.
func (r *yamlReader) merge(into, from *value, names map[string]bool) {
	for _, item := range from.items {
		r.merge(into, item, names)
	}
	for _, one := range from.members {
		if r.count++; !names[one.name] && r.count <= maxYAMLValues {
			names[one.name] = true
			into.members = append(into.members, one)
		}
	}
}

// mergeYAML adds the members of a map to another: maps and lists are put together, and a
// scalar that both have is an error. That is how Gatus reads the files of a directory.
func mergeYAML(into, from *value) error {
	for _, one := range from.members {
		there := into.get(one.name)
		switch {
		case there == nil:
			into.members = append(into.members, one)
		case there.kind == mapKind && one.value.kind == mapKind:
			if err := mergeYAML(there, one.value); err != nil {
				return err
			}
		case there.kind == listKind && one.value.kind == listKind:
			there.items = append(there.items[:len(there.items):len(there.items)], one.value.items...)
		default:
			return fmt.Errorf("%q stands in two files; only maps and lists are put together", one.name)
		}
	}
	return nil
}
