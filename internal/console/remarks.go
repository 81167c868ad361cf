// SPDX-License-Identifier: Apache-2.0

package console

import (
	"strings"
)

// Remark is a sentence about one thing, with commands that help.
type Remark struct {
	State Cell
	Name  string
	Text  string
	Hints []string // commands to paste; alternatives
}

// Remarks are sentences, one below the other. A terminal breaks them instead of
// shortening them, and has the hints on lines of their own.
type Remarks []Remark

// hintMark stands before the hints of a remark.
const hintMark = "-> "

func (all Remarks) draw(p *painter) {
	if !p.terminal {
		var rows [][]Cell
		for _, r := range all {
			rows = append(rows, []Cell{r.State, Word(r.Name), Word(r.Text), Word(strings.Join(r.Hints, "   or   "))})
		}
		p.plain(rows)
		return
	}
	state, name := 0, 0
	for _, r := range all {
		state = max(state, Width(r.State.brief(p.now)))
		name = max(name, Width(Clean(r.Name)))
	}
	indent := 2 + state + columnGap + name + columnGap
	for _, r := range all {
		word := r.State.brief(p.now)
		p.out.WriteString("  " + p.paint(word, r.State.tone) + strings.Repeat(" ", state-Width(word)+columnGap))
		p.out.WriteString(Clean(r.Name) + strings.Repeat(" ", name-Width(Clean(r.Name))+columnGap))
		p.out.WriteString(strings.Join(wrapped(Clean(r.Text), p.width-indent), "\n"+strings.Repeat(" ", indent)) + "\n")
		for _, hint := range r.Hints {
			p.out.WriteString(strings.Repeat(" ", indent) + hintMark + Clean(hint) + "\n")
		}
	}
	p.drawnSomePart = true
}

// broken breaks a text into lines of a width at most: between words, and inside of a word that is
// longer, such as a URL.
func broken(text string, width int) []string {
	width = max(width, least)
	var lines []string
	for _, line := range wrapped(text, width) {
		for Width(line) > width {
			begin := head(line, width)
			lines, line = append(lines, begin), line[len(begin):]
		}
		lines = append(lines, line)
	}
	return lines
}

// wrapped breaks a text into lines of a width at most, unless a word is longer. A width
// below least is not known.
func wrapped(text string, width int) []string {
	if width < least {
		return []string{text}
	}
	var lines []string
	line, length := "", 0
	for word := range strings.SplitSeq(text, " ") {
		n := Width(word)
		if line != "" && length+1+n > width {
			lines = append(lines, line)
			line, length = "", 0
		}
		if line != "" {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}
