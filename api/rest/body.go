// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil"
)

// maxIgnored bounds, in bytes, what is skipped of a body that no handler reads.
const maxIgnored = 256 << 10

// TimeBodies wraps next so that the body of every request must arrive within deadline, 0
// for 10 s: a client that stops in the middle of one does not keep its connection. An
// operation of the API has a deadline of its own, which begins when its body is read.
//
// The deadline ends with the body, so it cuts off neither a handler that works longer nor the
// next request of the connection. The body of a GET or HEAD, which no handler reads, is
// skipped first.
func TimeBodies(next http.Handler, deadline time.Duration) http.Handler {
	deadline = cmp.Or(deadline, bodyDeadline)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		now := time.Now()                                   //nolint:forbidigo // a deadline of the real connection
		_ = body.control.SetReadDeadline(now.Add(deadline)) // not every writer has one
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			if err := skip(w, body); err != nil {
				WriteError(r.Context(), w, vigil.Errorf(vigil.CodeInvalid, "The request body did not arrive within %v.", deadline))
				return
			}
		}
		timed := *r // net/http looks at the body of the request that it made
		timed.Body = body
		next.ServeHTTP(w, &timed)
	})
}

// skip reads a body that is ignored. What is too much of it is left, and ends the connection.
func skip(w http.ResponseWriter, body io.Reader) error {
	_, err := io.CopyN(io.Discard, body, maxIgnored)
	if errors.Is(err, io.EOF) {
		return nil
	}
	w.Header().Set("Connection", "close")
	return err
}

// timedBody is a body whose connection has a read deadline, which ends with it. It stays
// after any other error, because net/http reads what is left before it answers.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read reads a part of the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
