// SPDX-License-Identifier: Apache-2.0

package console

import "strings"

// Entry is a line of a summary: how many of what, and notes on them.
type Entry struct {
	Label, What string
	Notes       []string
}

// Entries are the lines of a summary. A terminal breaks what it has no room for, and puts notes below what
// they belong to when little room is left beside it.
type Entries []Entry

const (
	leastLabel = 20 // columns of the labels
	leastNote  = 24 // columns that a note needs beside its entry
)

func (all Entries) draw(p *painter) {
	label, what := leastLabel, 0
	for _, one := range all {
		label, what = max(label, Width(Clean(one.Label))), max(what, Width(Clean(one.What)))
	}
	first := 2 + label + 1
	beside := first + what + columnGap
	bounded := p.terminal && p.width > 0
	below := bounded && p.width-beside < leastNote
	for _, one := range all {
		lines := []string{Clean(one.What)}
		if below {
			lines = wrapped(lines[0], p.width-first)
		}
		p.entry(Clean(one.Label), first, lines)
		for i, note := range one.Notes {
			indent, rest := beside, []string{Clean(note)}
			if below {
				indent = 4
			}
			if bounded {
				rest = wrapped(rest[0], p.width-indent)
			}
			for j, line := range rest {
				pad := indent
				if !below && i == 0 && j == 0 {
					pad = beside - first - Width(lines[0])
				} else {
					p.out.WriteByte('\n')
				}
				p.out.WriteString(strings.Repeat(" ", pad) + line)
			}
		}
		p.out.WriteByte('\n')
	}
	p.drawnSomePart = true
}

// entry writes the label of an entry and what it is about, without the end of the line.
func (p *painter) entry(label string, first int, lines []string) {
	p.out.WriteString("  " + label + strings.Repeat(" ", first-2-Width(label)))
	p.out.WriteString(strings.Join(lines, "\n"+strings.Repeat(" ", first)))
}
