// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"github.com/vigil-monitor/vigil"
)

// Config holds the settings of the streams. Zero members mean their defaults.
type Config struct {
	PerKey, PerOrganization int           // streams that may be open at a time: 10, 50
	Buffer                  time.Duration // how far back a stream can begin: 7 days
	Heartbeat               time.Duration // between two comments: 15 s
	WriteDeadline           time.Duration // for a client to take what is sent: 5 s
}

func (c Config) withDefaults() Config {
	or := func(set, usual time.Duration) time.Duration {
		if set > 0 {
			return set
		}
		return usual
	}
	if c.PerKey <= 0 {
		c.PerKey = 10
	}
	if c.PerOrganization <= 0 {
		c.PerOrganization = 50
	}
	c.Buffer = or(c.Buffer, 7*24*time.Hour)
	c.Heartbeat = or(c.Heartbeat, 15*time.Second)
	c.WriteDeadline = or(c.WriteDeadline, 5*time.Second)
	return c
}

// Store is what streams need of the database.
type Store interface {
	// EventsAfter returns events after a position that are no older than since,
	// in order; StreamBounds the oldest and the newest of them.
	EventsAfter(ctx context.Context, orgID uuid.UUID, after vigil.Position, since time.Time, limit int) ([]vigil.Event, error)
	StreamBounds(ctx context.Context, orgID uuid.UUID, since time.Time) (oldest, newest vigil.Position, err error)
	// StreamHeads returns the newest position of each of the organizations
	// that have one.
	StreamHeads(ctx context.Context, orgs []uuid.UUID) (map[uuid.UUID]vigil.Position, error)
	// ListenEvents calls wake with the organization of each new event until ctx
	// ends or the connection is lost. Both are an error.
	ListenEvents(ctx context.Context, wake func(orgID uuid.UUID)) error
}

// queryTimeout bounds each query of a stream.
const queryTimeout = 5 * time.Second

// Hub holds the streams that are open in this process and wakes them. It is safe
// for concurrent use.
type Hub struct {
	store  Store
	config Config
	log    *slog.Logger
	now    func() time.Time
	flight singleflight.Group

	listening sync.Once
	closing   chan struct{} // closed when every stream must end
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	ended bool
	orgs  map[uuid.UUID]*organization
	keys  map[uuid.UUID]int // streams by key, or by user for session tokens
}

// organization is the streams of one organization. Version counts the times that
// there may have been new events.
type organization struct {
	subscribers map[*subscriber]struct{}
	version     uint64
	head        vigil.Position
	// After a wake an organization with many streams rests for a while; late: there was
	// something new meanwhile.
	resting, late bool
}

// subscriber is one stream. It is stale while it has not read since the latest
// version of its organization.
type subscriber struct {
	hub      *Hub
	org, key uuid.UUID
	wake     chan struct{}
	seen     uint64 // version; of the stream's goroutine alone
	more     bool   // there is more to read; likewise
}

// NewHub returns a hub without streams. It begins to listen for events with the
// first one.
func NewHub(store Store, config Config, log *slog.Logger, now func() time.Time) *Hub {
	return &Hub{
		store: store, config: config.withDefaults(), log: log, now: now, closing: make(chan struct{}),
		orgs: make(map[uuid.UUID]*organization), keys: make(map[uuid.UUID]int),
	}
}

// Open returns how many streams are open.
func (h *Hub) Open() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var n int64
	for _, org := range h.orgs {
		n += int64(len(org.subscribers))
	}
	return n
}

// subscribe adds a stream, or refuses one that is over the limits. It comes
// before the first read, so that nothing new is missed in between.
func (h *Hub) subscribe(org, key uuid.UUID) (*subscriber, error) {
	sub := &subscriber{hub: h, org: org, key: key, wake: make(chan struct{}, 1), more: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, vigil.Errorf(vigil.CodeUnavailable, "This server is about to stop. Connect again in a moment.")
	}
	o := h.orgs[org]
	if o == nil {
		o = &organization{subscribers: make(map[*subscriber]struct{})}
	}
	switch {
	case h.keys[key] >= h.config.PerKey:
		return nil, errTooManyStreams("key", h.config.PerKey)
	case len(o.subscribers) >= h.config.PerOrganization:
		return nil, errTooManyStreams("organization", h.config.PerOrganization)
	}
	h.orgs[org] = o
	h.keys[key]++
	o.subscribers[sub] = struct{}{}
	sub.seen = o.version
	h.listening.Do(h.start)
	return sub, nil
}

func errTooManyStreams(scope string, limit int) error {
	return &vigil.Error{
		Code:    vigil.CodeRateLimited,
		Message: fmt.Sprintf("Too many streams: %d may be open for one %s at a time. Close one first.", limit, scope),
		Details: map[string]any{"limit": limit, "scope": scope},
	}
}

// leave removes the stream.
func (s *subscriber) leave() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.orgs[s.org]
	delete(o.subscribers, s)
	if len(o.subscribers) == 0 {
		delete(h.orgs, s.org)
	}
	if h.keys[s.key]--; h.keys[s.key] == 0 {
		delete(h.keys, s.key)
	}
}

// stale reports whether there may be something new, and marks it as seen.
func (s *subscriber) stale() bool {
	s.hub.mu.Lock()
	version := s.hub.orgs[s.org].version
	s.hub.mu.Unlock()
	stale := s.more || version != s.seen
	s.more, s.seen = false, version
	return stale
}

// read returns what follows a cursor. Subscribers of an organization with the
// same cursor and version share one query: it began after the version changed,
// so that it sees what changed it.
func (s *subscriber) read(ctx context.Context, cursor vigil.Position, since time.Time) ([]vigil.Event, error) {
	key := s.org.String() + " " + cursor.String() + " " + strconv.FormatUint(s.seen, 10)
	shared, err, _ := s.hub.flight.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		return s.hub.store.EventsAfter(ctx, s.org, cursor, since, pageSize)
	})
	events, _ := shared.([]vigil.Event)
	return events, err
}
