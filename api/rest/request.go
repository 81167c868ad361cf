// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Request holds the metadata of a request.
type Request struct {
	// ID is the X-Request-Id of the answer.
	ID      string
	Address netip.Addr // of the client
	// Local: the client is on this machine, and no unknown proxy is in between.
	Local bool
	// Caller is set by the authentication of an operation that needs a
	// credential, and Rate by its rate limit.
	Caller *Caller
	Rate   Rate
	// Alone: the answer is read from a copy of the database, which itself does not answer. Tentative: it is read from a copy, and
	// an error of the server is not answered: the database is asked again.
	Alone, Tentative bool
	// TokenHash is the hash of the token of a location, in operations of agents.
	TokenHash []byte

	counted      bool // in the rate of its organization
	method, path string
	query        string
	base         *slog.Logger
	agent        string    // the User-Agent
	body         []byte    // for audit log and fingerprint; nil: there is none
	nulls        []problem // members of body that are null and must not be
	repeatKey    string    // the Idempotency-Key of an idempotent operation
	setHeader    func(name, value string)
	match        vigil.Precondition // the If-Match of a change
	noneMatch    *entityTags        // the If-None-Match of a GET; nil: none
}

// Caller is who makes a request.
type Caller struct {
	User account.User
	Org  account.Organization
	// Key is the API key of the request; zero for a session token.
	Key account.APIKey
	// Session: the request is made in this process for a session of the user.
	Session bool
}

// Credential identifies what the caller authenticated with.
func (c *Caller) Credential() account.Credential {
	return account.Credential{UserID: c.User.ID, KeyID: c.Key.ID, SessionVersion: c.User.SessionVersion}
}

// Log returns a logger that names the request.
func (r *Request) Log() *slog.Logger {
	return r.base.With(slog.String("request_id", r.ID), slog.String("method", r.method), slog.String("path", r.path))
}

type requestKey struct{}

// RequestOf returns the request of a context. Outside of one it returns a
// request without an id whose logger discards.
func RequestOf(ctx context.Context) *Request {
	if req, ok := ctx.Value(requestKey{}).(*Request); ok {
		return req
	}
	return &Request{base: slog.New(slog.DiscardHandler)}
}

// CallerOf returns who makes the request of ctx; nil in an open operation.
func CallerOf(ctx context.Context) *Caller { return RequestOf(ctx).Caller }

// maxRequestID bounds an X-Request-Id that is taken over from the caller.
const maxRequestID = 128

// requestID returns the caller's id when it is fit to be logged and returned,
// and a new one otherwise.
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
	// deadline is how long the client may take to read what one call writes.
	deadline time.Duration
}

// extend gives the client its time for what is written next. A client that takes longer
// is cut off, so that it holds neither the connection nor the memory of its answer.
func (a *answer) extend() {
	now := time.Now() //nolint:forbidigo // a deadline of the real connection
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(now.Add(a.deadline))
}

// WriteHeader notes the status. Only the first one counts: Huma sets another
// when the client is gone.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		a.extend()
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write notes the status that it implies.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.extend()
	return a.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer beneath.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what is buffered; streams need it.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Observe wraps next so that every request has an id, answers with it, and ends
// in JSON even when next panics. X-Forwarded-For counts from the trusted
// proxies only.
//
// A request that is made under the context of another one has the id and address of that
// one, and its User-Agent unless it names one of its own.
//
// A client must take each part of an answer within writeDeadline; streams set a shorter
// one of their own.
func Observe(next http.Handler, log *slog.Logger, trusted []netip.Prefix, writeDeadline time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &Request{
			ID:     requestID(r.Header.Get("X-Request-Id")),
			method: r.Method,
			path:   loggedPath(r.URL.Path),
			query:  r.URL.RawQuery,
			base:   log,
		}
		req.Address, req.agent = clientAddress(r, trusted), userAgent(r)
		req.Local = req.Address.IsLoopback() && !unknownProxy(r, trusted)
		req.within(r.Context())
		ctx := context.WithValue(r.Context(), requestKey{}, req)
		header := w.Header()
		header.Set("X-Request-Id", req.ID)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store") // keys and tokens are in some answers
		a := &answer{ResponseWriter: w, deadline: writeDeadline}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // that of the connection's last answer
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
				WriteError(ctx, a, err)
				return
			}
			req.Log().LogAttrs(ctx, slog.LevelError, "answer broken off", slog.Any("error", err))
		}()
		next.ServeHTTP(a, r.WithContext(ctx))
	})
}

// pingPath is the beginning of the addresses of heartbeats, whose next part is a token.
const pingPath = "/p/"

// loggedPath is a path without the secret that it may have.
func loggedPath(path string) string {
	rest, ok := strings.CutPrefix(path, pingPath)
	if !ok {
		return path
	}
	_, signal, more := strings.Cut(rest, "/")
	if more {
		signal = "/" + signal
	}
	return pingPath + "***" + signal
}
