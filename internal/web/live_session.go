// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"sync"
	"time"
)

// liveSession is a session with open pages. They share the look whether it goes on: each is a
// request, and the requests of a user are counted.
type liveSession struct {
	pages int // guarded by the hub

	mu    sync.Mutex
	at    time.Time // of the last look
	ended bool
}

// enter adds a page to a session.
func (h *hub) enter(token string) *liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	session := h.sessions[token]
	if session == nil {
		session = &liveSession{}
		h.sessions[token] = session
	}
	session.pages++
	return session
}

// exit removes a page from a session.
func (h *hub) exit(token string, session *liveSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if session.pages--; session.pages == 0 {
		delete(h.sessions, token)
	}
}

// goesOn reports whether the session goes on. It may have been ended elsewhere; it is looked up
// when the last look, of any of its pages, is older than every.
func (s *liveSession) goesOn(r *request, every time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := r.s.deps.Now(); !s.ended && now.Sub(s.at) >= every {
		s.at, s.ended = now, !r.stillSignedIn()
	}
	return !s.ended
}

// stillSignedIn looks up whether the session goes on.
func (r *request) stillSignedIn() bool {
	// A context that has a session is not loaded again, so it begins with an empty one.
	ctx, cancel := context.WithTimeout(context.Background(), liveTimeout)
	defer cancel()
	loaded, err := r.s.sessions.manager.Load(ctx, r.s.sessions.manager.Token(r.Context()))
	if err != nil {
		return true // the database does not answer; the next look asks again
	}
	if who, ok := r.s.sessions.of(loaded); !ok || who != r.who {
		return false
	}
	_, err = r.api.GetMeWithResponse(r.acting(ctx))
	return !hasCode(err, "unauthorized")
}
