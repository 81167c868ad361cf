// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/location"
)

const (
	// taskEvery is the time between two looks for tasks while streams are open.
	taskEvery = 250 * time.Millisecond
	// queryTimeout bounds each query of a stream.
	queryTimeout = 5 * time.Second
	// mostStreams is how many streams of a location a process has at a time.
	mostStreams = 100
)

// hub has the streams that are open in this process, and hands them tasks. It is safe for concurrent use.
type hub struct {
	store   Store
	log     *slog.Logger
	closing chan struct{}
	begin   sync.Once

	mu      sync.Mutex
	ended   bool
	streams map[*subscriber]struct{}
}

// subscriber is one stream.
type subscriber struct {
	session location.Session
	tasks   chan location.Task
}

func newHub(store Store, log *slog.Logger) *hub {
	return &hub{store: store, log: log, closing: make(chan struct{}), streams: make(map[*subscriber]struct{})}
}

// join adds a stream.
func (h *hub) join(session location.Session) (*subscriber, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, vigil.Errorf(vigil.CodeUnavailable, "This server is about to stop. Connect again in a moment.")
	}
	of := 0
	for other := range h.streams {
		if other.session.Location.ID == session.Location.ID {
			of++
		}
	}
	if of >= mostStreams {
		return nil, vigil.Errorf(vigil.CodeUnavailable, "%d streams of the location are open. Connect again in a moment.", mostStreams)
	}
	sub := &subscriber{session: session, tasks: make(chan location.Task, 16)}
	h.streams[sub] = struct{}{}
	h.begin.Do(func() { go h.run() })
	return sub, nil
}

func (h *hub) leave(sub *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, sub)
}

// end ends every stream.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.closing)
	}
}

// run looks for tasks until the hub ends.
func (h *hub) run() {
	tick := time.NewTicker(taskEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.closing:
			return
		case <-tick.C:
		}
		if h.open() == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		tasks, err := h.store.WaitingTasks(ctx)
		cancel()
		if err != nil {
			h.log.Warn("tasks of agents not read, trying again", "error", err)
			continue
		}
		for _, task := range tasks {
			h.offer(task)
		}
	}
}

func (h *hub) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// offer hands a task to the streams of its location; the first one that asks the database has it.
func (h *hub) offer(task location.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sub := range h.streams {
		if sub.session.Location.ID != task.LocationID {
			continue
		}
		select {
		case sub.tasks <- task:
		default: // it has enough to do
		}
	}
}

// definition returns the check of a task if the session may see it.
func (h *hub) definition(ctx context.Context, in location.Access, check uuid.UUID) (vigil.Definition, bool, error) {
	def, err := h.store.Definition(ctx, check)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return def, false, nil
	}
	return def, err == nil && (in.OrgID == uuid.Nil || def.Check.OrgID == in.OrgID), err
}
