// SPDX-License-Identifier: Apache-2.0

package console

// Line is a line of text in one colour.
type Line struct {
	Text string
	Tone Tone
}

// Lines are a part of an answer that is the same on a terminal and in a pipe.
type Lines []Line

func (l Lines) draw(p *painter) {
	for _, line := range l {
		p.out.WriteString(p.paint(Clean(line.Text), line.Tone))
		p.out.WriteByte('\n')
	}
	p.drawnSomePart = true
}
