package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
)

// validator holds every exchange of a test to the OpenAPI document: an answer
// must be described, and a request that succeeded must be one that the document
// allows.
type validator struct {
	t        *testing.T
	contract *contract
	next     http.RoundTripper
}

func conforming(t *testing.T, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	return &validator{t: t, contract: documented(t), next: next}
}

func (v *validator) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := v.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(got))
	v.check(req, sent, res, got)
	return res, nil
}

func (v *validator) check(req *http.Request, sent []byte, res *http.Response, got []byte) {
	v.t.Helper()
	if res.Header.Get("X-Request-Id") == "" {
		v.t.Errorf("%s %s: no X-Request-Id", req.Method, req.URL.Path)
	}
	// The reader's router looks at the path alone.
	asked := req.Clone(req.Context())
	asked.Body = io.NopCloser(bytes.NewReader(sent))
	route, params, err := v.contract.router.FindRoute(asked)
	if err != nil {
		v.checkUnrouted(req, res, got)
		return
	}
	if res.StatusCode < http.StatusBadRequest {
		if err := v.contract.permits(asked, route, params, sent); err != nil {
			v.t.Errorf("%s %s succeeded although the document does not allow it: %v", req.Method, req.URL, err)
		}
	}
	if err := v.contract.describes(asked, route, res, got); err != nil {
		v.t.Errorf("%s %s answered what the document does not describe: %v\n%s", req.Method, req.URL, err, got)
	}
}

// checkUnrouted allows nothing but the error body, or a page of the docs.
func (v *validator) checkUnrouted(req *http.Request, res *http.Response, got []byte) {
	v.t.Helper()
	pages := []string{"/verify", "/recover", "/email-change", "/confirm-recipient", "/unsubscribe"}
	if slices.Contains(pages, req.URL.Path) || res.StatusCode == http.StatusOK {
		return
	}
	var body struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal(got, &body); err != nil || body.Error == "" || body.Code == "" || body.RequestID == "" {
		v.t.Errorf("%s %s answered %d without the error body: %q", req.Method, req.URL, res.StatusCode, got)
	}
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		v.t.Errorf("%s %s is not in the document and answered %d", req.Method, req.URL, res.StatusCode)
	}
}
