// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// InProcess returns a doer that sends requests to a handler of the API in the same process.
// An answer with a status of 400 or more becomes an *APIError, so that a caller need not look
// at the status. Prepare sees each request before it is sent; nil is not called.
func InProcess(api http.Handler, prepare func(*http.Request)) HttpRequestDoer {
	return inProcess{api: api, prepare: prepare}
}

type inProcess struct {
	api     http.Handler
	prepare func(*http.Request)
}

// Do answers a request.
func (p inProcess) Do(req *http.Request) (*http.Response, error) {
	req.RequestURI = req.URL.RequestURI()
	if p.prepare != nil {
		p.prepare(req)
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	answer := &recorded{header: make(http.Header), status: http.StatusOK}
	p.api.ServeHTTP(answer, req)
	if answer.status >= http.StatusBadRequest {
		return nil, newAPIError(answer)
	}
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.header, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()), Request: req,
	}, nil
}

// SameCaller makes a request look as if the caller of another one made it: it gets the
// address, the Host, and the headers that name the program and the proxies in between. The
// headers of more are copied as well.
func SameCaller(req, from *http.Request, more ...string) {
	req.RemoteAddr, req.Host = from.RemoteAddr, from.Host
	for _, name := range append([]string{"User-Agent", "X-Forwarded-For", "X-Forwarded-Proto"}, more...) {
		if values, ok := from.Header[name]; ok {
			req.Header[name] = values
		}
	}
}

// recorded collects what the API answers.
type recorded struct {
	header http.Header
	body   bytes.Buffer
	status int
	wrote  bool
}

// Header returns the headers of the answer.
func (r *recorded) Header() http.Header { return r.header }

// WriteHeader notes the status; the first one counts.
func (r *recorded) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
}

// Write keeps a part of the body.
func (r *recorded) Write(b []byte) (int, error) {
	r.wrote = true
	return r.body.Write(b)
}

// APIError is an answer of the API that is not a success.
type APIError struct {
	Status    int
	Code      string // such as not_found
	Message   string // for a person
	RequestID string
	Details   map[string]any
}

// Error returns the message.
func (e *APIError) Error() string { return e.Message }

// newAPIError reads the body of an error.
func newAPIError(a *recorded) *APIError {
	e := &APIError{Status: a.status, RequestID: a.header.Get("X-Request-Id")}
	var body Error
	if json.Unmarshal(a.body.Bytes(), &body) == nil {
		e.Code, e.Message = string(body.Code), body.Error
		if body.Details != nil {
			e.Details = *body.Details
		}
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("The API answered with status %d.", a.status)
	}
	return e
}
