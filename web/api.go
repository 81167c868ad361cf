package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"vigil/client"
)

// inProcess sends the client's requests to the API's handler in this process. An answer
// that is not a success becomes an error, so that a caller need not look at the status.
type inProcess struct{ api http.Handler }

// Do answers a request. Its error is an *APIError.
func (p inProcess) Do(req *http.Request) (*http.Response, error) {
	req.RequestURI = req.URL.RequestURI()
	if from, ok := req.Context().Value(fromKey{}).(*http.Request); ok {
		// The API sees the address and the name that the browser's own request came with.
		req.RemoteAddr, req.Host = from.RemoteAddr, from.Host
		for _, name := range []string{"User-Agent", "X-Forwarded-For", "X-Forwarded-Proto"} {
			if values, ok := from.Header[name]; ok {
				req.Header[name] = values
			}
		}
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	answer := &answer{header: make(http.Header), status: http.StatusOK}
	p.api.ServeHTTP(answer, req)
	if answer.status >= http.StatusBadRequest {
		return nil, newAPIError(answer)
	}
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.header, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()), Request: req,
	}, nil
}

// fromKey is the key of the browser's request in the context of a request to the API.
type fromKey struct{}

// answer collects what the API answers.
type answer struct {
	header http.Header
	body   bytes.Buffer
	status int
	wrote  bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
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
func newAPIError(a *answer) *APIError {
	e := &APIError{Status: a.status, RequestID: a.header.Get("X-Request-Id")}
	var body client.Error
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

// hasCode reports whether err is an answer of the API with the code.
func hasCode(err error, code string) bool {
	known, ok := errors.AsType[*APIError](err)
	return ok && known.Code == code
}

// errNoPage is the error of a path that is no page.
func errNoPage() error {
	return &APIError{Status: http.StatusNotFound, Code: "not_found", Message: "There is no page at this address."}
}
