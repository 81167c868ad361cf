// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// memory is how long the answer of a canary counts: a machine whose canaries did not answer
	// for longer is no judge of its line.
	memory = 10 * time.Minute
	// askEvery is how often the canaries are asked while there are public targets, and
	// lookEvery how often while the line is lost.
	askEvery  = time.Minute
	lookEvery = 500 * time.Millisecond
	// leastShown is how long a loss of the line is shown at least: who looks each second sees
	// it, however short it was.
	leastShown = 5 * time.Second
)

// guard opens the connections to canaries, by the same rules as those of probes.
type guard interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// IsPublic reports whether an address is one of the public internet.
	IsPublic(addr netip.Addr) bool
}

// Options configure a Line. All are required.
type Options struct {
	// Canaries are servers as host:port, which answer when they accept a TCP connection.
	Canaries []string
	Guard    guard
	// Probes reports whether this process probes a target for which public is true. It is called
	// once a minute.
	Probes func(public func(target string) bool) bool
	Now    func() time.Time
	Log    *slog.Logger
}

// Line is what a process knows about its way to the internet. It is safe for concurrent use. A
// nil one judges nothing.
type Line struct {
	Options

	missed atomic.Int64
	wake   chan struct{} // asks without a minute's wait; has a buffer of one
	inside insideNames

	mu       sync.Mutex
	flight   *flight // under way; nil: none is
	last     flight  // the newest that has ended
	answered time.Time
	// blind is since when the line is lost, zero while it is not, and sighted when it was last
	// found again. shown is when it was last lost, and missedBefore how many attempts were
	// attributed to it by then.
	blind, sighted, shown time.Time
	missedBefore          int64
	informed              bool // that no canary has ever answered
}

// New returns a Line, nil without canaries.
func New(opts Options) *Line {
	if len(opts.Canaries) == 0 {
		return nil
	}
	return &Line{Options: opts, wake: make(chan struct{}, 1)}
}

// Run asks the canaries once a minute while this process probes public targets, and more often
// while the line is lost. It returns when ctx ends.
func (l *Line) Run(ctx context.Context) {
	if l == nil {
		return
	}
	for woken := false; ctx.Err() == nil; {
		if woken || l.Blind() || l.Probes(l.isPublic) {
			_ = l.ask(ctx, 0)
			l.inform(ctx)
		}
		if l.Blind() {
			_ = timing.Sleep(ctx, lookEvery)
			continue
		}
		minute := time.NewTimer(askEvery)
		select {
		case <-minute.C:
			woken = false
		case <-l.wake:
			woken = true
		case <-ctx.Done():
		}
		minute.Stop()
	}
}

// askSoon has Run ask without a minute's wait.
func (l *Line) askSoon() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// inform says once that no canary has ever answered: an installation without a way out is not
// to be asked for each minute in its log.
func (l *Line) inform(ctx context.Context) {
	l.mu.Lock()
	unknown := l.answered.IsZero() && !l.last.ended.IsZero() && !l.informed
	l.informed = l.informed || unknown
	failure := l.last.failure
	l.mu.Unlock()
	if unknown {
		l.Log.InfoContext(ctx, "no canary answers, so a lost line of this machine looks like failed targets; "+
			"without a way to the internet, set VIGIL_CANARIES to nothing", "canaries", l.Canaries, "error", failure)
	}
}

// BlindSince returns since when the line is lost, zero when it is not. A shorter loss is shown
// for 5 s.
func (l *Line) BlindSince() time.Time {
	if l == nil {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blind.IsZero() && !l.shown.IsZero() && l.Now().Sub(l.shown) < leastShown {
		return l.shown
	}
	return l.blind
}

// Blind reports whether the line is lost now.
func (l *Line) Blind() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.blind.IsZero()
}

// Missed returns how many failed attempts had no line since the process began.
func (l *Line) Missed() int64 {
	if l == nil {
		return 0
	}
	return l.missed.Load()
}

// lost reports whether an attempt that began at an instant, and has failed now, had no line: it
// is lost now, or was when the attempt began. The canaries are asked for a fresh failure, the
// first one after a success, and while the line is lost for each. That takes a second at most.
func (l *Line) lost(ctx context.Context, began time.Time, fresh bool) bool {
	had, ask := l.judge(began, fresh)
	if ask {
		_ = l.ask(ctx, silenceShared)
		had, _ = l.judge(began, fresh)
	}
	if had || ctx.Err() != nil {
		return false
	}
	l.missed.Add(1)
	return true
}

// judge reports whether an attempt had a line, by what is known, and whether the canaries must be
// asked to know it.
func (l *Line) judge(began time.Time, fresh bool) (had, ask bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	blind, during := !l.blind.IsZero(), began.Before(l.sighted)
	return !blind && !during, !during && (blind || fresh && l.remembers(l.Now()))
}

// remembers reports whether a canary has answered lately. The caller has the lock.
func (l *Line) remembers(now time.Time) bool {
	return !l.answered.IsZero() && now.Sub(l.answered) <= memory
}

// conclude takes the outcome of a flight. The caller has the lock.
func (l *Line) conclude(ctx context.Context, f *flight) {
	switch {
	case f.up:
		l.answered = f.ended
		if l.blind.IsZero() {
			return
		}
		l.Log.InfoContext(ctx, "a canary answers again: failures of public targets count",
			"blind_since", l.blind, "lasted", f.ended.Sub(l.blind).String(), "missed", l.missed.Load()-l.missedBefore)
		l.blind, l.sighted = time.Time{}, f.ended
	case l.blind.IsZero() && l.remembers(f.ended):
		l.blind, l.shown, l.missedBefore = f.began, f.began, l.missed.Load()
		l.askSoon() // and again until one answers
		l.Log.WarnContext(ctx, "no canary answers: this machine has lost its line, and failures of public targets are missed slots",
			"canaries", l.Canaries, "last_answer", l.answered, "error", f.failure)
	}
}
