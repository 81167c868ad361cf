// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"regexp"
)

// Bounds of a file of YAML. They are looked at before the parser is, which nests as deep as its
// input, and whose time grows with the square of documents, anchors and keys of a mapping.
const (
	maxOpen      = 2000 // brackets at once
	maxDocuments = 1000
	maxAnchors   = 10_000
	maxKeys      = 20_000 // of one mapping
	maxNodes     = 500_000
)

var (
	// indicators matches a line that begins with many levels.
	indicators = regexp.MustCompile(`^\s*(?:[-?:!&*][^\s]*\s+){100}`)
	// anchor matches the beginning of what may be an anchor.
	anchor = regexp.MustCompile(`(?:^|[\s\[{,:-])&[^\s&]`)
)

// yamlBounds counts what the lines of a file have.
type yamlBounds struct {
	open, documents, anchors, nodes int
	// mappings are those that the line may belong to, from the outermost.
	mappings []mappingKeys
}

// mappingKeys are lines of one indentation without a lesser one between them.
type mappingKeys struct{ indent, keys int }

// BoundYAML reports what a YAML parser should not be asked to read, and on which line; an empty
// sentence when there is nothing.
func BoundYAML(text []byte) (line int, problem string) {
	var b yamlBounds
	for one := range bytes.Lines(text) {
		line++
		if problem := b.add(one); problem != "" {
			return line, problem
		}
	}
	return 0, ""
}

func (b *yamlBounds) add(line []byte) string {
	opened := bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
	b.open = max(0, b.open+opened-bytes.Count(line, []byte("]"))-bytes.Count(line, []byte("}")))
	if b.open > maxOpen || opened > 10*maxOpen || indicators.Match(line) {
		return "nests too deep"
	}
	if bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("%")) {
		b.documents++
	}
	if bytes.IndexByte(line, '&') >= 0 {
		b.anchors += len(anchor.FindAllIndex(line, maxAnchors+1))
	}
	b.nodes += 1 + bytes.Count(line, []byte(","))
	switch {
	case b.documents > maxDocuments:
		return fmt.Sprintf("has more than %d documents", maxDocuments)
	case b.anchors > maxAnchors:
		return fmt.Sprintf("has more than %d anchors", maxAnchors)
	case b.nodes > maxNodes:
		return fmt.Sprintf("has more than %d values", maxNodes)
	case b.key(line) > maxKeys:
		return fmt.Sprintf("has more than %d keys in one mapping", maxKeys)
	}
	return ""
}

// key counts a line in the mapping of its indentation, and returns how many keys that has.
func (b *yamlBounds) key(line []byte) int {
	content := bytes.TrimLeft(line, " ")
	indent := len(line) - len(content)
	if content = bytes.TrimSpace(content); len(content) == 0 || content[0] == '#' {
		return 0
	}
	for len(b.mappings) > 0 && b.mappings[len(b.mappings)-1].indent > indent {
		b.mappings = b.mappings[:len(b.mappings)-1]
	}
	if content[0] == '-' {
		return 0 // an item of a list
	}
	if n := len(b.mappings); n == 0 || b.mappings[n-1].indent < indent {
		b.mappings = append(b.mappings, mappingKeys{indent: indent})
	}
	last := &b.mappings[len(b.mappings)-1]
	last.keys++
	return last.keys
}
