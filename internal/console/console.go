// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Console is where a command reads, writes and asks.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY say which of the three are terminals.
	InTTY, OutTTY, ErrTTY bool
	// Width is that of the terminal, in characters; 0: unknown, nothing is shortened.
	Width    int
	errWidth int // of the terminal of Err
	// Colour: the answer is coloured.
	Colour bool
	// Now is the clock.
	Now func() time.Time
	// Hidden reads a line that is not shown. Nil: there is no terminal to read it from.
	Hidden func() (string, error)

	// Format of the answer, and a compiled jq expression that is applied to it, or nil.
	Format Format
	Query  *Query
	// Quiet: no notes. Yes: every question is answered with yes.
	Quiet, Yes bool
}

// Open returns the console of three streams. Each that is a terminal is used as one.
func Open(in io.Reader, out, errOut io.Writer, now func() time.Time) *Console {
	c := &Console{In: in, Out: out, Err: errOut, Now: now, Format: Table}
	if fd, ok := terminal(in); ok {
		c.InTTY = true
		c.Hidden = func() (string, error) {
			line, err := term.ReadPassword(fd)
			_, _ = fmt.Fprintln(errOut)
			return string(line), err
		}
	}
	if fd, ok := terminal(out); ok {
		c.OutTTY = true
		if width, _, err := term.GetSize(fd); err == nil {
			c.Width = width
		}
	}
	if fd, ok := terminal(errOut); ok {
		c.ErrTTY = true
		if width, _, err := term.GetSize(fd); err == nil {
			c.errWidth = width
		}
	}
	return c
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	_, ok := terminal(stream)
	return ok
}

func terminal(stream any) (int, bool) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(file.Fd())
	return fd, term.IsTerminal(fd)
}

// ChooseColour decides whether the answer is coloured. It takes the variables NO_COLOR,
// CLICOLOR_FORCE and TERM, and the flag --no-color.
func (c *Console) ChooseColour(noColor, force, terminalType string, off bool) {
	switch {
	case off:
		c.Colour = false
	case force != "" && force != "0":
		c.Colour = true
	default:
		c.Colour = c.OutTTY && noColor == "" && terminalType != "dumb"
	}
}

// Note writes a line to standard error, unless the console is quiet.
func (c *Console) Note(format string, args ...any) {
	if !c.Quiet {
		c.Warn(format, args...)
	}
}

// Warn writes a line to standard error, also when the console is quiet.
func (c *Console) Warn(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, "%s\n", Clean(fmt.Sprintf(format, args...)))
}

// Interactive reports whether the user can be asked.
func (c *Console) Interactive() bool { return c.InTTY && c.ErrTTY }
