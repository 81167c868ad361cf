// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// serverLog is the server's logger: warnings and errors go to Vigil's own, and all else
// is dropped. While the server starts and stops, its services warn that they cannot
// reach each other; those lines are logged as debug, and so is what it repeats by itself.
type serverLog struct {
	to      *slog.Logger
	phase   *atomic.Int32
	failure *failure
}

// failure reports the first fatal error of the server.
type failure struct {
	once     sync.Once
	reported chan error
}

func (f *failure) report(err error) { f.once.Do(func() { f.reported <- err; close(f.reported) }) }
func (f *failure) close()           { f.once.Do(func() { close(f.reported) }) }

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
	return &serverLog{to: to.With("from", "temporal"), phase: new(atomic.Int32), failure: &failure{reported: make(chan error, 1)}}
}

// setPhase sets the phase of the server's life.
func (l *serverLog) setPhase(phase int32) { l.phase.Store(phase) }

// Debug drops the line.
func (l *serverLog) Debug(string, ...tag.Tag) {}

// Info drops the line.
func (l *serverLog) Info(string, ...tag.Tag) {}

// Warn passes the line on.
func (l *serverLog) Warn(msg string, tags ...tag.Tag) { l.write(slog.LevelWarn, msg, tags) }

// Error passes the line on.
func (l *serverLog) Error(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// DPanic is an error outside of Temporal's own development.
func (l *serverLog) DPanic(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// Panic panics, as the server expects of it.
func (l *serverLog) Panic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	panic("temporal: " + msg)
}

// Fatal must not return. It reports the failure and ends the goroutine, but not the
// process, so that Postgres and the workers can stop in order.
func (l *serverLog) Fatal(msg string, tags ...tag.Tag) {
	if l.phase.Load() != stopping {
		l.write(slog.LevelError, msg, tags)
		l.failure.report(fmt.Errorf("the embedded Temporal server failed: %s%s", msg, causeIn(tags)))
	}
	runtime.Goexit()
}

// With returns a logger that adds the tags to every line.
func (l *serverLog) With(tags ...tag.Tag) log.Logger {
	return &serverLog{to: l.to.With(attributes(tags)...), phase: l.phase, failure: l.failure}
}

// raced is part of the error of the second of two starts of one workflow at the same time.
// The server repeats that start, which then finds the workflow: nothing is wrong.
const raced = "current_executions_pkey"

func (l *serverLog) write(level slog.Level, msg string, tags []tag.Tag) {
	if l.phase.Load() != running || strings.Contains(causeIn(tags), raced) {
		level = slog.LevelDebug
	}
	if !l.to.Enabled(context.Background(), level) {
		return
	}
	l.to.Log(context.Background(), level, msg, attributes(tags)...) //nolint:sloglint // the message is the server's
}

// attributes converts tags, except the stack traces that the server adds.
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
