package api

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// measure tells of every answer. A route is told as its pattern, and what has
// none as "none": neither a path nor a method that a caller made up is told.
func (s *Server) measure(next http.Handler) http.Handler {
	if s.Answered == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w}
		defer s.tell(r, a, s.Now())
		next.ServeHTTP(a, r)
		if a.status == 0 {
			a.status = http.StatusOK // nothing was written, which means the same
		}
	})
}

// tell tells of an answer to a request that the mux has seen: the mux notes the
// pattern in it. An answer without a status is that of a panic.
func (s *Server) tell(r *http.Request, a *answer, began time.Time) {
	method, route, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		method, route = "none", "none"
	}
	s.Answered(r.Context(), method, route, cmp.Or(a.status, http.StatusInternalServerError), s.Now().Sub(began))
}

// OpenStreams is how many alert streams are open now.
func (s *Server) OpenStreams() int64 {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	var n int64
	for _, r := range s.streams.rooms {
		n += int64(len(r.seats))
	}
	return n
}
