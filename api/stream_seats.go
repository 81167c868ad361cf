package api

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"vigil"
)

const (
	// headsEvery is how often the newest position of every organization that
	// somebody follows is looked at, in case a notification was lost.
	headsEvery = time.Second
	// streamQuestion bounds each question that streams ask of the database.
	streamQuestion = 5 * time.Second
)

// streams are the streams that are open in this process.
type streams struct {
	store  alertStore
	config StreamConfig
	log    *slog.Logger
	flight singleflight.Group

	listen  sync.Once
	closing chan struct{} // closed when no stream may go on
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	ended bool
	rooms map[uuid.UUID]*room
	keys  map[uuid.UUID]int // streams by key, or by user for session tokens
}

// room is the streams of one organization. News counts the times that there may
// have been something new.
type room struct {
	seats map[*seat]struct{}
	news  uint64
	head  vigil.Position
}

// seat is the place of one stream. Its news are those of the room that it has
// not acted on yet.
type seat struct {
	of       *streams
	org, key uuid.UUID
	wake     chan struct{}
	seen     uint64 // of the stream's goroutine alone
	behind   bool   // likewise
}

func newStreams(store alertStore, config StreamConfig, log *slog.Logger) *streams {
	return &streams{
		store: store, config: config.withDefaults(), log: log, closing: make(chan struct{}),
		rooms: make(map[uuid.UUID]*room), keys: make(map[uuid.UUID]int),
	}
}

// join takes a seat, or refuses one that is over the limits. It comes before the
// first read, so that nothing new is missed in between.
func (s *streams) join(who *principal) (*seat, error) {
	one := &seat{of: s, org: who.org.ID, key: who.key.ID, wake: make(chan struct{}, 1), behind: true}
	if one.key == uuid.Nil {
		one.key = who.user.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, vigil.Errorf(vigil.CodeUnavailable, "This server is about to stop. Connect again in a moment.")
	}
	r := s.rooms[one.org]
	if r == nil {
		r = &room{seats: make(map[*seat]struct{})}
	}
	switch {
	case s.keys[one.key] >= s.config.PerKey:
		return nil, errStreams("key", s.config.PerKey)
	case len(r.seats) >= s.config.PerOrganization:
		return nil, errStreams("organization", s.config.PerOrganization)
	}
	s.rooms[one.org] = r
	s.keys[one.key]++
	r.seats[one] = struct{}{}
	one.seen = r.news
	s.listen.Do(s.start)
	return one, nil
}

func errStreams(of string, limit int) error {
	return &vigil.Error{
		Code:    vigil.CodeRateLimited,
		Message: fmt.Sprintf("Too many streams: %d may be open for one %s at a time. Close one first.", limit, of),
		Details: map[string]any{"limit": limit, "scope": of},
	}
}

// leave gives the seat back.
func (t *seat) leave() {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[t.org]
	delete(r.seats, t)
	if len(r.seats) == 0 {
		delete(s.rooms, t.org)
	}
	if s.keys[t.key]--; s.keys[t.key] == 0 {
		delete(s.keys, t.key)
	}
}

// stale reports whether there may be something new, and takes note of it.
func (t *seat) stale() bool {
	t.of.mu.Lock()
	news := t.of.rooms[t.org].news
	t.of.mu.Unlock()
	stale := t.behind || news != t.seen
	t.behind, t.seen = false, news
	return stale
}

// again makes the seat stale: there is more to read.
func (t *seat) again() { t.behind = true }

// read returns what follows a cursor. Seats of an organization that stand at the
// same place and heard the same news ask the database once: the question began
// after the news came, so that it sees what the news were about.
func (s *streams) read(ctx context.Context, t *seat, cursor vigil.Position, since time.Time) ([]vigil.Event, error) {
	key := t.org.String() + " " + cursor.String() + " " + strconv.FormatUint(t.seen, 10)
	shared, err, _ := s.flight.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamQuestion)
		defer cancel()
		return s.store.EventsAfter(ctx, t.org, cursor, since, streamPage)
	})
	events, _ := shared.([]vigil.Event)
	return events, err
}

// start begins to wait for news. It is called with the first stream.
func (s *streams) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.running.Go(func() { s.hear(ctx) })
	s.running.Go(func() { s.look(ctx) })
}

// end ends every stream, and refuses new ones.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	close(s.closing)
	if s.stop != nil {
		s.stop()
	}
}

// close ends every stream and waits for what runs in the background.
func (s *streams) close() {
	s.end()
	s.running.Wait()
}

// hear wakes streams as notifications come. While there is no connection, look
// finds what is new.
func (s *streams) hear(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.store.ListenEvents(ctx, s.tell)
		if ctx.Err() == nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "streams do not hear of events at once", slog.Any("error", err))
			wait(ctx, headsEvery)
		}
	}
}

// look wakes the streams of every organization whose newest position is another
// one than the last time.
func (s *streams) look(ctx context.Context) {
	for wait(ctx, headsEvery) {
		s.mu.Lock()
		orgs := slices.Collect(maps.Keys(s.rooms))
		s.mu.Unlock()
		if len(orgs) == 0 {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, streamQuestion)
		heads, err := s.store.StreamHeads(bounded, orgs)
		cancel()
		if err != nil {
			continue // each stream says so when it cannot read
		}
		for org, head := range heads {
			s.compare(org, head)
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (s *streams) compare(org uuid.UUID, head vigil.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[org]; r != nil && r.head != head {
		r.head = head
		r.tell()
	}
}

// tell wakes the streams of an organization.
func (s *streams) tell(org uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[org]; r != nil {
		r.tell()
	}
}

func (r *room) tell() {
	r.news++
	for one := range r.seats {
		select {
		case one.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}
