// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"log/slog"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Starting are workers that start in the background, as soon as Temporal answers.
type Starting struct {
	cancel context.CancelFunc
	done   chan struct{}
	// stop stops the workers that started, nil when none did; read it after done is closed.
	stop func(context.Context)
}

// KeepStarting starts workers in the background, and retries every second while
// Temporal or Postgres is away. start must create new workers at each call, since one
// that failed to start cannot be started twice, and returns a function to stop them.
func KeepStarting(ctx context.Context, start func(context.Context) (stop func(context.Context), err error), log *slog.Logger) *Starting {
	ctx, cancel := context.WithCancel(ctx)
	s := &Starting{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			stop, err := start(ctx)
			if err == nil {
				s.stop = stop
				return
			}
			log.WarnContext(ctx, "workers not started, retrying", "error", err)
			_ = timing.Sleep(ctx, startRetryPause) // the loop sees whether ctx has ended
		}
	}()
	return s
}

// Started is closed once the workers poll, and when Stop ends the attempts.
func (s *Starting) Started() <-chan struct{} { return s.done }

// Stop ends the attempts, or stops the workers that started.
func (s *Starting) Stop(ctx context.Context) {
	s.cancel()
	<-s.done
	if s.stop != nil {
		s.stop(ctx)
	}
}

// startRetryPause is the pause between two attempts to start.
const startRetryPause = time.Second
