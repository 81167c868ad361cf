package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
)

// request is what is known of a request before any operation has seen it.
type request struct {
	id           string
	method, path string
	base         *slog.Logger
	address      netip.Addr // of the caller
	agent        string     // that the caller says it is
	// who is set by the authentication of an operation that needs one, and
	// rate by its rate limit.
	who  *principal
	rate rate
}

// log is for what must be known of this request. It is made when it is asked
// for: most requests say nothing.
func (r *request) log() *slog.Logger {
	return r.base.With(slog.String("request_id", r.id), slog.String("method", r.method), slog.String("path", r.path))
}

type requestKey struct{}

// requestOf returns the request of a context. Outside of one it returns a
// request without an id that logs nowhere.
func requestOf(ctx context.Context) *request {
	if req, ok := ctx.Value(requestKey{}).(*request); ok {
		return req
	}
	return &request{base: slog.New(slog.DiscardHandler)}
}

// maxRequestID bounds an X-Request-Id that is taken over from the caller.
const maxRequestID = 128

// requestID returns the caller's id when it is fit to be logged and returned,
// and a fresh one otherwise.
func requestID(given string) string {
	if given != "" && len(given) <= maxRequestID && visible(given) {
		return given
	}
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	return hex.EncodeToString(random[:])
}

// visible reports whether s is made of visible ASCII alone.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// answer records whether an answer was begun, so that a panic behind it knows
// what it may still say.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status. Only the first one counts: Huma sets another
// when the client is gone.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write notes the status that it implies.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer beneath.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what is buffered; streams ask for it.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// observe wraps next so that every request has an id, answers with it, and
// ends in JSON whatever happens.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request{id: requestID(r.Header.Get("X-Request-Id")), method: r.Method, path: r.URL.Path, base: s.Log}
		req.address, req.agent = clientAddress(r, s.Config.TrustedProxies), userAgent(r)
		ctx := context.WithValue(r.Context(), requestKey{}, req)
		header := w.Header()
		header.Set("X-Request-Id", req.id)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store") // keys and tokens are in some answers
		a := &answer{ResponseWriter: w}
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault == http.ErrAbortHandler { //nolint:errorlint,err113 // net/http compares it the same way
				panic(fault)
			}
			err := fmt.Errorf("handler panicked: %v\n%s", fault, debug.Stack())
			if a.status == 0 {
				writeError(ctx, a, err)
				return
			}
			req.log().LogAttrs(ctx, slog.LevelError, "answer broken off", slog.Any("error", err))
		}()
		next.ServeHTTP(a, r.WithContext(ctx))
	})
}
