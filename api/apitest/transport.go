// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Transport holds every exchange of a client to the OpenAPI document: an answer must be
// described, and a request that succeeded must be one that the document allows. The body of an
// event stream is not read.
type Transport struct {
	Contract *Contract
	Next     http.RoundTripper
	// Report is how a test fails, such as testing.T's Errorf.
	Report func(format string, args ...any)
}

// RoundTrip sends a request and compares what comes back.
func (v *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := v.Next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var got []byte
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // which does not end
		if got, err = io.ReadAll(res.Body); err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(got))
	}
	v.check(req, sent, res, got)
	return res, nil
}

func (v *Transport) check(req *http.Request, sent []byte, res *http.Response, got []byte) {
	if res.Header.Get("X-Request-Id") == "" {
		v.Report("%s %s: no X-Request-Id", req.Method, req.URL.Path)
	}
	// The reader's router looks at the path alone.
	asked := req.Clone(req.Context())
	asked.Body = io.NopCloser(bytes.NewReader(sent))
	route, params, err := v.Contract.router.FindRoute(asked)
	if err != nil {
		v.checkUnrouted(req, res, got)
		return
	}
	if res.StatusCode < http.StatusBadRequest {
		if err := v.Contract.permits(asked, route, params, sent); err != nil {
			v.Report("%s %s succeeded although the document does not allow it: %v", req.Method, req.URL, err)
		}
	}
	if err := v.Contract.describes(asked, route, res, got); err != nil {
		v.Report("%s %s answered what the document does not describe: %v\n%s", req.Method, req.URL, err, got)
	}
}

// checkUnrouted allows nothing but the error body, or a page of the docs.
func (v *Transport) checkUnrouted(req *http.Request, res *http.Response, got []byte) {
	pages := []string{"/verify", "/recover", "/email-change", "/confirm-recipient", "/unsubscribe", "/acknowledge"}
	ping := strings.HasPrefix(req.URL.Path, "/p/") // docs/heartbeats.md has its statuses
	if slices.Contains(pages, req.URL.Path) || res.StatusCode == http.StatusOK || ping && res.StatusCode == http.StatusCreated {
		return
	}
	var body struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(got, &body); err != nil || body.Error == "" || body.Code == "" || body.RequestID == "" {
		v.Report("%s %s answered %d without the error body: %q", req.Method, req.URL, res.StatusCode, got)
	}
	known := []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}
	if ping {
		known = append(
			known,
			http.StatusForbidden,
			http.StatusConflict,
			http.StatusRequestEntityTooLarge,
			http.StatusTooManyRequests,
			http.StatusServiceUnavailable,
		)
	}
	if !slices.Contains(known, res.StatusCode) {
		v.Report("%s %s is not in the document and answered %d", req.Method, req.URL, res.StatusCode)
	}
}
