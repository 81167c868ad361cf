// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"fmt"
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
// too long for it only the first part is searched, which is 1 MiB for expressions
// of up to 32 instructions.
type pattern struct {
	compiled *regexp.Regexp
	limit    int // bytes
	// seesEnd is whether what follows a match can undo it, as it does with $ and \b.
	seesEnd bool
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
	return pattern{compiled: compiled, limit: patternWork / len(program.Inst), seesEnd: seesEnd(program)}, err == nil
}

// seesEnd reports whether a program looks behind the place that it has come to.
func seesEnd(program *syntax.Prog) bool {
	const looks = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	for i := range program.Inst {
		if one := &program.Inst[i]; one.Op == syntax.InstEmptyWidth && one.Arg&uint32(looks) != 0 {
			return true
		}
	}
	return false
}

// matches reports whether a text has a match. Certain is whether that is so of any text that begins
// like this one: more may follow when cut says so, or where the text is too long.
func (p pattern) matches(text []byte, cut bool) (found, certain bool) {
	if len(text) > p.limit {
		text, cut = text[:p.limit], true
	}
	if !cut || !p.seesEnd {
		found = p.compiled.Match(text)
		return found, found || !cut
	}
	match, certain := p.search(text)
	return match != nil, certain
}

// search finds the first match in the beginning of a text, and its groups, as pairs of indexes. It is
// certain when the search did not come to the end: then nothing that follows can change it.
func (p pattern) search(beginning []byte) (match []int, certain bool) {
	searched := runes{Reader: bytes.NewReader(beginning)}
	match = p.compiled.FindReaderSubmatchIndex(&searched)
	return match, match != nil && !searched.ended
}

// bound says that only a part of a text is searched.
func (p pattern) bound(what string) string {
	return fmt.Sprintf("only the first %s of %s are searched with a pattern of this size", sizeText(p.limit), what)
}

// find returns the first group of the first match, or the whole match when the
// expression has no group.
func (p pattern) find(text []byte, cut bool) (value string, found, certain bool) {
	if len(text) > p.limit {
		text, cut = text[:p.limit], true
	}
	var match []int
	if certain = !cut; certain {
		match = p.compiled.FindSubmatchIndex(text)
	} else {
		match, certain = p.search(text)
	}
	if match == nil {
		return "", false, certain
	}
	group := match[:2]
	if len(match) > 2 {
		group = match[2:4]
	}
	if group[0] < 0 { // a group that took no part
		return "", true, certain
	}
	return string(text[group[0]:group[1]]), true, certain
}

// runes notes whether a text was read to its end.
type runes struct {
	*bytes.Reader

	ended bool
}

func (r *runes) ReadRune() (rune, int, error) {
	c, size, err := r.Reader.ReadRune()
	r.ended = r.ended || err != nil
	return c, size, err
}

// sizeText is a number of bytes for a sentence.
func sizeText(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
