// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// Standby is a copy of the database, from which requests that change nothing are answered.
type Standby struct {
	// Stores read the copy.
	Stores Stores
	// Choose says where a request is answered, so that its answer has all that was written before it.
	Choose func(ctx context.Context) StandbyChoice
	// Answered is called with where a request that the copy could answer was answered; nil is not called.
	Answered func(ctx context.Context, from string)
}

// Where a request was answered that a copy of the database could answer.
const (
	FromStandby      = "standby"
	FromStandbyAlone = "standby_alone" // while the database did not answer
	FromPrimary      = "primary"       // because the copy had not caught up, or did not answer
	FromPrimaryAgain = "primary_again" // after the copy could not
)

// StandbyChoice says where a request is answered.
type StandbyChoice struct {
	// Standby: by the copy. Alone: the database itself does not answer, and the copy may lack what was written last.
	Standby, Alone bool
	// AsOf is when the newest change that a copy which is Alone has was written; zero: not known.
	AsOf time.Time
}

// asOfHeader says that an answer may lack what was written since a time. Its value is in RFC 3339, or "unknown".
const asOfHeader = "Vigil-As-Of"

// withStandby answers from a copy of the database what that can answer, and leaves the rest to next.
func (s *Server) withStandby(next http.Handler, shared *parts) http.Handler {
	standby := shared.Standby
	if standby == nil {
		return next
	}
	mux := http.NewServeMux()
	r := newRegistrar(shared.Deps, mux)
	r.ReadsOnly = true
	r.Protected = append(r.Protected, s.accounts.Auth.Reading(standby.Stores.Accounts).Authenticate, s.limiter.LimitOrganization)
	copied := shared.on(standby.Stores)
	resource.RegisterAll(r, copied.list())
	return &standbyHandler{Standby: *standby, mux: mux, copied: r.Routed(mux), primary: next, now: shared.Now}
}

// standbyHandler chooses who answers a request.
type standbyHandler struct {
	Standby

	mux             *http.ServeMux // of what the copy can answer
	copied, primary http.Handler
	now             func() time.Time
}

// ServeHTTP answers one request.
func (s *standbyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Who shows no credential is refused, and asks neither database.
	if _, pattern := s.mux.Handler(r); pattern == "" || rest.IsAnonymous(r) {
		s.primary.ServeHTTP(w, r)
		return
	}
	ctx := r.Context()
	choice := s.Choose(ctx)
	switch {
	case !choice.Standby:
		s.answered(ctx, FromPrimary)
		s.primary.ServeHTTP(w, r)
	case choice.Alone:
		s.answered(ctx, FromStandbyAlone)
		rest.RequestOf(ctx).Alone = true
		asOf := "unknown"
		if !choice.AsOf.IsZero() {
			asOf = choice.AsOf.UTC().Format(time.RFC3339)
		}
		w.Header().Set(asOfHeader, asOf)
		s.copied.ServeHTTP(w, r)
	default:
		s.try(w, r)
	}
}

// tryAgain is how long the copy may have taken for an answer that failed, so that the database is asked again: what takes long
// would take as long there.
const tryAgain = 2 * time.Second

// try answers from the copy, and from the database where the copy cannot: as when Postgres cancels a query on a standby because the
// rows that it reads were cleaned up on the primary.
func (s *standbyHandler) try(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	req, began := rest.RequestOf(ctx), s.now()
	try := &attempt{ResponseWriter: w, header: w.Header().Clone()}
	req.Tentative = true
	try.serve(s.copied, r)
	req.Tentative = false
	switch {
	case !try.failed:
		s.answered(ctx, FromStandby)
	case s.now().Sub(began) > tryAgain:
		s.answered(ctx, FromStandby)
		try.send()
	default:
		s.answered(ctx, FromPrimaryAgain)
		s.primary.ServeHTTP(w, r)
	}
}

func (s *standbyHandler) answered(ctx context.Context, from string) {
	if s.Answered != nil {
		s.Answered(ctx, from)
	}
}

// attempt holds back an answer that is an error of the server, so that another may be given.
type attempt struct {
	http.ResponseWriter

	header        http.Header // of the answer, until it begins
	begun, failed bool
	status        int // of an answer that failed
	body          bytes.Buffer
}

// serve answers. An answer that was broken off before it began has failed.
func (a *attempt) serve(by http.Handler, r *http.Request) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if fault != http.ErrAbortHandler || a.begun { //nolint:errorlint,err113 // net/http compares it the same way
			panic(fault)
		}
		a.failed, a.status = true, http.StatusServiceUnavailable
	}()
	by.ServeHTTP(a, r)
}

// send sends an answer that failed.
func (a *attempt) send() {
	a.begin(a.status)
	_, _ = a.ResponseWriter.Write(a.body.Bytes()) // the client may be gone
}

// Header returns the headers of the answer.
func (a *attempt) Header() http.Header {
	if a.begun {
		return a.ResponseWriter.Header()
	}
	return a.header
}

// WriteHeader begins the answer, unless its status is that of a failure.
func (a *attempt) WriteHeader(status int) {
	switch {
	case a.begun || a.failed:
	case status >= http.StatusInternalServerError:
		a.failed, a.status = true, status
	default:
		a.begin(status)
	}
}

func (a *attempt) begin(status int) {
	a.begun = true
	header := a.ResponseWriter.Header()
	clear(header)
	maps.Copy(header, a.header)
	a.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (a *attempt) Write(p []byte) (int, error) {
	if a.WriteHeader(http.StatusOK); a.failed {
		return a.body.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer beneath.
func (a *attempt) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// validate reports what a standby lacks.
func (s *Standby) validate() error {
	if s != nil && (s.Choose == nil || !s.Stores.complete()) {
		return errors.New("api: a standby needs every store and a choice")
	}
	return nil
}
