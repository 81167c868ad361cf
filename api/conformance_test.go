package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// document is the OpenAPI document, read by an independent reader.
var document = sync.OnceValues(func() (routers.Router, error) { //nolint:gochecknoglobals // read once for all tests
	text, err := newDocument()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// validator holds every exchange of a test to the OpenAPI document: an answer
// must be described, and a request that succeeded must be one that the document
// allows.
type validator struct {
	t      *testing.T
	router routers.Router
	next   http.RoundTripper
}

func conforming(t *testing.T, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	router, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return &validator{t: t, router: router, next: next}
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
	route, params, err := v.router.FindRoute(asked)
	if err != nil {
		v.checkUnrouted(req, res, got)
		return
	}
	options := &openapi3filter.Options{
		AuthenticationFunc:         openapi3filter.NoopAuthenticationFunc,
		IncludeResponseStatus:      true,
		ExcludeReadOnlyValidations: true, // they may be sent, and are ignored
		// Secrets are write-only, and are shown as ***.
		ExcludeWriteOnlyValidations: true,
		SkipSettingDefaults:         true,
	}
	input := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: options}
	if res.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(req.Context(), input); err != nil {
			v.t.Errorf("%s %s succeeded although the document does not allow it: %v", req.Method, req.URL, err)
		}
	}
	output := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: res.StatusCode, Header: res.Header, Options: options,
	}
	if err := openapi3filter.ValidateResponse(req.Context(), output.SetBodyBytes(got)); err != nil {
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
