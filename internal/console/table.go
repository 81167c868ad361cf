// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Column is a column of a table.
type Column struct {
	Name string
	Wide bool // shown with -o wide only
}

// Columns returns columns of the given names; a name that begins with + is shown with
// -o wide only.
func Columns(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name, columns[i].Wide = strings.CutPrefix(name, "+")
	}
	return columns
}

// List is a table with a row for each thing.
type List struct {
	Title   string // above the table on a terminal
	Columns []Column
	Rows    [][]Cell
	Empty   string // what is noted when there is no row, such as "No checks."
}

// Field is a named value of one thing.
type Field struct {
	Name  string
	Value Cell
	Wide  bool // shown with -o wide only
}

// Fields are the values of one thing, a line each.
type Fields []Field

// Part is a part of an answer: List or Fields.
type Part interface {
	draw(p *painter)
}

// painter draws parts.
type painter struct {
	out           bytes.Buffer
	notes         []string
	terminal      bool
	wide, colour  bool
	width         int
	now           time.Time
	drawnSomePart bool
}

const (
	columnGap = 2
	// least is the width below which no column is shortened.
	least = 12
)

func (l List) draw(p *painter) {
	columns, rows := l.shown(p.wide)
	if len(rows) == 0 && l.Empty != "" {
		p.notes = append(p.notes, l.Empty)
		return
	}
	if !p.terminal {
		p.plain(rows)
		return
	}
	if p.drawnSomePart {
		p.out.WriteByte('\n')
	}
	if l.Title != "" {
		p.out.WriteString(Clean(l.Title) + "\n")
	}
	names := make([]Cell, len(columns))
	for i, column := range columns {
		names[i] = Word(column.Name)
	}
	shown, left := append([][]Cell{names}, rows...), []string(nil)
	if !p.wide {
		shown, left = p.fitting(shown)
	}
	p.aligned(shown)
	if len(left) > 0 {
		p.notes = append(p.notes, "Not shown on a terminal of this width: "+strings.Join(left, ", ")+"; -o wide shows all.")
	}
	p.drawnSomePart = true
}

// shown returns what the format shows.
func (l List) shown(wide bool) ([]Column, [][]Cell) {
	if wide {
		return l.Columns, l.Rows
	}
	var columns []Column
	for _, column := range l.Columns {
		if !column.Wide {
			columns = append(columns, column)
		}
	}
	rows := make([][]Cell, len(l.Rows))
	for i, row := range l.Rows {
		for j, cell := range row {
			if !l.Columns[j].Wide {
				rows[i] = append(rows[i], cell)
			}
		}
	}
	return columns, rows
}

func (f Fields) draw(p *painter) {
	var rows [][]Cell
	for _, field := range f {
		if !field.Wide || p.wide {
			rows = append(rows, []Cell{Word(field.Name), field.Value})
		}
	}
	if !p.terminal {
		p.plain(rows)
		return
	}
	if p.drawnSomePart {
		p.out.WriteByte('\n')
	}
	p.named(rows)
	p.drawnSomePart = true
}

// named writes names and their values for people. A value goes on below its beginning, and below its
// name when there is little room beside the names: nothing of it is left out.
func (p *painter) named(rows [][]Cell) {
	texts, widths := p.measure(rows)
	for i, row := range rows {
		name, value, first := texts[i][0], texts[i][1], widths[0]+columnGap
		if p.width > 0 && p.width-first < leastNote && first+Width(value) > p.width {
			p.out.WriteString(strings.Join(broken(name, p.width), "\n") + "\n")
			name, first = "", columnGap
		}
		lines := []string{value}
		if p.width > 0 {
			lines = broken(value, p.width-first)
		}
		for _, line := range lines {
			begin := name + strings.Repeat(" ", max(0, first-Width(name)))
			p.out.WriteString(strings.TrimRight(begin+p.paint(line, row[1].tone), " ") + "\n")
			name = ""
		}
	}
}

// plain writes rows for scripts.
func (p *painter) plain(rows [][]Cell) {
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				p.out.WriteByte('\t')
			}
			p.out.WriteString(p.paint(cell.whole(), cell.tone))
		}
		p.out.WriteByte('\n')
	}
}

