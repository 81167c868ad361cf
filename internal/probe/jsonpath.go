// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/vigil-monitor/vigil"
)

// maxUnion is how many commas a path may have: each can select a value twice.
const maxUnion = 4

// maxSearched is how many values a document may have for a path that visits
// all of them: a filter takes some 10 µs for each, which no context can end.
const maxSearched = 50_000

// jsonPath is a JSONPath whose evaluation is bounded.
type jsonPath struct {
	expression jp.Expr
	searches   bool // it may visit every value of a document
}

// get returns the values that the path selects of an answer's body, or why
// there are none.
func (p jsonPath) get(got *answer) (values []any, problem string) {
	if got.unread != "" {
		return nil, got.unread
	}
	document, ok := got.document()
	if !ok {
		return nil, got.notJSON()
	}
	if p.searches && countValues(got.plain) > maxSearched {
		return nil, fmt.Sprintf("the body has more than %d values, too many for a path with .. or a filter", maxSearched)
	}
	return p.expression.Get(document), ""
}

// countValues counts the values of a JSON text, those in empty lists included.
func countValues(text []byte) int {
	count, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}

// parseJSONPath reads a JSONPath (RFC 9535). A path can select far more values
// than a document has when descents and unions multiply each other, so it may
// have one descent and a few commas, and its filters only select below their own
// element: what it then costs is a small multiple of the document's size. The rule is for
// the path as the library writes it, without the names in quotes: $['$schema'] has one root.
func parseJSONPath(path, given string) (jsonPath, error) {
	if given == "" {
		return jsonPath{}, vigil.Invalid(path, "must be a JSONPath, such as $.status")
	}
	parsed, err := jp.ParseString(given)
	if err != nil || len(parsed) == 0 {
		return jsonPath{}, vigil.Invalid(path, "is not a valid JSONPath")
	}
	bare := withoutNames(parsed.String())
	switch {
	case strings.Count(bare, "..") > 1:
		return jsonPath{}, vigil.Invalid(path, "must have at most one descent (..)")
	case strings.Count(bare, ",") > maxUnion:
		return jsonPath{}, vigil.Invalid(path, "must have at most %d commas", maxUnion)
	case strings.Contains(bare, "~=") || strings.Contains(bare, "match(") || strings.Contains(bare, "search("):
		return jsonPath{}, vigil.Invalid(path, "must not have regular expressions; use the operator matches")
	case strings.LastIndexByte(bare, '$') > 0:
		return jsonPath{}, vigil.Invalid(path, "must have $ at its beginning only")
	}
	return jsonPath{expression: parsed, searches: strings.Contains(bare, "..") || strings.Contains(bare, "?")}, nil
}

// withoutNames is a path without what stands in quotes.
func withoutNames(path string) string {
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0:
			out.WriteByte(c)
		}
	}
	return out.String()
}
