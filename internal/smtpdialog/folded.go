// SPDX-License-Identifier: Apache-2.0

package smtpdialog

import (
	"bufio"
	"io"
)

// Folded reads a connection whose lines are changed before they are handed over, such as by
// FoldKeywords.
type Folded struct {
	lines *bufio.Reader
	fold  func(line []byte)
	rest  []byte // of the line that is handed over
	long  bool   // the line goes on
}

// NewFolded returns a reader of first, as it is, and then of the lines of from. fold is called
// with each line, of a long one with its beginning, and changes it in place.
func NewFolded(from io.Reader, first string, fold func(line []byte)) *Folded {
	return &Folded{lines: bufio.NewReader(from), fold: fold, rest: []byte(first)}
}

// Read hands over a part of one line. What came before an error of the connection is handed over
// first.
func (f *Folded) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		line, err := f.lines.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		if !f.long {
			f.fold(line)
		}
		f.long = line[len(line)-1] != '\n'
		f.rest = line
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}
