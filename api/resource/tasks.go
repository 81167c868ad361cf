// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
)

// Limits of background tasks.
const (
	TaskDeadline = 2 * time.Second
	MaxTasks     = 256
	// MaxChanges bounds the changes of workflows that are under way. Of a burst beyond that,
	// such as many checks edited at once, the sweep makes the rest: more at a time would
	// all take longer than the deadline, and be made twice.
	MaxChanges = 32
	// taskGrace bounds how long stop waits for them.
	taskGrace = 5 * time.Second
)

// Tasks are short background jobs that a request starts. Each may be lost without
// harm: the sweep or the next request repeats it.
type Tasks struct {
	deadline time.Duration // of each task
	slots    chan struct{}
	dropping atomic.Bool // logged, until no task runs
	group    sync.WaitGroup
	done     context.Context //nolint:containedctx // ends what runs in the background of all requests
	cancel   context.CancelFunc
}

// NewTasks returns tasks that take at most deadline each, and at most limit at once.
func NewTasks(deadline time.Duration, limit int) *Tasks {
	t := &Tasks{deadline: deadline, slots: make(chan struct{}, limit)}
	t.done, t.cancel = context.WithCancel(context.Background())
	return t
}

// Start runs a task in the background until its deadline, or drops it when too
// many are running.
func (t *Tasks) Start(ctx context.Context, name string, task func(context.Context) error) {
	log := rest.RequestOf(ctx).Log()
	select {
	case t.slots <- struct{}{}:
	default:
		if !t.dropping.Swap(true) {
			log.LogAttrs(ctx, slog.LevelWarn, "too many background tasks: further ones are dropped until these have ended",
				slog.String("task", name))
		}
		return
	}
	ctx = context.WithoutCancel(ctx)
	t.group.Go(func() {
		defer func() {
			if <-t.slots; len(t.slots) == 0 {
				t.dropping.Store(false)
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, t.deadline)
		defer cancel()
		defer context.AfterFunc(t.done, cancel)() //nolint:contextcheck // t.done ends tasks with the process, which is not a request
		if err := task(ctx); err != nil {
			log.LogAttrs(ctx, slog.LevelWarn, "background task failed", slog.String("task", name), slog.Any("error", err))
		}
	})
}

// Stop waits for the tasks that run, and ends those that take long.
func (t *Tasks) Stop() {
	grace := time.AfterFunc(taskGrace, t.cancel)
	defer grace.Stop()
	t.group.Wait()
	t.cancel()
}

// each calls do for every item, also after an error, and returns all errors.
func each[T any](items []T, do func(T) error) error {
	var errs []error
	for _, item := range items {
		errs = append(errs, do(item))
	}
	return errors.Join(errs...)
}
