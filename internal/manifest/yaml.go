// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of one file. Aliases can multiply what a file holds.
const (
	maxDepth  = 100
	maxValues = 2_000_000
)

// parse turns the text of one file into nodes.
type parse struct {
	source    source
	variables *variables
	problems  *Problems
	anchors   map[string]*node
}

func (p *parse) problem(at Position, format string, args ...any) {
	*p.problems = append(*p.problems, Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// text returns a text with its variables replaced.
func (p *parse) text(at Position, text string) *node {
	n := newText(at, text)
	replaced, found := p.variables.replace(at, text)
	if n.text, n.size = replaced, textSize(replaced); found {
		n.raw = text
	}
	return n
}

// addOnce adds a member to an object; a name that it has already is a problem.
func (p *parse) addOnce(object *node, m member) {
	if first, ok := object.find(m.name); ok {
		p.problem(m.at, "%q is there twice; the first is at %s", m.name, first.at)
		return
	}
	object.add(m)
}

// documents returns the values of a file: the documents of YAML, or the one of JSON.
func (p *parse) documents() (all []*node) {
	defer func() {
		// The parser of YAML is not ours; what makes it panic is a file that cannot be read.
		if caught := recover(); caught != nil {
			p.problem(Position{File: p.source.name}, "cannot be read as YAML: %v", caught)
			all = nil
		}
	}()
	if p.source.json() {
		if read := p.parseJSON(p.source.text); read != nil {
			return []*node{read}
		}
		return nil
	}
	if line, wrong := BoundYAML(p.source.text); wrong != "" {
		p.problem(Position{File: p.source.name, Line: line, Column: 1}, "%s", wrong)
		return nil
	}
	file, err := parser.ParseBytes(p.source.text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p.problem(p.errorPosition(err), "%s", yamlReason(err))
		return nil
	}
	for _, document := range file.Docs {
		p.anchors = map[string]*node{}
		if document == nil || document.Body == nil || document.Body.Type() == ast.CommentType {
			continue
		}
		if read := p.value(document.Body, 0); read != nil && read.kind != nullKind {
			all = append(all, read)
		}
	}
	return all
}

// errorPosition is the position of an error of the parser.
func (p *parse) errorPosition(err error) Position {
	if known, ok := errors.AsType[yaml.Error](err); ok && known.GetToken() != nil {
		return p.at(known.GetToken())
	}
	return Position{File: p.source.name}
}

func yamlReason(err error) string {
	if known, ok := errors.AsType[yaml.Error](err); ok {
		return known.GetMessage()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

func (p *parse) at(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{File: p.source.name}
	}
	return Position{File: p.source.name, Line: t.Position.Line, Column: t.Position.Column}
}

// value converts a value, nil when it has a problem.
func (p *parse) value(from ast.Node, depth int) *node {
	if from == nil {
		return &node{at: Position{File: p.source.name}, kind: nullKind, size: 1}
	}
	at := p.at(from.GetToken())
	if depth > maxDepth {
		p.problem(at, "nests deeper than %d levels", maxDepth)
		return nil
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		return p.mapping(at, from.Values, from.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		return p.mapping(at, []*ast.MappingValueNode{from}, from.IsFlowStyle, depth)
	case *ast.SequenceNode:
		return p.sequence(at, from, depth)
	case *ast.AnchorNode:
		value := p.value(from.Value, depth+1)
		if value != nil {
			p.anchors[from.Name.String()] = value
		}
		return value
	case *ast.AliasNode:
		value, ok := p.anchors[from.Value.String()]
		if !ok {
			p.problem(at, "the anchor %q is not known here", from.Value.String())
		}
		return value
	case *ast.TagNode:
		return p.tagged(at, from, depth)
	}
	return p.scalar(at, from)
}

func (p *parse) scalar(at Position, from ast.Node) *node {
	number := func(text string) *node { return &node{at: at, kind: numberKind, text: text, size: 1} }
	switch from := from.(type) {
	case *ast.NullNode:
		return &node{at: at, kind: nullKind, size: 1}
	case *ast.BoolNode:
		return &node{at: at, kind: boolKind, text: strconv.FormatBool(from.Value), size: 1}
	case *ast.StringNode:
		return p.text(at, from.Value)
	case *ast.LiteralNode:
		return p.text(at, from.Value.Value)
	case *ast.IntegerNode:
		return number(fmt.Sprint(from.Value))
	case *ast.FloatNode:
		if !math.IsInf(from.Value, 0) && !math.IsNaN(from.Value) {
			return number(strconv.FormatFloat(from.Value, 'g', -1, 64))
		}
	}
	p.problem(at, "%s is no value that JSON has", from.Type())
	return nil
}

// tagged converts a value with a tag; !!str makes a text of a number or of a truth.
func (p *parse) tagged(at Position, from *ast.TagNode, depth int) *node {
	tag := ""
	if from.Start != nil {
		tag = from.Start.Value
	}
	switch tag {
	case "!!str":
		if scalar, ok := from.Value.(ast.ScalarNode); ok && scalar.GetToken() != nil {
			if scalar.Type() == ast.LiteralType {
				return p.value(from.Value, depth+1)
			}
			return p.text(at, scalar.GetToken().Value)
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return p.value(from.Value, depth+1)
	}
	p.problem(at, "the tag %q is not supported", tag)
	return nil
}

func (p *parse) sequence(at Position, from *ast.SequenceNode, depth int) *node {
	list := &node{at: at, kind: listKind, size: 1}
	for _, value := range from.Values {
		item := p.value(value, depth+1)
		if item == nil {
			continue
		}
		list.items = append(list.items, item)
		if list.size += item.size; list.size > maxValues {
			p.problem(at, "holds more than %d values", maxValues)
			return nil
		}
	}
	return list
}

func (p *parse) mapping(at Position, values []*ast.MappingValueNode, flow bool, depth int) *node {
	if len(values) > 0 && values[0].Key != nil && !flow {
		at = p.at(keyToken(values[0].Key)) // the token of a block is its first colon
	}
	object := newObject(at)
	var merged []*node
	for _, pair := range values {
		if pair.Key == nil {
			continue
		}
		value := p.value(pair.Value, depth+1)
		if value == nil {
			continue
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		key := keyToken(pair.Key)
		if key == nil {
			p.problem(at, "a key of the mapping cannot be read")
			continue
		}
		p.addOnce(object, member{name: key.Value, at: p.at(key), value: value})
		if object.size > maxValues {
			p.problem(at, "holds more than %d values", maxValues)
			return nil
		}
	}
	for _, value := range merged {
		p.merge(object, value)
	}
	return object
}

// keyToken returns the token of a key, also of one behind a question mark.
func keyToken(key ast.MapKeyNode) *token.Token {
	if explicit, ok := key.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		return explicit.Value.GetToken()
	}
	return key.GetToken()
}

// merge adds the members of <<, an object or a list of objects, that an object lacks.
func (p *parse) merge(object, from *node) {
	if from.kind == listKind {
		for _, item := range from.items {
			if item.kind == objectKind {
				p.merge(object, item)
			}
		}
		return
	}
	if from.kind != objectKind {
		p.problem(from.at, "<< needs an object, and this is %s", from.kind.word())
		return
	}
	for _, m := range from.members {
		if _, ok := object.find(m.name); !ok {
			object.add(m)
		}
	}
}
