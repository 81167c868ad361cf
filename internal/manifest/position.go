// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Line and Column begin at 1; a position without a line is
// the whole file, and the zero value is no place.
type Position struct {
	File         string
	Line, Column int
}

// String returns file:line:column.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// line returns file:line.
func (p Position) line() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Problem is one mistake in the files.
type Problem struct {
	Position Position
	// Path of the value in the merged document, such as "checks.home.config.url"; "" when
	// the problem concerns a whole file.
	Path    string
	Message string
}

// String returns the problem on one line, behind its position.
func (p Problem) String() string {
	var parts []string
	if p.Position.File != "" {
		parts = append(parts, p.Position.String())
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// Problems are all mistakes of the files. It is the error of Read.
type Problems []Problem

// Error lists all problems, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Sorted returns the problems in the order of their positions, each once.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
		)
	})
	return slices.CompactFunc(p, func(a, b Problem) bool {
		return a == b || a.Position == b.Position && a.Position.Line > 0 && a.Message == b.Message // of a default
	})
}
