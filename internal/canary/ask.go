// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// flightTimeout is how long the canaries have to answer, and flightEvery how often they are
	// asked at most. Together they are the longest wait of a failure: a second.
	flightTimeout = 750 * time.Millisecond
	flightEvery   = 250 * time.Millisecond
	// silenceShared is how long the silence of all canaries counts for other failures. An
	// answer counts for those that came before it: the line may be cut right after it.
	silenceShared = 2 * time.Second
)

// flight is one question to all canaries at once.
type flight struct {
	began, ended time.Time
	up           bool  // one has answered
	failure      error // of the last one that did not
	done         chan struct{}
}

// ask asks all canaries, once for all who ask at the same time, and reports whether one answers.
// Silence that is not older than shared counts as an answer. It is false, too, when ctx ends.
func (l *Line) ask(ctx context.Context, shared time.Duration) bool {
	for ctx.Err() == nil {
		f, wait := l.join(ctx, shared)
		if f == nil {
			if timing.Sleep(ctx, wait) != nil {
				return false
			}
			continue
		}
		if f.done == nil {
			return f.up
		}
		select {
		case <-f.done:
			return f.up
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// join returns the flight that answers a question of now: one that has begun, or silence that
// is shared. Without one it returns how long to wait for the next.
func (l *Line) join(ctx context.Context, shared time.Duration) (*flight, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != nil {
		return l.flight, 0
	}
	now := l.Now()
	if !l.last.ended.IsZero() {
		if !l.last.up && now.Sub(l.last.ended) < shared {
			return &flight{}, 0
		}
		if wait := flightEvery - now.Sub(l.last.began); wait > 0 {
			return nil, wait
		}
	}
	l.flight = &flight{began: now, done: make(chan struct{})}
	go l.fly(detached{ctx}, l.flight) //nolint:contextcheck // it is ctx, without its end and its values
	return l.flight, 0
}

// detached is a context without the end and the values of the one that asked first: others wait
// for the answer too, and a trace in it is of its own connections.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (detached) Value(any) any               { return nil }

// fly asks all canaries, and is over with the first answer.
func (l *Line) fly(ctx context.Context, f *flight) {
	asking, cancel := context.WithTimeout(ctx, flightTimeout)
	defer cancel()
	answers := make(chan error, len(l.Canaries))
	for _, address := range l.Canaries {
		go func() {
			conn, err := l.Guard.DialContext(asking, "tcp", address)
			if err == nil {
				_ = conn.Close()
			}
			answers <- err
		}()
	}
	up, failure := false, error(nil)
	for range l.Canaries {
		err := <-answers
		if err == nil {
			up, failure = true, nil
			break
		}
		failure = err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.up, f.failure, f.ended = up, failure, l.Now()
	l.flight, l.last = nil, *f
	l.conclude(ctx, f)
	close(f.done)
}
