package probe

import (
	"regexp"
	"regexp/syntax"
)

// Bounds of regular expressions. Matching takes time in proportion to the
// length of the text and the size of the program, and no context can end it.
const (
	maxPattern        = 1000     // bytes of the expression
	maxPatternProgram = 500      // instructions it compiles to
	patternWork       = 32 << 20 // bytes times instructions of one match
)

// pattern is a regular expression whose matching is bounded: of a text that is
// too long for it only the first part is searched, which is all of a body for
// expressions of up to 32 instructions.
type pattern struct {
	compiled *regexp.Regexp
	limit    int // bytes
}

// parsePattern compiles an expression (RE2); false when it is malformed or too
// large.
func parsePattern(text string) (pattern, bool) {
	if len(text) > maxPattern {
		return pattern{}, false
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, false
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxPatternProgram {
		return pattern{}, false
	}
	compiled, err := regexp.Compile(text)
	return pattern{compiled: compiled, limit: patternWork / len(program.Inst)}, err == nil
}

func (p pattern) matches(text string) bool {
	return p.compiled.MatchString(text[:min(len(text), p.limit)])
}

// find returns the first group of the first match, or the whole match when the
// expression has no group.
func (p pattern) find(text []byte) (string, bool) {
	match := p.compiled.FindSubmatch(text[:min(len(text), p.limit)])
	if match == nil {
		return "", false
	}
	return string(match[min(1, len(match)-1)]), true
}