// aligned writes rows for people.
func (p *painter) aligned(rows [][]Cell) {
	texts, widths := p.measure(rows)
	p.shrink(rows, texts, widths)
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			text := texts[i][j]
			line.WriteString(p.paint(text, cell.tone))
			if j < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[j]-Width(text)+columnGap))
			}
		}
		p.out.WriteString(strings.TrimRight(line.String(), " "))
		p.out.WriteByte('\n')
	}
}

// kept is how many columns a narrow terminal always shows: what names a thing.
const kept = 2

// fitting leaves out columns, the last ones first, until the rows fit with their texts
// shortened, and returns the names of those.
func (p *painter) fitting(rows [][]Cell) (fit [][]Cell, left []string) {
	_, widths := p.measure(rows)
	narrowest := make([]int, len(widths))
	for j, width := range widths {
		narrowest[j] = width
		if columnShrinks(rows, j) {
			narrowest[j] = min(width, least)
		}
	}
	columns := len(widths)
	for columns > kept && p.width > 0 && sum(narrowest[:columns])+columnGap*(columns-1) > p.width {
		columns--
		left = append([]string{rows[0][columns].short}, left...)
	}
	if len(left) == 0 {
		return rows, nil
	}
	for _, row := range rows {
		fit = append(fit, row[:columns])
	}
	return fit, left
}

// columnShrinks reports whether a column has a text that a narrow terminal shortens.
func columnShrinks(rows [][]Cell, column int) bool {
	return slices.ContainsFunc(rows, func(row []Cell) bool { return row[column].shrinks })
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func (p *painter) measure(rows [][]Cell) (texts [][]string, widths []int) {
	texts = make([][]string, len(rows))
	for i, row := range rows {
		texts[i] = make([]string, len(row))
		for j, cell := range row {
			texts[i][j] = cell.brief(p.now)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], Width(texts[i][j]))
		}
	}
	return texts, widths
}

// shrink shortens the widest column that may be shortened until the rows fit.
func (p *painter) shrink(rows [][]Cell, texts [][]string, widths []int) {
	if p.width <= 0 {
		return
	}
	shrinks := make([]bool, len(widths))
	for j := range shrinks {
		shrinks[j] = columnShrinks(rows, j)
	}
	total := columnGap*(len(widths)-1) + sum(widths)
	for ; total > p.width; total-- {
		widest := -1
		for j := range widths {
			if shrinks[j] && widths[j] > least && (widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for i := range texts {
		for j := range texts[i] {
			texts[i][j] = Cut(texts[i][j], widths[j])
		}
	}
}

// paint colours a text.
func (p *painter) paint(text string, tone Tone) string {
	codes := map[Tone]string{Good: "32", Bad: "31", Doubtful: "33", Faint: "2"}
	if !p.colour || tone == Plain || text == "" {
		return text
	}
	return "\x1b[" + codes[tone] + "m" + text + "\x1b[0m"
}

// Line prints one row at once, as those of a stream come one by one: on a terminal with
// columns of at least the given widths, else with tabs.
func (c *Console) Line(row []Cell, widths ...int) error {
	p := &painter{terminal: c.OutTTY, colour: c.Colour, now: c.Now()}
	if !p.terminal {
		p.plain([][]Cell{row})
		_, err := c.Out.Write(p.out.Bytes())
		return err
	}
	var line strings.Builder
	room := c.Width // 0: unknown
	for i, cell := range row {
		text := cell.brief(p.now)
		if c.Width > 0 && cell.shrinks {
			text = Cut(text, max(room, least))
		}
		if i < len(row)-1 {
			room -= max(widths[i], Width(text)) + columnGap
		}
		line.WriteString(p.paint(text, cell.tone))
		if i < len(row)-1 {
			line.WriteString(strings.Repeat(" ", max(0, widths[i]-Width(text))+columnGap))
		}
	}
	_, err := c.Out.Write([]byte(strings.TrimRight(line.String(), " ") + "\n"))
	return err
}
