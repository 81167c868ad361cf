package console

import (
	"fmt"
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

	mu   sync.Mutex
	what string
}

const (
	progressAfter = time.Second
	progressMoves = 250 * time.Millisecond
	progressLines = 10 * time.Second
)

// Progress begins to show what goes on. Its Done must be called.
func (c *Console) Progress(what string) *Progress {
	p := &Progress{c: c, began: c.Now(), stop: make(chan struct{}), what: what}
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

// Done ends it and clears its line. It may be called once.
func (p *Progress) Done() {
	close(p.stop)
	p.ended.Wait()
}

func (p *Progress) show() {
	every := progressLines
	if p.c.ErrTTY {
		every = progressMoves
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-p.stop:
			if shown && p.c.ErrTTY {
				_, _ = fmt.Fprint(p.c.Err, "\r\x1b[K")
			}
			return
		case <-tick.C:
		}
		passed := p.c.Now().Sub(p.began)
		if passed < progressAfter {
			continue
		}
		p.mu.Lock()
		line := fmt.Sprintf("%s (%s)", Clean(p.what), Span(passed))
		p.mu.Unlock()
		shown = true
		if p.c.ErrTTY {
			_, _ = fmt.Fprintf(p.c.Err, "\r\x1b[K%s", line)
		} else {
			_, _ = fmt.Fprintln(p.c.Err, line)
		}
	}
}
