//go:build !slim

package standalone

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// serverLog is the server's logger: warnings and errors go on to Vigil's own,
// the rest nowhere. While the server starts and stops, its parts complain about
// one another being away; that is kept for debugging only.
type serverLog struct {
	to      *slog.Logger
	phase   *atomic.Int32
	failure *failure
}

// failure tells the owner, once, why the server gave up.
type failure struct {
	once sync.Once
	told chan error
}

func (f *failure) tell(err error) { f.once.Do(func() { f.told <- err; close(f.told) }) }
func (f *failure) close()         { f.once.Do(func() { close(f.told) }) }

// The phases of the server's life.
const (
	starting int32 = iota
	running
	stopping
)

var (
	_ log.Logger     = (*serverLog)(nil)
	_ log.WithLogger = (*serverLog)(nil)
)

func newServerLog(to *slog.Logger) *serverLog {
	return &serverLog{to: to.With("from", "temporal"), phase: new(atomic.Int32), failure: &failure{told: make(chan error, 1)}}
}

// enter tells the logger which phase of its life the server is in.
func (l *serverLog) enter(phase int32) { l.phase.Store(phase) }

// Debug drops the line.
func (l *serverLog) Debug(string, ...tag.Tag) {}

// Info drops the line.
func (l *serverLog) Info(string, ...tag.Tag) {}

// Warn hands the line on.
func (l *serverLog) Warn(msg string, tags ...tag.Tag) { l.tell(slog.LevelWarn, msg, tags) }

// Error hands the line on.
func (l *serverLog) Error(msg string, tags ...tag.Tag) { l.tell(slog.LevelError, msg, tags) }

// DPanic is an error outside of Temporal's own development.
func (l *serverLog) DPanic(msg string, tags ...tag.Tag) { l.tell(slog.LevelError, msg, tags) }

// Panic panics, as the server expects of it.
func (l *serverLog) Panic(msg string, tags ...tag.Tag) {
	l.tell(slog.LevelError, msg, tags)
	panic("temporal: " + msg)
}

// Fatal must not return. Ending the process here would leave Postgres and the
// workers without a goodbye, so it ends the goroutine and tells the owner.
func (l *serverLog) Fatal(msg string, tags ...tag.Tag) {
	if l.phase.Load() != stopping {
		l.tell(slog.LevelError, msg, tags)
		l.failure.tell(fmt.Errorf("the embedded Temporal server gave up: %s%s", msg, causeIn(tags)))
	}
	runtime.Goexit()
}

// With returns a logger that adds the tags to every line.
func (l *serverLog) With(tags ...tag.Tag) log.Logger {
	return &serverLog{to: l.to.With(attributes(tags)...), phase: l.phase, failure: l.failure}
}

func (l *serverLog) tell(level slog.Level, msg string, tags []tag.Tag) {
	if l.phase.Load() != running {
		level = slog.LevelDebug
	}
	if !l.to.Enabled(context.Background(), level) {
		return
	}
	l.to.Log(context.Background(), level, msg, attributes(tags)...) //nolint:sloglint // the message is the server's
}

// attributes translates tags; the stack traces that the server adds are left out.
func attributes(tags []tag.Tag) []any {
	out := make([]any, 0, len(tags))
	for _, t := range tags {
		if t.Key() != "stacktrace" {
			out = append(out, slog.Any(t.Key(), t.Value()))
		}
	}
	return out
}

func causeIn(tags []tag.Tag) string {
	for _, t := range tags {
		if t.Key() == "error" {
			return fmt.Sprintf(": %v", t.Value())
		}
	}
	return ""
}
