// SPDX-License-Identifier: Apache-2.0

package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/api/apitest"
)

// tiny is the document of the program below.
const tiny = `{
  "openapi": "3.1.0", "info": {"title": "Tiny", "version": "1"},
  "paths": {
    "/things/{id}": {"get": {
      "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 9}}
      ],
      "responses": {
        "200": {"description": "", "content": {"application/json": {"schema": {
          "type": "object", "required": ["data"], "additionalProperties": false,
          "properties": {"data": {"type": ["string", "null"], "maxLength": 3}}
        }}}},
        "204": {"description": ""}
      }
    }},
    "/stream": {"get": {"responses": {"200": {"description": "", "content": {"text/event-stream": {}}}}}}
  }
}`

// TestTransport holds that what the document does not describe is found.
func TestTransport(t *testing.T) {
	t.Parallel()
	contract, err := apitest.Read([]byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, kind string
		status     int
		body       string
		problem    string // empty: there is none
	}{
		"described":               {"/things/1", "application/json; charset=utf-8", 200, `{"data":"abc"}`, ""},
		"null":                    {"/things/1", "application/json", 200, `{"data":null}`, ""},
		"no body":                 {"/things/1", "", 204, "", ""},
		"another status":          {"/things/1", "application/json", 202, `{"data":"abc"}`, "status is not supported"},
		"another content type":    {"/things/1", "text/plain", 200, "abc", `content type "text/plain"`},
		"a member that is none":   {"/things/1", "application/json", 200, `{"data":"abc","more":1}`, "more"},
		"a member that is absent": {"/things/1", "application/json", 200, `{}`, "data"},
		"another type":            {"/things/1", "application/json", 200, `{"data":1}`, "/data"},
		"a longer text":           {"/things/1", "application/json", 200, `{"data":"abcd"}`, "maxLength"},
		"no JSON":                 {"/things/1", "application/json", 200, `{`, "unexpected EOF"},
		"a forbidden request":     {"/things/1?limit=10", "application/json", 200, `{"data":"abc"}`, "does not allow it"},
		"a path that is none":     {"/other", "application/json", 202, `{"error":"a","code":"b","request_id":"c"}`, "is not in the document"},
		"no error body":           {"/other", "application/json", 404, `{"error":"a"}`, "without the error body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "1")
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(program.Close)
			problems, got := exchange(t, contract, program.URL+c.path)
			if got != c.body {
				t.Errorf("the body is %q", got)
			}
			if c.problem == "" && problems != "" || c.problem != "" && !strings.Contains(problems, c.problem) {
				t.Errorf("it finds %q", problems)
			}
		})
	}
}

// The body of a stream is left to its reader, and an answer without an id is found there too.
func TestTransportOfStream(t *testing.T) {
	t.Parallel()
	contract, err := apitest.Read([]byte(tiny))
	if err != nil {
		t.Fatal(err)
	}
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(program.Close)
	var problems strings.Builder
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, program.URL+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := clientOf(contract, &problems).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := problems.String(); got != "GET /stream: no X-Request-Id\n" {
		t.Errorf("it finds %q", got)
	}
}

func clientOf(contract *apitest.Contract, problems io.Writer) *http.Client {
	return &http.Client{Transport: &apitest.Transport{
		Contract: contract, Next: http.DefaultTransport,
		Report: func(format string, args ...any) { _, _ = fmt.Fprintf(problems, format+"\n", args...) },
	}}
}

// exchange returns what is found in an exchange, and the body of the answer.
func exchange(t *testing.T, contract *apitest.Contract, address string) (problems, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	res, err := clientOf(contract, &found).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return found.String(), string(text)
}
