// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// Subscription says what a stream follows, and for whom.
type Subscription struct {
	Org uuid.UUID
	// Key counts against Config.PerKey: that of the request, or the user's id for
	// a session token.
	Key uuid.UUID
	// From is the position after which the stream begins; nil: now.
	From *vigil.Position
	// Authorized reports whether the credential of the request is still valid.
	// It is called about twice a second, with the headers of the request.
	Authorized func(ctx context.Context, header func(name string) string) bool
	// Log receives what goes wrong after the stream has begun.
	Log *slog.Logger
}

// stream is one connection. It reads by a cursor of its own: there is no queue
// that could overflow.
type stream struct {
	Subscription
	sub     *subscriber
	since   time.Time // where the buffer begins, for as long as the stream lasts
	cursor  vigil.Position
	gap     *gap
	failing bool // the last read failed
}

// gap is the data of stream.gap.
type gap struct {
	Requested string  `json:"requested"`
	Oldest    *string `json:"oldest"` // null when nothing is kept
}

// Serve subscribes and returns the answer that streams. Everything that can be
// refused is refused with an error before the stream begins: afterwards it can
// only be ended. Errors: CodeRateLimited, CodeUnavailable, those of the store.
func (h *Hub) Serve(ctx context.Context, s Subscription) (*huma.StreamResponse, error) {
	sub, err := h.subscribe(s.Org, s.Key)
	if err != nil {
		return nil, err
	}
	st := &stream{Subscription: s, sub: sub, since: h.now().Add(-h.config.Buffer)}
	if err := st.begin(ctx); err != nil {
		sub.leave()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(answer huma.Context) {
		defer sub.leave()
		st.run(ctx, answer)
	}}, nil
}

// begin finds where the stream begins. Its first frame carries that position, so
// that a client which is cut off before its first event resumes there.
func (st *stream) begin(ctx context.Context) error {
	oldest, newest, err := st.sub.hub.store.StreamBounds(ctx, st.Org, st.since)
	if err != nil {
		return err
	}
	if st.From == nil {
		st.cursor = newest
		return nil
	}
	from := *st.From
	st.cursor = from
	switch {
	case from == vigil.Position{}: // all that is kept
	case before(newest, from):
		st.cursor = newest // an id that this stream never sent
	case lost(from, oldest, newest, st.since):
		st.gap = &gap{Requested: from.String()}
		if oldest.Seq > 0 {
			st.gap.Oldest = new(oldest.String())
		}
	}
	return nil
}

// lost reports whether events after a position are not kept any more. Seq grows
// by one, so an id that was sent answers it exactly; one that was made up of a
// time (<unix ms>-0) only when that time lies in the buffer.
func lost(from, oldest, newest vigil.Position, since time.Time) bool {
	if from.MS >= since.UnixMilli() {
		return false
	}
	next := oldest.Seq
	if next == 0 { // nothing is kept
		next = newest.Seq + 1
	}
	return from.Seq+1 < next
}

// before reports whether a comes before b.
func before(a, b vigil.Position) bool { return a.MS < b.MS || a.MS == b.MS && a.Seq < b.Seq }

const (
	// authorizeEvery is how often a stream checks its credential. Together with
	// the time that a credential is cached it stays below the 5 s in which a
	// revocation acts.
	authorizeEvery = 500 * time.Millisecond
	// pageSize is how many events are read at a time, chunkSize how many bytes
	// are collected before they are sent.
	pageSize  = 100
	chunkSize = 32 << 10
)

// run sends until the client leaves, does not keep up or loses its credential,
// or the hub ends.
func (st *stream) run(ctx context.Context, answer huma.Context) {
	config := st.sub.hub.config
	out := NewFrames(answer, config.WriteDeadline)
	if answer.Method() == http.MethodHead || !out.open(st.cursor, st.gap) {
		return
	}
	authorize := time.NewTicker(authorizeEvery)
	defer authorize.Stop()
	heartbeat := time.NewTicker(config.Heartbeat)
	defer heartbeat.Stop()
	for {
		more, goesOn := st.forward(ctx, out)
		if !goesOn {
			return
		}
		if more { // the credential may end during a long replay
			select {
			case <-authorize.C:
				if !st.Authorized(ctx, answer.Header) {
					return
				}
			default:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-st.sub.hub.closing:
			return
		case <-st.sub.wake:
		case <-heartbeat.C:
			if !out.Comment() {
				return
			}
		case <-authorize.C:
			if !st.Authorized(ctx, answer.Header) {
				return
			}
		}
	}
}

// forward sends a page of what is new when there may be something. more: there may be another
// page; goesOn: the client has taken it.
func (st *stream) forward(ctx context.Context, out *Frames) (more, goesOn bool) {
	if !st.sub.stale() && !st.failing {
		return false, true
	}
	events, err := st.sub.read(ctx, st.cursor, st.since)
	if err != nil {
		if !st.failing && ctx.Err() == nil {
			st.Log.LogAttrs(ctx, slog.LevelWarn, "stream cannot read events", slog.Any("error", err))
		}
		st.failing = true // the next tick tries again
		return false, true
	}
	st.failing = false
	for i := range events {
		if !out.event(&events[i]) {
			return false, false
		}
		st.cursor = events[i].Position
	}
	if !out.Flush() {
		return false, false
	}
	st.sub.more = len(events) == pageSize
	return true, true
}
