// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows on standard error that something goes on: a line that moves on a
// terminal, a line every ten seconds elsewhere. What is done within a second shows
// nothing.
type Progress struct {
	c     *Console
	began time.Time
	stop  chan struct{}
	ended sync.WaitGroup
	once  sync.Once

	mu    sync.Mutex
	what  string
	shown bool // the line that moves is on the terminal
}

const (
	progressAfter = time.Second
	progressMoves = 250 * time.Millisecond
	progressLines = 10 * time.Second
)

// Progress begins to show what goes on. Its Done must be called.
func (c *Console) Progress(format string, args ...any) *Progress {
	p := &Progress{c: c, began: c.Now(), stop: make(chan struct{}), what: fmt.Sprintf(format, args...)}
	if !c.Quiet {
		p.ended.Go(p.show)
	}
	return p
}

// Set replaces what is shown.
func (p *Progress) Set(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = fmt.Sprintf(format, args...)
}

// Above calls a function that writes lines to the terminal: they stand where the line that
// moves was, which goes on below them.
func (p *Progress) Above(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	write()
}

// Over returns a writer of whole lines to the terminal, which stand above the line that
// moves.
func (p *Progress) Over(w io.Writer) io.Writer { return over{p, w} }

type over struct {
	p *Progress
	w io.Writer
}

// Write writes lines.
func (o over) Write(text []byte) (n int, err error) {
	o.p.Above(func() { n, err = o.w.Write(text) })
	return n, err
}

// Done ends it and clears its line. It may be repeated.
func (p *Progress) Done() {
	p.once.Do(func() {
		close(p.stop)
		p.ended.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	})
}

// clear removes the line that moves.
func (p *Progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.c.Err, "\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) show() {
	every := progressLines
	if p.c.ErrTTY {
		every = progressMoves
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		if passed := p.c.Now().Sub(p.began); passed >= progressAfter {
			p.write(passed)
		}
	}
}

// write shows what goes on, and for how long. A line that a terminal would break could not
// be replaced, so it is cut.
func (p *Progress) write(passed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what, took := Clean(p.what), fmt.Sprintf(" (%s)", Span(passed))
	if !p.c.ErrTTY {
		_, _ = fmt.Fprintln(p.c.Err, what+took)
		return
	}
	if p.c.errWidth > 0 {
		what = Cut(what, p.c.errWidth-len(took)-1)
	}
	_, _ = fmt.Fprintf(p.c.Err, "\r\x1b[K%s%s", what, took)
	p.shown = true
}
